import assert from "node:assert/strict";
import test from "node:test";
import { between, depth, overall, percentile, perSecond, recent, waited } from "../src/watch/interval";
import type { Live, LiveLatency } from "../src/watch/types";

function latency(...histogram: [number, number][]): LiveLatency {
  return { count: histogram.reduce((all, [, count]) => all + count, 0), sum: 0, max: 900, histogram };
}

/** An answer with writes alone. */
function live(wall: number, write: LiveLatency, more: Partial<Live> = {}): Live {
  const none = latency();
  return { wall_s: wall, latency_ns: { read: none, write, trim: none, flush: none }, waiting_ns: { read: {}, write: {} }, ...more } as Live;
}

test("buckets of two answers differ by what came in between", () => {
  assert.deepEqual(between(latency([10, 5], [20, 7], [30, 1]), latency([10, 5], [20, 3])), [[20, 4], [30, 1]]);
  assert.deepEqual(between(latency([10, 5]), undefined), [[10, 5]]);
});

test("a percentile needs ten requests beyond it, and is the bound that its share does not exceed", () => {
  assert.equal(percentile([[10, 19]], "p50"), null);
  assert.equal(percentile([[10, 10], [20, 10]], "p50"), 10);
  assert.equal(percentile([[10, 9], [20, 11]], "p50"), 20);
  assert.equal(percentile([[10, 999]], "p99"), null);
  assert.equal(percentile([[10, 990], [20, 10]], "p99"), 10);
  assert.equal(percentile([[10, 989], [20, 11]], "p99"), 20);
  assert.equal(overall(latency([10, 10], [1000, 30]), "p50"), 900);
});

test("few requests are looked for further back", () => {
  const answers = [live(0, latency()), live(1, latency([10, 15])), live(2, latency([10, 15], [20, 6]))];
  assert.equal(recent(answers.slice(1), "write", "p50"), null);
  assert.equal(recent(answers, "write", "p50"), 10);
  assert.equal(recent(answers, "write", "p99"), null);
  const more = live(3, latency([10, 15], [20, 26]));
  assert.equal(recent([...answers, more], "write", "p50"), 20);
});

test("waiting is a mean of the requests in between", () => {
  const older = live(0, latency([10, 5]), { waiting_ns: { read: {}, write: { service: 100, gc: 50 } } });
  const newer = live(1, latency([10, 15]), { waiting_ns: { read: {}, write: { service: 300, gc: 90, bus: 10 } } });
  assert.deepEqual(waited(newer, older, "write"), { service: 20, gc: 4, bus: 1 });
  assert.equal(waited(newer, older, "read"), null);
  assert.equal(waited(newer, newer, "write"), null);
});

test("rates are by the clock, depth by simulated time", () => {
  const older = live(10, latency(), { simulated_ns: 0, occupied_ns: 0, bytes: 0 });
  const newer = live(12, latency(), { simulated_ns: 500, occupied_ns: 2000, bytes: 80 });
  assert.equal(perSecond(newer, older, ({ bytes }) => bytes), 40);
  assert.equal(depth(newer, older), 4);
  assert.equal(depth(older, older), null);
});
