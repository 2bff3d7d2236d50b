/** Synthetic results with the shape of real ones: seeded, so that every run of the tests renders the same pages. */
import type { BlockMap, Causes, Closeup, Closeups, Latency, Op, Operation, Result, Sliced } from "../src/types";

/** Mulberry32. */
function stream(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** An operation without requests has a count and nothing else. */
export function noLatency(): Latency {
  return { count: 0, mean: null, p50: null, p90: null, p99: null, p999: null, p9999: null, max: null, histogram: [] };
}

function latencyOf(random: () => number, count: number, floor: number, tail: number): Latency {
  if (count === 0) return noLatency();
  const samples = Array.from({ length: 20_000 }, () => {
    const slow = random() < 0.04 ? tail * (1 + 3 * random() ** 6) * random() : 0;
    return Math.round(floor * (1 + 0.6 * random() ** 3) + slow);
  }).sort((a, b) => a - b);
  const at = (share: number): number => samples[Math.min(samples.length - 1, Math.ceil(share * samples.length) - 1)] ?? 0;
  const buckets = new Map<number, number>();
  for (const sample of samples) {
    const step = 2 ** Math.max(0, Math.floor(Math.log2(sample)) - 4);
    const upper = (Math.floor(sample / step) + 1) * step;
    buckets.set(upper, (buckets.get(upper) ?? 0) + count / samples.length);
  }
  return {
    count,
    mean: samples.reduce((all, sample) => all + sample, 0) / samples.length,
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    p999: at(0.999),
    p9999: at(0.9999),
    max: at(1),
    histogram: [...buckets].sort((a, b) => a[0] - b[0]),
  };
}

function sliced(all: Causes, growth: number): Sliced<Causes> {
  const times = (by: number, favourite: string): Causes =>
    Object.fromEntries(
      Object.entries(all).map(([cause, value]) => [cause, (value ?? 0) * (cause === favourite ? by : by ** 0.6)]),
    );
  return { all, p99: times(growth, "gc"), p999: times(growth * 2.5, "gc") };
}

function blockMap(random: () => number, rows: number, columns: number, value: () => number): BlockMap {
  const values = Array.from({ length: rows * columns }, () => (random() < 0.005 ? null : value()));
  return { rows, columns, values, row_label: "die", column_label: "block" };
}

/** A request that waited for a program and an erase on its die, or one that waited for nothing. */
export function closeup(op: Op, latency: number, role: Closeup["role"], waits: boolean): Closeup {
  const own = latency / 10;
  const slices: Closeup["slices"] = waits
    ? {
        track: [1, 1, 1],
        begin_ns: [-5_000, latency / 2, latency - own],
        ns: [5_000 + latency / 2, latency / 2 - own, own],
        work: ["program", "erase", op === "read" ? "read" : "program"],
        cause: ["host", "gc", "host"],
        pages: [1, 1, 2],
        own: [false, false, true],
      }
    : { track: [0], begin_ns: [0], ns: [latency], work: [op === "read" ? "read" : "program"], cause: ["host"], pages: [1], own: [true] };
  const waited: Causes = waits ? { host: latency / 2, gc: latency / 2 - own } : {};
  return { role, op, byte: 4096, bytes: 8192, arrival_ns: 1_000_000, latency_ns: latency, waited_ns: waited, waited_root_ns: waited, cut_short: false, slices };
}

/** Requests of both operations: three of the slowest, a typical one, and one between. */
function closeups(): Closeups {
  const requests = (["read", "write"] as const).flatMap((op) => [
    ...[4_000_000, 3_000_000, 2_000_000].map((latency) => closeup(op, latency, "slowest", true)),
    closeup(op, 400_000, "between", true),
    closeup(op, 60_000, "typical", false),
  ]);
  return { tracks: ["die 0 (channel 0)", "die 1 (channel 1)"], requests };
}

export interface SampleOptions {
  stack: string;
  seed: number;
  /** Multiplies gc work and tails. */
  pressure: number;
  status?: string;
}

export function sample({ stack, seed, pressure, status = "complete" }: SampleOptions): Result {
  const random = stream(seed);
  const bins = 240;
  const times = Array.from({ length: bins }, (_, index) => index * 50_000_000);
  const wave = times.map((_, index) => 1 + 0.25 * Math.sin(index / 9) + 0.15 * random() - (index > 90 ? 0.35 * pressure : 0));
  const column = (base: number, spread: number): number[] =>
    wave.map((level) => Math.max(0, Math.round(base * level + spread * random())));
  const hostPrograms = 1_340_211;
  const gcPrograms = Math.round(2_951_840 * pressure);
  const total = hostPrograms + gcPrograms + 12_090;
  const writes = 1_340_211;
  const op = (requests: number): { requests: number; pages: number; bytes: number } => ({
    requests,
    pages: requests,
    bytes: requests * 4096,
  });
  const direct = sliced(
    { host: 61_000, gc: 118_000 * pressure, mapping: 4_100, metadata: 900, bus: 14_500, queue: 2_200, space: 21_000 * pressure },
    22,
  );
  const root = sliced(
    { host: 22_000, gc: 172_000 * pressure, mapping: 4_900, metadata: 1_100, bus: 14_500, queue: 2_200, space: 5_000 },
    22,
  );
  const wear = new Map<number, number>();
  for (let block = 0; block < 2_048; block += 1) {
    const erases = Math.round(14 + 30 * random() ** 2 + 8 * random());
    wear.set(erases, (wear.get(erases) ?? 0) + 1);
  }
  const addresses = 64;
  const map = (hot: number): number[] =>
    Array.from({ length: 160 * addresses }, (_, cell) =>
      cell % addresses < hot ? Math.round(400 * random() ** 2) : random() < 0.3 ? Math.round(12 * random()) : 0,
    );
  return {
    schema: "nandarium.result/2",
    hash: `9f3c1a77e04b${seed.toString(16).padStart(4, "0")}`,
    seed,
    wall_s: 1.8342,
    sim_ns: 12_000_000_000,
    requests_per_wall_s: 1_461_302.4,
    stack,
    workload: { name: "mixed", loop: "closed", queue_depth: 32 },
    status,
    config: {
      "drive.capacity": "8GiB",
      "drive.over_provisioning": "7%",
      "drive.precondition": "steady",
      "flash.part": "tlc-generic",
      "flash.channels": "8",
      "flash.dies_per_channel": "4",
      "flash.planes_per_die": "2",
      "flash.page_size": "4KiB",
      "flash.pages_per_block": "256",
      "engine.time": "virtual",
      "engine.contents": "none",
      "ftl.kind": stack,
      "ftl.gc.victim": pressure > 0.7 ? "greedy" : "cost-benefit",
      "buffer.kind": "none",
      "buffer.size": "32MiB",
      "buffer.cflru.window": "25%",
      "coded.group": "4",
      "coded.reads": "lazy",
      "stripe.kind": "none",
      "remap.kind": "none",
      "workload.requests": "2680422",
      "workload.queue_depth": "32",
      "workload.request_size": "4KiB",
      "workload.seed": String(seed),
    },
    host: { read: op(1_340_000), write: op(writes), trim: op(211), flush: { requests: 0, pages: 0, bytes: 0 }, unwritten_read: op(1_200) },
    unwritten_read_share: 1_200 / 1_341_200,
    iops: 223_368.5 / (0.5 + pressure),
    bandwidth_bytes_per_s: { read: 457_386_666.7 / (0.5 + pressure), write: 457_458_688 / (0.5 + pressure) },
    latency_ns: {
      read: latencyOf(random, 1_340_000, 62_000, 3_900_000 * pressure),
      write: latencyOf(random, writes, 214_000, 9_800_000 * pressure),
      trim: latencyOf(random, 211, 2_000, 0),
      flush: latencyOf(random, 0, 0, 0),
      unwritten_read: { ...noLatency(), count: 1_200, mean: 0, p50: 0, p90: 0, p99: 0, max: 0, histogram: [[0, 1_200]] },
    },
    waiting: direct,
    waiting_root: root,
    waiting_by_op: {
      read: {
        direct: sliced({ host: 41_000, gc: 58_000 * pressure, bus: 9_000 }, 20),
        root: sliced({ host: 12_000, gc: 87_000 * pressure, bus: 9_000 }, 20),
      },
      write: { direct, root },
    },
    service_ns: { all: 140_000, p99: 182_000, p999: 190_500 },
    flash: {
      reads: { host: 1_340_000, gc: gcPrograms, mapping: 40_112, total: 1_380_112 + gcPrograms },
      programs: { host: hostPrograms, gc: gcPrograms, mapping: 11_800, metadata: 290, total },
      erases: { gc: Math.round(total / 256), total: Math.round(total / 256) },
    },
    erased_bytes: Math.round(total / 256) * 256 * 4096,
    waf: { host: 1.5, gc: (1.5 * gcPrograms) / writes, mapping: (1.5 * 11_800) / writes, metadata: (1.5 * 290) / writes, total: (1.5 * total) / writes },
    waf_pages: { host: 1, gc: gcPrograms / writes, mapping: 11_800 / writes, metadata: 290 / writes, total: total / writes },
    waf_absent: null,
    merges: { switch: 0, partial: 0, full: 0 },
    cache: { "ftl.map": { hits: 2_610_002, misses: 70_420, hit_ratio: 0.97373 } },
    wear: { min: 14, mean: 28.4, max: 52, histogram: [...wear].sort((a, b) => a[0] - b[0]) },
    ram_bytes: { "ftl.map": 16_777_216, "ftl.blocks": 98_304, buffer: 0 },
    series: {
      interval_ns: 50_000_000,
      columns: {
        time_ns: times,
        read_requests: column(5_600, 300),
        write_requests: column(5_600, 300),
        read_bytes: column(22_900_000, 900_000),
        write_bytes: column(22_900_000, 900_000),
        queue_depth: times.map(() => 31 + random()),
        host_programs: column(5_600, 300),
        gc_programs: column(12_300 * pressure, 2_000),
        read_latency_mean_ns: column(96_000, 40_000),
        write_latency_mean_ns: column(301_000, 90_000),
        read_latency_max_ns: column(2_900_000, 4_000_000),
        write_latency_max_ns: column(8_900_000, 9_000_000),
        free_blocks: times.map(() => Math.round(40 * random())),
        host_wait_ns: column(900_000_000, 90_000_000),
        gc_wait_ns: column(2_400_000_000 * pressure, 800_000_000),
        bus_wait_ns: column(40_000_000, 9_000_000),
        merge_wait_ns: times.map(() => 0),
      },
    },
    closeups: closeups(),
    heatmaps: {
      wear: blockMap(random, 32, 64, () => Math.round(14 + 30 * random() ** 2)),
      valid: blockMap(random, 32, 64, () => Math.min(1, 0.35 + 0.65 * random() ** 0.5)),
      address: {
        rows: 160,
        address_bins: addresses,
        requests_per_row: 16,
        sectors_per_bin: 262_144,
        reads: map(20),
        writes: map(9),
      },
    },
    notes: ["Preconditioned to steady state: 2 overwrites of the whole drive <not measured>."],
    defaults: ["The drive was brought to steady state, because nothing else was asked for."],
    config_given: ["drive.capacity", "ftl.gc.victim", "buffer.size"],
    config_unused: ["buffer.size", "buffer.cflru.window", "coded.group", "coded.reads"],
    provenance: {
      version: "0.9.0",
      command: ["nandarium", "run", "--stack", stack, "--set", "workload.note=it's here", "--out", "out/my run"],
      workload: { path: "traces/mail server.csv", bytes: 48_123_456, sha256: "0123456789abcdef".repeat(4) },
      stack: { path: "stacks/mine.toml", sha256: "fedcba9876543210".repeat(4) },
    },
    recorded_latency_ns: {
      read: { count: 1_339_001, mean: 412_345, p50: 130_000, p90: 1_200_000, p99: 7_654_321, p999: 21_000_000, p9999: 55_000_000, max: 98_000_000 },
      write: null,
    },
  };
}

/** A run that ended before its first request: every list empty, every ratio without a denominator. */
export function emptySample(): Result {
  const ops = <T>(make: () => T): Record<Operation, T> => ({ read: make(), write: make(), trim: make(), flush: make(), unwritten_read: make() });
  const nothing = (): Sliced<Causes> => ({ all: {}, p99: {}, p999: {} });
  return {
    ...sample({ stack: "page", seed: 1, pressure: 1, status: "interrupted" }),
    workload: { name: "trace.csv", loop: "open", queue_depth: null },
    sim_ns: 0,
    wall_s: 0,
    requests_per_wall_s: null,
    iops: 0,
    config: {},
    host: ops(() => ({ requests: 0, pages: 0, bytes: 0 })),
    unwritten_read_share: null,
    bandwidth_bytes_per_s: { read: 0, write: 0 },
    latency_ns: ops(noLatency),
    waiting: nothing(),
    waiting_root: nothing(),
    waiting_by_op: { read: { direct: nothing(), root: nothing() }, write: { direct: nothing(), root: nothing() } },
    service_ns: { all: 0, p99: 0, p999: 0 },
    flash: { reads: { total: 0 }, programs: { total: 0 }, erases: { total: 0 } },
    erased_bytes: 0,
    waf: { total: null },
    waf_pages: { total: null },
    waf_absent: "no writes",
    cache: {},
    wear: { min: 0, mean: 0, max: 0, histogram: [] },
    ram_bytes: {},
    series: { interval_ns: 1_000_000, columns: { time_ns: [], read_requests: [] } },
    heatmaps: {
      wear: { rows: 0, columns: 0, values: [], row_label: "die", column_label: "block" },
      valid: { rows: 0, columns: 0, values: [], row_label: "die", column_label: "block" },
      address: { rows: 0, address_bins: 0, requests_per_row: 0, sectors_per_bin: 0, reads: [], writes: [] },
    },
    notes: [],
  };
}
