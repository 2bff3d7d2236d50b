import { CAUSES, shares, type Share } from "./causes";
import type { Num, Op, Run } from "./types";

/** An interval of a run. */
export interface Moment {
  /** Its place in the columns of the series. */
  at: number;
  /** When it began and ended, ns since the run began. */
  from: number;
  to: number;
  /** The longest latency in it, ns, and of which operation. */
  longest: number;
  op: Op;
  /** Reads and writes that ended before it. */
  done: number;
}

function column(run: Run, name: string): Num[] {
  return run.result.series.columns[name] ?? [];
}

/** Reads and writes that ended in each interval. */
export function requestsPerInterval(run: Run): number[] {
  const [reads, writes] = [column(run, "read_requests"), column(run, "write_requests")];
  return reads.map((count, at) => (count ?? 0) + (writes[at] ?? 0));
}

/** The longest latency of each interval, of reads and writes together. */
export function longestPerInterval(run: Run): Num[] {
  const writes = column(run, "write_latency_max_ns");
  return column(run, "read_latency_max_ns").map((read, at) => {
    const both = [read, writes[at] ?? null].filter((value): value is number => value !== null);
    return both.length > 0 ? Math.max(...both) : null;
  });
}

/** What a read or write of an interval waited for in the mean, by root cause, ns; nothing where it is not known. */
export function waitsIn(run: Run, at: number): Share[] {
  const requests = requestsPerInterval(run)[at] ?? 0;
  if (requests === 0) return [];
  return shares(Object.fromEntries(CAUSES.map((cause) => [cause, (column(run, `${cause}_wait_ns`)[at] ?? 0) / requests])));
}

/** The interval with the longest latency; null where none has one. */
export function worstMoment(run: Run): Moment | null {
  const longest = longestPerInterval(run);
  const at = longest.reduce<number>((best, value, place) => ((value ?? 0) > (longest[best] ?? 0) ? place : best), 0);
  return momentAt(run, at);
}

/** An interval; null where it has no read or write. */
export function momentAt(run: Run, at: number): Moment | null {
  const longest = longestPerInterval(run)[at];
  if (!longest) return null;
  const from = column(run, "time_ns")[at] ?? 0;
  const done = requestsPerInterval(run)
    .slice(0, at)
    .reduce((sum, count) => sum + count, 0);
  const op = column(run, "read_latency_max_ns")[at] === longest ? "read" : "write";
  return { at, from, to: Math.min(from + run.result.series.interval_ns, Math.max(from, run.result.sim_ns ?? 0)), longest, op, done };
}

/** The interval in which the request of this number, counted over reads and writes, ended. */
export function intervalOf(run: Run, number: number): number {
  let done = 0;
  const counts = requestsPerInterval(run);
  for (let at = 0; at < counts.length; at += 1) {
    done += counts[at] ?? 0;
    if (done > number) return at;
  }
  return counts.length - 1;
}
