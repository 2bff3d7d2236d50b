import assert from "node:assert/strict";
import { test } from "node:test";
import { axisTime, between, compact, factor, percent, rate, size, time } from "../src/format";
import { quantileCurve, quantileGrid, quantileName, quantileTicks, zeroShare } from "../src/quantiles";

const words = (text: string): string => text.replaceAll("\u202f", " ");

test("times choose a unit and keep three digits", () => {
  assert.equal(words(time(0)), "0");
  assert.equal(words(time(850)), "850 ns");
  assert.equal(words(time(12_345)), "12.3 \u00b5s");
  assert.equal(words(time(999_600)), "1.00 ms");
  assert.equal(words(time(1.5e9)), "1.50 s");
  assert.equal(words(axisTime(5e6)), "5 ms");
  assert.equal(time(null), "\u2013");
});

/** The page told a life of "3.27 years (1.09 to 9.81)" beside a table with 3.3 and its ends. */
test("intervals have the digits that they support", () => {
  assert.deepEqual(between([1.0912, 3.2736, 9.8208]), ["1.1", "3.3", "9.8"]);
  assert.deepEqual(between([10.02, 10.08, 10.15]), ["10.02", "10.08", "10.15"]);
  assert.deepEqual(between([1_234, 1_300, 1_400]), ["1,230", "1,300", "1,400"]);
  assert.deepEqual(between([0.000_2, 0.000_25, 0.001_9]), ["0.00020", "0.00025", "0.0019"]);
});

test("rates are decimal, sizes binary", () => {
  assert.equal(words(rate(457_386_666)), "457 MB/s");
  assert.equal(words(size(8 * 2 ** 30)), "8.00 GiB");
  assert.equal(words(size(0)), "0 B");
});

test("shares, factors and axis counts", () => {
  assert.equal(words(percent(0.7241)), "72 %");
  assert.equal(words(percent(0.9997)), "99.97 %");
  assert.equal(words(percent(1)), "100 %");
  assert.equal(factor(3.856), "3.86");
  assert.equal(factor(0), "0.00");
  assert.equal(compact(120_000), "120k");
});

test("a quantile curve reads bucket bounds at ranks and ends with the last request", () => {
  const histogram: [number, number][] = [
    [100, 90],
    [200, 9],
    [1000, 1],
  ];
  const latency = { count: 100, mean: 0, p50: 100, p90: 100, p99: 200, p999: 900, p9999: 900, max: 900, histogram };
  const grid = quantileGrid([100]);
  const curve = quantileCurve(latency, grid);
  const at = (x: number): number | null | undefined => curve[grid.findIndex((place) => Math.abs(place / x - 1) < 1e-6)];
  assert.equal(at(1), 100);
  assert.equal(at(10), 100);
  assert.equal(at(100), 200);
  assert.equal(curve.at(-1), 200);
  assert.equal(
    quantileCurve({ ...latency, histogram: [] }, grid).every((value) => value === null),
    true,
  );
  assert.equal(words(quantileName(1000)), "99.9 %");
});

test("the percentile axis ends with the slowest request there is", () => {
  for (const [requests, end] of [
    [3, 10],
    [40, 40],
    [5_000, 5_000],
    [30_000_000, 1e6],
  ] as const) {
    const grid = quantileGrid([requests]);
    assert.ok(Math.abs((grid.at(-1) ?? 0) / end - 1) < 0.02, `${requests} requests: ${grid.at(-1)}`);
    assert.ok(quantileTicks(end)(1000).every((tick) => tick <= end));
  }
});

/** The axis of latencies went down to 1 ns, with nothing in its first five decades. */
test("requests that took no time are counted, and not drawn as 1 ns", () => {
  const histogram: [number, number][] = [
    [0, 25],
    [80_000, 75],
  ];
  const latency = { count: 100, mean: 60_000, p50: 80_000, p90: 80_000, p99: 80_000, p999: 80_000, p9999: 80_000, max: 80_000, histogram };
  assert.equal(zeroShare(latency), 0.25);
  const drawn = quantileCurve(latency, quantileGrid([100])).filter((value) => value !== null);
  assert.equal(Math.min(...drawn), 80_000);
  assert.equal(zeroShare({ ...latency, histogram: [] }), 0);
});
