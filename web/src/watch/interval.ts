import { OPERATIONS } from "../latencies";
import { NEEDED } from "../quantiles";
import type { Causes, Num, Operation } from "../types";
import type { Live, LiveLatency } from "./types";

/** Shares of the requests that percentiles leave below. */
const SHARES: Readonly<Record<string, number>> = { p50: 0.5, p99: 0.99, p999: 0.999 };

/** Requests by bucket that came between two answers. */
export function between(newer: LiveLatency, older: LiveLatency | undefined): [number, number][] {
  const before = new Map(older?.histogram ?? []);
  return newer.histogram
    .map(([upper, count]): [number, number] => [upper, count - (before.get(upper) ?? 0)])
    .filter(([, count]) => count > 0);
}

/** The bound that a share of the requests does not exceed; null where too few requests lie beyond it to tell. */
export function percentile(buckets: readonly [number, number][], key: string): Num {
  const total = buckets.reduce((all, [, count]) => all + count, 0);
  if (total < (NEEDED[key] ?? 1)) return null;
  const wanted = Math.ceil(total * (SHARES[key] ?? 1));
  let seen = 0;
  for (const [upper, count] of buckets) {
    seen += count;
    if (seen >= wanted) return upper;
  }
  return null;
}

/** A percentile of the last answers: of as few of them as have requests enough. */
export function recent(answers: readonly Live[], op: Operation, key: string): Num {
  const newest = answers.at(-1);
  if (!newest) return null;
  for (let back = answers.length - 2; back >= 0; back -= 1) {
    const found = percentile(between(newest.latency_ns[op], answers[back]?.latency_ns[op]), key);
    if (found !== null) return found;
  }
  return null;
}

/** Since the server began, as `ctl stats` gives it. */
export function overall(latency: LiveLatency, key: string): Num {
  const found = percentile(latency.histogram, key);
  return found === null ? null : Math.min(found, latency.max);
}

/** Mean waiting of a request by cause between two answers; null where nothing was answered, or causes are not recorded. */
export function waited(newer: Live, older: Live, op: "read" | "write"): Causes | null {
  const [now, then] = [newer.waiting_ns[op], older.waiting_ns[op]];
  const requests = newer.latency_ns[op].count - older.latency_ns[op].count;
  if (!now || requests <= 0) return null;
  return Object.fromEntries(Object.entries(now).map(([cause, ns]) => [cause, Math.max(0, (ns ?? 0) - (then?.[cause] ?? 0)) / requests]));
}

/** A sum's growth by the second of the clock. */
export function perSecond(newer: Live, older: Live, of: (live: Live) => number): number {
  return (of(newer) - of(older)) / Math.max(1e-3, newer.wall_s - older.wall_s);
}

/** Mean requests under way in simulated time; null when none passed. */
export function depth(newer: Live, older: Live): Num {
  const passed = newer.simulated_ns - older.simulated_ns;
  return passed > 0 ? (newer.occupied_ns - older.occupied_ns) / passed : null;
}

export function requestsOf(live: Live): number {
  return OPERATIONS.reduce((all, op) => all + live.requests[op].requests, 0);
}
