import { lookup, metric } from "./dom";
import { count, NONE, time, type Format } from "./format";
import { NEEDED } from "./quantiles";
import type { Op, Operation, Run } from "./types";

/** No time passes in such a run: its latencies are no measurements. */
export function isCounted(run: Run): boolean {
  return run.result.config?.["engine.time"] === "none";
}

/** Such a run did not record what its requests waited for. */
export function tellsNoCauses(run: Run): boolean {
  return run.result.config?.["engine.causes"] === "false";
}

/** Operations of the host, and reads of pages that hold nothing. */
export const OPERATIONS: readonly Operation[] = ["read", "write", "trim", "flush", "unwritten_read"];

export const OPERATION_LABELS = { read: "Read", write: "Write", flush: "Flush" } as const;

/** Several requests of an operation: `flushes`. */
export function operationsName(op: Operation): string {
  const plurals: Partial<Record<Operation, string>> = { flush: "flushes", unwritten_read: "reads of unwritten pages" };
  return plurals[op] ?? `${op}s`;
}

export function operationName(op: Operation): string {
  return op === "unwritten_read" ? "read of unwritten pages" : op;
}

const ZERO: Record<Operation, string> = {
  unwritten_read: "0 ns: pages that were never written, or trimmed, need no flash.",
  read: "0 ns: these reads touched no flash, for example because a buffer had their data, or because their pages were never written.",
  write: "0 ns: these writes were answered from memory and waited for no flash.",
  trim: "0 ns: these trims waited for no flash.",
  flush: "0 ns: these flushes had nothing to wait for.",
};

/** The highest percentile up to p99 that there are requests enough for; with less, the longest latency. */
export function tailKey(run: Run, op: Operation): string {
  const latency = run.result.latency_ns[op] as unknown as Record<string, unknown> | undefined;
  return ["p99", "p90", "p50"].find((key) => typeof latency?.[key] === "number") ?? "max";
}

/** The highest percentile that all runs have requests enough for. */
export function sharedTail(runs: readonly Run[], op: Op): string | undefined {
  return ["p999", "p99", "p90", "p50"].find((key) => runs.every((run) => (lookup(run, ["latency_ns", op, key]) ?? 0) > 0));
}

/** A latency of the result. None at all is said as what it is, and is not taken for a fast drive. */
export function latencyMetric(run: Run, op: Operation, key: string): HTMLElement {
  if (isCounted(run)) return metric(run, ["latency_ns", op, key], () => NONE, "No time passes in this run (engine.time = none).");
  const requests = run.result.latency_ns[op]?.count ?? 0;
  const needed = NEEDED[key] ?? 0;
  if (requests > 0 && requests < needed) {
    const why = `Ten requests lie beyond a percentile, or it is not told: this one takes ${count(needed)} ${operationsName(op)}, and there are ${count(requests)}.`;
    return metric(run, ["latency_ns", op, key], time, why);
  }
  const isZero = (run.result.latency_ns[op] as unknown as Record<string, unknown> | undefined)?.[key] === 0;
  const format: Format = (value) => (value === 0 ? "no flash" : time(value));
  return metric(run, ["latency_ns", op, key], format, isZero ? ZERO[op] : null);
}
