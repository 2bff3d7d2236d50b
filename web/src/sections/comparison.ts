import { derived, h, lookup, metric, section, type Child } from "../dom";
import { count, factor, NONE, percent, plain, rate, size, time, type Format } from "../format";
import { latencyMetric } from "../latencies";
import { table } from "../parts/table";
import { percentileName } from "../quantiles";
import type { Num, Run } from "../types";
import { gcShare, tailCause } from "./figures";
import { loopText, status } from "./header";
import { runLabel } from "./waiting";

type Better = "higher" | "lower";

interface Row {
  label: string;
  format: Format;
  better: Better;
  path: string[];
  /** How the value is shown, where its format is not all. */
  cell?: (run: Run) => HTMLElement;
}

/** Whether a ratio is too close to 1 to be a difference; percentiles are known to 1/64. */
export function isEven(path: readonly string[], ratio: number): boolean {
  return Math.abs(ratio - 1) < (path[0] === "latency_ns" ? 1 / 64 : 0.01);
}

const ROWS: readonly Row[] = [
  { label: "IOPS", format: plain, better: "higher", path: ["iops"] },
  { label: "Read bandwidth", format: rate, better: "higher", path: ["bandwidth_bytes_per_s", "read"] },
  { label: "Write bandwidth", format: rate, better: "higher", path: ["bandwidth_bytes_per_s", "write"] },
  ...(["read", "write"] as const).flatMap((op) =>
    ["mean", "p50", "p99", "p999", "max"].map((key): Row => ({
      label: `${op === "read" ? "Read" : "Write"} latency ${percentileName(key)}`,
      format: time,
      better: "lower",
      path: ["latency_ns", op, key],
      cell: (run) => latencyMetric(run, op, key),
    })),
  ),
  { label: "WAF", format: factor, better: "lower", path: ["waf", "total"] },
  { label: "Flash programs", format: count, better: "lower", path: ["flash", "programs", "total"] },
  { label: "Erases", format: count, better: "lower", path: ["flash", "erases", "total"] },
  { label: "Most-erased block", format: count, better: "lower", path: ["wear", "max"] },
  { label: "TB written until worn out", format: plain, better: "higher", path: ["life", "tbw", "estimate"], cell: interval("tbw") },
  { label: "Drive writes a day", format: plain, better: "higher", path: ["life", "dwpd", "estimate"], cell: interval("dwpd") },
  { label: "Years until worn out", format: plain, better: "higher", path: ["life", "years", "estimate"], cell: interval("years") },
  { label: "Price", format: plain, better: "lower", path: ["life", "cost", "price"] },
  { label: "Price of a GB", format: plain, better: "lower", path: ["life", "cost", "per_gb"] },
  { label: "Price of a TB written", format: plain, better: "lower", path: ["life", "cost", "per_tb_written", "estimate"] },
];

/** An estimate of a life with its interval. */
function interval(key: string): (run: Run) => HTMLElement {
  return (run) => {
    const [earliest, latest] = [lookup(run, ["life", key, "earliest"]), lookup(run, ["life", key, "latest"])];
    const range = earliest !== null && latest !== null ? ` (${plain(earliest)} to ${plain(latest)})` : "";
    return h("span", {}, metric(run, ["life", key, "estimate"], plain), range);
  };
}

export function comparison(runs: readonly Run[]): HTMLElement {
  const [first] = runs;
  const rows: Child[][] = [
    ["Status", ...runs.map((run): Child => status(run.result))],
    ["Hash", ...runs.map((run): Child => h("code", {}, run.result.hash))],
    ...ROWS.filter((row) => runs.some((run) => lookup(run, row.path))).map((row): Child[] => [
      row.label,
      ...runs.map((run): Child => [row.cell?.(run) ?? metric(run, row.path, row.format), first && run !== first ? ratio(first, run, row) : null]),
    ]),
    ["GC share of programs", ...runs.map((run): Child => derived(run, "gc_share", gcShare(run), percent))],
    ...(["read", "write"] as const)
      .map((op): Child[] => [`Slowest 1\u202f% of ${op}s waited for`, ...runs.map((run): Child => tailCause(run, op))])
      .filter(([, ...causes]) => causes.some((cause) => cause))
      .map(([label, ...causes]): Child[] => [label, ...causes.map((cause): Child => cause ?? NONE)]),
    ["RAM, all layers", ...runs.map((run): Child => derived(run, "ram_bytes_total", ramTotal(run), size))],
  ];
  return section(
    null,
    "compare-figures",
    "Side by side",
    first ? `Ratios are against ${first.letter} ${first.name}; arrows point where the number went. What was waited for is the root cause. ${workloads(runs)}` : null,
    table("Key figures of all runs", ["", ...runs.map((run): Child => runLabel(run))], rows, { wide: true }),
  );
}

function workloads(runs: readonly Run[]): string {
  const names = new Set(runs.map((run) => `${run.result.workload.name}, ${loopText(run.result)}`));
  const [only] = names;
  return names.size === 1 ? `Workload: ${only}.` : "The runs had different workloads or loops: compare with care.";
}

function ramTotal(run: Run): number {
  return Object.values(run.result.ram_bytes ?? {}).reduce<number>((total, bytes) => total + (bytes ?? 0), 0);
}

function ratio(first: Run, run: Run, row: Row): HTMLElement {
  const base = lookup(first, row.path);
  const value = lookup(run, row.path);
  const against: Num = base && value !== null ? value / base : null;
  if (against === null) return h("span", { class: "ratio" }, NONE);
  const change = isEven(row.path, against) ? "even" : against > 1 === (row.better === "higher") ? "better" : "worse";
  const arrow = change === "even" ? "" : against > 1 ? " \u25b2" : " \u25bc";
  return h("span", { class: `ratio ${change}` }, `\u00d7${factor(against)}${arrow} ${change}`);
}
