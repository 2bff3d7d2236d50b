/** Which run of a comparison wins, from the figures that a user of a drive feels. */
import { lookup } from "./dom";
import { sharedTail } from "./latencies";
import { percentileName } from "./quantiles";
import type { Num, RepeatedFigure, Run } from "./types";

/** A single run has no interval: a smaller difference may be chance. The program uses the same share. */
const SHARE = 0.1;

/** A figure of all runs. */
export interface Compared {
  /** As it follows "fastest" or "most": `writes at the tail`. */
  words: string;
  /** The percentile, if it is one. */
  percentile: string | null;
  name: string;
  path: string[];
  isMoreBetter: boolean;
  /** Its value as people write it, where runs were repeated. */
  told: (run: Run) => string | null;
  /** Ratios to the first run, which has none. */
  ratios: (Ratio | null)[];
  /** Runs from which no better one can be told. */
  best: Run[];
  /** Some run is worse than the best one. */
  differs: boolean;
}

/** A value over that of the first run, with its 95 % interval where runs were repeated. */
export interface Ratio {
  middle: number;
  low: number | null;
  high: number | null;
}

interface Figure {
  words: string;
  percentile: string | null;
  name: string;
  path: string[];
  metric: string;
  isMoreBetter: boolean;
}

function figuresOf(runs: readonly Run[]): Figure[] {
  const tails = (["read", "write", "flush"] as const).flatMap((op): Figure[] => {
    const key = sharedTail(runs, op);
    const plural = op === "flush" ? "flushes" : `${op}s`;
    return key ? [{ words: `${plural} at the tail`, percentile: percentileName(key), name: `${op} ${percentileName(key)}`, path: ["latency_ns", op, key], metric: `${op}_${key}_ns`, isMoreBetter: false }] : [];
  });
  return [
    { words: "requests a second", percentile: null, name: "IOPS", path: ["iops"], metric: "iops", isMoreBetter: true },
    ...tails,
    { words: "write amplification", percentile: null, name: "WAF", path: ["waf", "total"], metric: "waf", isMoreBetter: false },
  ];
}

function repeatedOf(run: Run, metric: string): RepeatedFigure | undefined {
  return run.result.repeated?.figures.find((figure) => figure.metric === metric);
}

/** Whether a run is worse than another one by more than chance. */
function isBehind(run: Run, best: Run, figure: Figure, first: Run | undefined): boolean {
  const [own, other] = [run, best].map((one) => repeatedOf(one, figure.metric));
  if (own && other) {
    // Runs with the same seeds are pairs where one of them is the first run: that tells more than two intervals.
    const paired = run === first ? other : best === first ? own : null;
    if (paired?.differs) return paired.differs !== "cannot be told";
    return Math.abs(own.mean - other.mean) > (own.half ?? 0) + (other.half ?? 0);
  }
  const [mine, its] = [lookup(run, figure.path), lookup(best, figure.path)];
  return mine !== null && its !== null && its > 0 && mine > 0 && Math.max(mine / its, its / mine) - 1 >= SHARE;
}

function ratioOf(run: Run, first: Run, { metric, path }: Figure): Ratio | null {
  const repeated = repeatedOf(run, metric)?.ratio;
  if (repeated) return repeated;
  const [base, value] = [lookup(first, path), lookup(run, path)];
  return base && value ? { middle: value / base, low: null, high: null } : null;
}

/** All figures that every run has, in the order in which people ask. */
export function compared(runs: readonly Run[]): Compared[] {
  const [first] = runs;
  if (!first) return [];
  return figuresOf(runs)
    .filter(({ path }) => runs.every((run) => lookup(run, path) !== null))
    .map((figure) => {
      const value = (run: Run): Num => repeatedOf(run, figure.metric)?.mean ?? lookup(run, figure.path);
      const better = (a: Run, b: Run): Run => ((value(a) ?? 0) > (value(b) ?? 0) === figure.isMoreBetter ? a : b);
      const top = runs.reduce((best, run) => (value(run) === value(best) ? best : better(run, best)), first);
      const best = runs.filter((run) => run === top || !isBehind(run, top, figure, first));
      const told = (run: Run): string | null => repeatedOf(run, figure.metric)?.shown ?? null;
      return { ...figure, told, ratios: runs.map((run) => (run === first ? null : ratioOf(run, first, figure))), best, differs: best.length < runs.length };
    });
}

/** The one run that is among the best in every figure a user feels, and alone so in one of them; or null. */
export function winner(runs: readonly Run[], figures: readonly Compared[]): Run | null {
  // Write amplification is felt in latency and life: alone it decides nothing.
  const felt = figures.filter(({ name }) => name !== "WAF");
  const candidates = runs.filter((run) => felt.every(({ best }) => best.includes(run)));
  const [only] = candidates;
  return only && candidates.length === 1 && felt.some(({ differs }) => differs) ? only : null;
}
