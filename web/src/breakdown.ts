import { shares, sum, type Share } from "./causes";
import { NEEDED } from "./quantiles";
import type { Num, Run, Slice } from "./types";

export type Scope = "both" | "read" | "write" | "flush";
export type Blame = "direct" | "root";

export interface View {
  scope: Scope;
  blame: Blame;
}

export const SLICES: readonly { slice: Slice; label: string }[] = [
  { slice: "all", label: "All requests" },
  { slice: "p99", label: "Slowest 1\u202f%" },
  { slice: "p999", label: "Slowest 0.1\u202f%" },
];

/** The slices that some run has requests enough for. */
export function slicesOf(runs: readonly Run[], scope: Scope): readonly { slice: Slice; label: string }[] {
  const most = Math.max(...runs.map((run) => requestsIn(run, scope)), 0);
  return SLICES.filter(({ slice }) => most >= (NEEDED[slice] ?? 1));
}

/** The slowest 1 % where there are requests enough for it, otherwise all; and what that is called. */
export function slowest(run: Run, scope: Scope): { slice: Slice; name: string; requests: number } {
  const all = requestsIn(run, scope);
  if (all < (NEEDED.p99 ?? 0)) return { slice: "all", name: "All", requests: all };
  return { slice: "p99", name: "The slowest 1\u202f% of", requests: Math.ceil(all / 100) };
}

/** Where the numbers of a view live in the result; a cause name follows. */
export function waitingPath(view: View, slice: Slice): string[] {
  if (view.scope === "both") return [view.blame === "direct" ? "waiting" : "waiting_root", slice];
  return ["waiting_by_op", view.scope, view.blame, slice];
}

export function servicePath(view: View, slice: Slice): string[] {
  return view.scope === "both" ? ["service_ns", slice] : ["waiting_by_op", view.scope, "service_ns", slice];
}

export function waiting(run: Run, view: View, slice: Slice): Share[] {
  const { result } = run;
  if (view.scope === "both") return shares((view.blame === "direct" ? result.waiting : result.waiting_root)?.[slice]);
  return shares(result.waiting_by_op?.[view.scope]?.[view.blame]?.[slice]);
}

/** Mean time not spent waiting; null where the result does not give it. */
export function service(run: Run, view: View, slice: Slice): Num {
  const table = view.scope === "both" ? run.result.service_ns : run.result.waiting_by_op?.[view.scope]?.service_ns;
  return table?.[slice] ?? null;
}

export interface Blamed {
  cause: string;
  /** Share of the whole, 0..1. */
  share: number;
}

/** Causes of a slice's waiting by their share of its latency, service included, largest first. */
export function blamedFor(run: Run, view: View, slice: Slice): Blamed[] {
  const list = waiting(run, view, slice);
  return blamed(list, sum(list) + (service(run, view, slice) ?? 0));
}

/** Causes by their share of `total`, largest first. */
export function blamed(list: readonly Share[], total = sum(list)): Blamed[] {
  return list.map(({ cause, value }) => ({ cause, share: value / total })).sort((a, b) => b.share - a.share);
}

/** Share of a slice's latency that was waiting, 0..1; null where nothing was measured. */
export function waitingShare(run: Run, view: View, slice: Slice): Num {
  const waited = sum(waiting(run, view, slice));
  const all = waited + (service(run, view, slice) ?? 0);
  return all > 0 ? waited / all : null;
}

export function requestsIn(run: Run, scope: Scope): number {
  const { read, write, flush } = run.result.latency_ns;
  // Older results tell no causes of flushes.
  const flushes = run.result.waiting_by_op?.flush ? (flush?.count ?? 0) : 0;
  const counts = { read: read?.count ?? 0, write: write?.count ?? 0, flush: flushes };
  return scope === "both" ? counts.read + counts.write : counts[scope];
}
