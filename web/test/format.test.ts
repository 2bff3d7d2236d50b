import assert from "node:assert/strict";
import { test } from "node:test";
import { axisTime, compact, factor, percent, rate, size, time } from "../src/format";
import { quantileCurve, quantileGrid, quantileName } from "../src/quantiles";

const words = (text: string): string => text.replaceAll("\u202f", " ");

test("times choose a unit and keep three digits", () => {
  assert.equal(words(time(0)), "0");
  assert.equal(words(time(850)), "850 ns");
  assert.equal(words(time(12_345)), "12.3 us");
  assert.equal(words(time(999_600)), "1.00 ms");
  assert.equal(words(time(1.5e9)), "1.50 s");
  assert.equal(words(axisTime(5e6)), "5 ms");
  assert.equal(time(null), "\u2013");
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
