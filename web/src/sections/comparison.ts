import { derived, h, lookup, metric, section, type Child } from "../dom";
import { count, factor, NONE, percent, plain, rate, size, time, type Format } from "../format";
import { latencyMetric, OPERATION_LABELS } from "../latencies";
import { table } from "../parts/table";
import { percentileName } from "../quantiles";
import type { Num, RepeatedFigure, Run } from "../types";
import { gcShare, tailCause, wafMetric } from "./figures";
import { loopText, status } from "./header";
import { runLabel } from "./waiting";

type Better = "higher" | "lower";

export interface Row {
  label: string;
  format: Format;
  /** null: a difference is no merit, as of erases of blocks that may have other sizes. */
  better: Better | null;
  path: string[];
  /** How the value is shown, where its format is not all. */
  cell?: (run: Run) => HTMLElement;
  /** The figure of repetitions that says the same of all of them. */
  repeated?: string;
}

/** Whether a ratio is too close to 1 to be a difference; percentiles are known to 1/64. */
export function isEven(path: readonly string[], ratio: number): boolean {
  return Math.abs(ratio - 1) < (path[0] === "latency_ns" ? 1 / 64 : 0.01);
}

const ROWS: readonly Row[] = [
  { label: "IOPS", format: plain, better: "higher", path: ["iops"], repeated: "iops" },
  { label: "Read bandwidth", format: rate, better: "higher", path: ["bandwidth_bytes_per_s", "read"] },
  { label: "Write bandwidth", format: rate, better: "higher", path: ["bandwidth_bytes_per_s", "write"] },
  ...(["read", "write", "flush"] as const).flatMap((op) =>
    ["mean", "p50", "p99", "p999", "max"].map((key): Row => ({
      label: `${OPERATION_LABELS[op]} latency ${percentileName(key)}`,
      format: time,
      better: "lower",
      path: ["latency_ns", op, key],
      cell: (run) => latencyMetric(run, op, key),
      repeated: `${op}_${key}_ns`,
    })),
  ),
  { label: "WAF", format: factor, better: "lower", path: ["waf", "total"], cell: wafCell, repeated: "waf" },
  { label: "WAF by pages", format: factor, better: "lower", path: ["waf_pages", "total"] },
  { label: "Flash programs", format: count, better: null, path: ["flash", "programs", "total"] },
  { label: "Erased", format: size, better: "lower", path: ["erased_bytes"], repeated: "erased_bytes" },
  { label: "Most-erased block", format: count, better: null, path: ["wear", "max"] },
];

/** Write amplification, or why there is none. */
function wafCell(run: Run): HTMLElement {
  const { waf_absent: absent } = run.result;
  return h("span", {}, wafMetric(run), absent === null ? null : `, ${absent}`);
}

export function comparison(runs: readonly Run[]): HTMLElement {
  const [first] = runs;
  const rows: Child[][] = [
    ["Status", ...runs.map((run): Child => status(run.result))],
    ["Hash", ...runs.map((run): Child => h("code", {}, run.result.hash))],
    ...ROWS.filter((row) => isTold(runs, row)).map((row): Child[] => [row.label, ...cells(runs, row)]),
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
    first ? `Ratios are against ${first.letter} ${first.name}; arrows point where the number went. Causes of waiting are root causes. ${workloads(runs)} ${repetitions(runs)}` : null,
    table("Key figures of all runs", ["", ...runs.map((run): Child => runLabel(run))], rows, { wide: true }),
  );
}

function isTold(runs: readonly Run[], row: Row): boolean {
  return runs.some((run) => lookup(run, row.path) || (row.cell === wafCell && run.result.waf_absent === "too few writes"));
}

/** The cells of a row. Where repetitions tell it of all runs, their means and intervals: a ratio of single runs may be chance. */
function cells(runs: readonly Run[], row: Row): Child[] {
  const repeated = runs.map((run) => run.result.repeated?.figures.find(({ metric: name }) => name === row.repeated));
  if (repeated.every((figure) => figure !== undefined)) return repeated.map(repeatedCell);
  const [first] = runs;
  const isRepeated = runs.some((run) => run.result.repeated);
  return runs.map((run): Child => [row.cell?.(run) ?? metric(run, row.path, row.format), first && run !== first ? ratio(first, run, row, isRepeated) : null]);
}

const WORDS: Record<string, string> = { higher: "\u25b2", lower: "\u25bc" };

function repeatedCell({ shown, ratio: against, differs, better }: RepeatedFigure): Child {
  if (!against || !differs) return shown;
  const change = better === null ? "even" : better ? "better" : "worse";
  const told = differs === "cannot be told" ? "cannot be told apart" : [WORDS[differs], change].join(" ");
  return [shown, h("span", { class: `ratio ${change}` }, `\u00d7${against.shown} ${told}`)];
}

/** How to read a comparison of repeated runs; nothing where each stack ran once. */
function repetitions(runs: readonly Run[]): string {
  const count = runs[0]?.result.repeated?.count;
  if (!count) return "";
  return `A figure with \u00b1 is a mean of ${count} runs with half of its 95\u202f% interval; its ratio has the whole interval. Of twenty figures that do not differ, one is told as different. All other figures are of the first run alone, and are not judged.`;
}

function workloads(runs: readonly Run[]): string {
  const names = new Set(runs.map((run) => `${run.result.workload.name}, ${loopText(run.result)}`));
  const [only] = names;
  return names.size === 1 ? `Workload: ${only}.` : "The runs had different workloads or loops: compare with care.";
}

function ramTotal(run: Run): number {
  return Object.values(run.result.ram_bytes ?? {}).reduce<number>((total, bytes) => total + (bytes ?? 0), 0);
}

/** The ratio of two single runs; `isMute`: repetitions judge, and a ratio of single runs does not. */
function ratio(first: Run, run: Run, row: Row, isMute = false): HTMLElement | null {
  return ratioOf(lookup(first, row.path), lookup(run, row.path), row, isMute);
}

/** The ratio of a value to that of the first run. */
export function ratioOf(base: Num, value: Num, row: Row, isMute = false): HTMLElement | null {
  if (value === null) return null;
  const against: Num = base ? value / base : null;
  if (against === null) return h("span", { class: "ratio" }, NONE);
  if (isMute) return h("span", { class: "ratio" }, `\u00d7${factor(against)}`);
  const change = isEven(row.path, against) ? "even" : against > 1 === (row.better === "higher") ? "better" : "worse";
  const arrow = change === "even" ? "" : against > 1 ? " \u25b2" : " \u25bc";
  if (row.better === null) return h("span", { class: "ratio even" }, `\u00d7${factor(against)}${arrow}`);
  return h("span", { class: `ratio ${change}` }, `\u00d7${factor(against)}${arrow} ${change}`);
}
