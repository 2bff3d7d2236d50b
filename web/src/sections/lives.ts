import { h, lookup, metric, section, type Child } from "../dom";
import { between, count, NONE, plain, size, type Format } from "../format";
import { table } from "../parts/table";
import type { Num, Run } from "../types";
import { ratioOf, type Row } from "./comparison";
import { noteList } from "./header";
import { runLabel } from "./waiting";

/** An estimate of a life with its interval. */
function interval(key: string): (run: Run) => HTMLElement {
  return (run) => {
    const [earliest, middle, latest] = ["earliest", "estimate", "latest"].map((end) => lookup(run, ["life", key, end]));
    if (!earliest || !middle || !latest) return h("span", {}, metric(run, ["life", key, "estimate"], plain));
    const [first, estimate, last] = between([earliest, middle, latest]);
    return h("span", {}, metric(run, ["life", key, "estimate"], () => estimate), ` (${first} to ${last})`);
  };
}

const ANSWERS: readonly Row[] = [
  { label: "TB written until worn out", format: plain, better: "higher", path: ["life", "tbw", "estimate"], cell: interval("tbw") },
  { label: "Drive writes a day", format: plain, better: "higher", path: ["life", "dwpd", "estimate"], cell: interval("dwpd") },
  { label: "Years until worn out", format: plain, better: "higher", path: ["life", "years", "estimate"], cell: interval("years") },
  { label: "Price", format: plain, better: "lower", path: ["life", "cost", "price"] },
  { label: "Price of a GB", format: plain, better: "lower", path: ["life", "cost", "per_gb"] },
  { label: "Cost a year, if it lives so long", format: plain, better: "lower", path: ["life", "cost", "per_year", "estimate"] },
  { label: "Price of a TB written", format: plain, better: "lower", path: ["life", "cost", "per_tb_written", "estimate"] },
];

/** What the answers stand on: no run is better for it. */
const ASSUMED: readonly { label: string; format: Format; path: string[] }[] = [
  { label: "Erases that a block survives", format: count, path: ["life", "endurance"] },
  { label: "TB written by the data sheet", format: plain, path: ["life", "data_sheet", "tbw"] },
  { label: "Capacity", format: size, path: ["life", "capacity_bytes"] },
  { label: "Simulated at 1 of", format: count, path: ["life", "scale"] },
  { label: "Bytes written a day", format: plain, path: ["life", "bytes_per_day"] },
  { label: "Days of the warranty", format: plain, path: ["life", "warranty_days"] },
];

/** Where a value of a run stands: what a drive costs and its data sheet stand beside its life where no life can be told. */
function place(run: Run, path: string[]): string[] {
  return !run.result.life && ["cost", "data_sheet"].includes(path[1] ?? "") ? path.slice(1) : path;
}

/** How far the life of a run may be from its estimate at the endurance assumed, as factors. */
function spread(run: Run): [number, number] | null {
  const [low, middle, high] = ["earliest", "estimate", "latest"].map((end) => lookup(run, ["life", "tbw_at_endurance", end]));
  return low && middle && high ? [low / middle, high / middle] : null;
}

/** Whether a value of two runs cannot be told apart: it follows from their lives, whose intervals overlap. */
function isOpen(base: Run, run: Run, { path, better }: Row): boolean {
  if (path[1] === "cost" && path.at(-1) !== "estimate") return false;
  const [first, second] = [lookup(base, path), lookup(run, path)];
  const ends = [base, run].map(spread);
  const [one, other] = ends.map((end) => (end && better === "lower" ? [1 / end[1], 1 / end[0]] : end));
  if (!first || !second || !one || !other) return false;
  const [[low = 0, high = 0], [from = 0, to = 0]] = [one.map((end) => end * first), other.map((end) => end * second)];
  return low <= to && from <= high;
}

/** How long the drives live, what they cost, which of them give no answer and why, and what the answers assume; null where no life was asked for. */
export function lives(runs: readonly Run[], notes: readonly string[]): HTMLElement | null {
  const [first] = runs;
  if (!first || runs.every((run) => run.result.life === undefined)) return null;
  const value = (run: Run, path: string[]): Num => lookup(run, place(run, path));
  const isTold = ({ path }: { path: string[] }): boolean => runs.some((run) => value(run, path) !== null);
  const alive = runs.find((run) => run.result.life);
  const base = alive ?? first;
  const shown = (run: Run, path: string[], cell: Child): Child => (run.result.life || value(run, path) !== null ? cell : NONE);
  const answers = ANSWERS.filter(isTold).map((row): Child[] => [
    row.label,
    ...runs.map((run): Child =>
      shown(run, row.path, [row.cell?.(run) ?? metric(run, place(run, row.path), row.format), run === base ? null : ratioOf(value(base, row.path), value(run, row.path), row, isOpen(base, run, row))]),
    ),
  ]);
  const assumed = ASSUMED.filter(isTold).map(({ label, format, path }): Child[] => [label, ...runs.map((run): Child => shown(run, path, metric(run, place(run, path), format)))]);
  const rows = [...answers, ...assumed];
  const against = `Ratios are against ${base.letter} ${base.name}.`;
  const untold = "No drive of this comparison has a life that can be told: the notes give the reasons.";
  const lead = alive ? `How long each drive lasts, with the range of the estimate. ${against}` : rows.length > 0 ? `${untold} You gave the prices. ${against}` : untold;
  return section(
    null,
    "compare-lives",
    "Lives",
    lead,
    noteList(notes, runs.some((run) => run.result.life === null)),
    rows.length > 0 ? table("Lives and prices of all drives, and their assumptions", ["", ...runs.map((run): Child => runLabel(run))], rows, { wide: true }) : null,
  );
}
