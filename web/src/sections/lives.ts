import { h, lookup, metric, section, type Child } from "../dom";
import { count, NONE, plain, size, type Format } from "../format";
import { table } from "../parts/table";
import type { Run } from "../types";
import { ratio, type Row } from "./comparison";
import { noteList } from "./header";
import { runLabel } from "./waiting";

/** An estimate of a life with its interval. */
function interval(key: string): (run: Run) => HTMLElement {
  return (run) => {
    const [earliest, latest] = [lookup(run, ["life", key, "earliest"]), lookup(run, ["life", key, "latest"])];
    const range = earliest !== null && latest !== null ? ` (${plain(earliest)} to ${plain(latest)})` : "";
    return h("span", {}, metric(run, ["life", key, "estimate"], plain), range);
  };
}

const ANSWERS: readonly Row[] = [
  { label: "TB written until worn out", format: plain, better: "higher", path: ["life", "tbw", "estimate"], cell: interval("tbw") },
  { label: "Drive writes a day", format: plain, better: "higher", path: ["life", "dwpd", "estimate"], cell: interval("dwpd") },
  { label: "Years until worn out", format: plain, better: "higher", path: ["life", "years", "estimate"], cell: interval("years") },
  { label: "Price", format: plain, better: "lower", path: ["life", "cost", "price"] },
  { label: "Price of a GB", format: plain, better: "lower", path: ["life", "cost", "per_gb"] },
  { label: "Price of a TB written", format: plain, better: "lower", path: ["life", "cost", "per_tb_written", "estimate"] },
];

/** What the answers stand on: no run is better for it. */
const ASSUMED: readonly { label: string; format: Format; path: string[] }[] = [
  { label: "Erases that a block survives", format: count, path: ["life", "endurance"] },
  { label: "Capacity", format: size, path: ["life", "capacity_bytes"] },
  { label: "Simulated at 1 of", format: count, path: ["life", "scale"] },
  { label: "Bytes written a day", format: plain, path: ["life", "bytes_per_day"] },
  { label: "Days of the warranty", format: plain, path: ["life", "warranty_days"] },
];

/** How long the drives live, which of them give no answer and why, and what the answers assume; null where no life was asked for. */
export function lives(runs: readonly Run[], notes: readonly string[]): HTMLElement | null {
  const [first] = runs;
  if (!first || runs.every((run) => run.result.life === undefined)) return null;
  const isTold = (path: readonly string[]): boolean => runs.some((run) => lookup(run, path) !== null);
  const base = runs.find((run) => run.result.life);
  const answers = ANSWERS.filter(({ path }) => isTold(path)).map((row): Child[] => [
    row.label,
    ...runs.map((run): Child => (run.result.life ? [row.cell?.(run) ?? metric(run, row.path, row.format), base && run !== base ? ratio(base, run, row) : null] : NONE)),
  ]);
  const assumed = ASSUMED.filter(({ path }) => isTold(path)).map(({ label, format, path }): Child[] => [label, ...runs.map((run): Child => (run.result.life ? metric(run, path, format) : NONE))]);
  const isAnswered = base !== undefined;
  return section(
    null,
    "compare-lives",
    "Lives",
    isAnswered ? `How long each drive lasts, with the range of the estimate. Ratios are against ${base.letter} ${base.name}.` : "No drive of this comparison has a life that can be told.",
    noteList(notes, runs.some((run) => run.result.life === null)),
    isAnswered ? table("Lives of all drives, and what they assume", ["", ...runs.map((run): Child => runLabel(run))], [...answers, ...assumed], { wide: true }) : null,
  );
}
