import type { Latency, Num } from "./types";

const POINTS_PER_DECADE = 60;
const DECADES_MIN = 1;
const DECADES_MAX = 6;

/** Pixels: the y axis with its padding, the widest tick label, and the width from which "50 %" has room beside "0 %". */
const AXIS_WIDTH = 96;
const LABEL_WIDTH = 64;
const WIDE = 720;

/** Requests that a percentile takes, so that ten lie beyond it. */
export const NEEDED: Readonly<Record<string, number>> = { p50: 20, p90: 100, p99: 1_000, p999: 10_000, p9999: 100_000 };

/** A percentile as people write it: p99.9 for p999. */
export function percentileName(key: string): string {
  return key.replace(/^p99(9+)$/, "p99.$1");
}

/**
 * Quantile curves on one grid. Position x stands for the quantile 1 - 1/x, so that every further nine takes the same room:
 * 1 is the fastest request, 2 the median, 100 is p99. The grid ends with the slowest request there is, so that no part of it is empty.
 */
export function quantileGrid(counts: readonly number[]): number[] {
  const decades = Math.min(DECADES_MAX, Math.max(DECADES_MIN, Math.log10(Math.max(...counts, 1))));
  const points = Math.round(decades * POINTS_PER_DECADE);
  return Array.from({ length: points + 1 }, (_, index) => 10 ** (index / POINTS_PER_DECADE));
}

/** Share of the requests that took no time at all, 0..1. */
export function zeroShare(latency: Latency): number {
  const buckets = latency.histogram ?? [];
  const total = buckets.reduce((all, [, requests]) => all + requests, 0);
  const zero = buckets.reduce((all, [upper, requests]) => all + (upper > 0 ? 0 : requests), 0);
  return total > 0 ? zero / total : 0;
}

/** Latency at each grid position; null beyond the last request, and where it is zero. */
export function quantileCurve(latency: Latency, grid: readonly number[]): Num[] {
  const buckets = latency.histogram ?? [];
  const total = buckets.reduce((all, [, requests]) => all + requests, 0);
  let bucket = 0;
  let below = buckets[0]?.[1] ?? 0;
  return grid.map((x) => {
    if (total === 0 || x > total * 1.0001) return null;
    const needed = Math.max(1, Math.ceil(total * (1 - 1 / x) - 1e-6));
    while (below < needed && bucket < buckets.length - 1) {
      bucket += 1;
      below += buckets[bucket]?.[1] ?? 0;
    }
    const upper = buckets[bucket]?.[0] ?? 0;
    // A bucket's bound may lie above the slowest request; zero has no place on a logarithmic axis.
    const value = latency.max === null ? upper : Math.min(upper, latency.max);
    return value > 0 ? value : null;
  });
}

/** "99.9 %" for x = 1000. */
export function quantileName(x: Num | undefined): string {
  if (x === null || x === undefined) return "";
  const nines = Math.floor(Math.log10(x) + 1e-9);
  return `${Number(((1 - 1 / x) * 100).toFixed(Math.max(0, nines)))}\u202f%`;
}

export function quantileTicks(end: number): (width: number) => number[] {
  const decades = Math.log10(end);
  return (width) => {
    const stride = (width - AXIS_WIDTH) / decades < LABEL_WIDTH ? 2 : 1;
    const ticks = width > WIDE ? [1, 2] : [1];
    for (let decade = stride; decade <= decades + 1e-9; decade += stride) ticks.push(10 ** decade);
    return ticks;
  };
}
