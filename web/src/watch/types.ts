import type { BlockMap, Causes, Num, Op } from "../types";

/** Times are nanoseconds, sizes bytes, unless a name says otherwise. All counts are sums since the server began. */
export interface LiveLatency {
  count: number;
  sum: number;
  max: number;
  /** Non-empty buckets as [upper bound, count], ascending. */
  histogram: [number, number][];
}

export interface LiveRequests {
  requests: number;
  pages: number;
  bytes: number;
  failed: number;
}

/** The answer of a served drive, `nandarium.live/1`. */
export interface Live {
  schema: string;
  stack: string;
  bytes: number;
  time: { pace: "off" | number; meaning: string };
  power_on: boolean;
  power_cuts: number;
  wall_s: number;
  simulated_ns: number;
  busy_ns: number;
  occupied_ns: number;
  outstanding: number;
  requests: Record<Op, LiveRequests>;
  latency_ns: Record<Op, LiveLatency>;
  waiting_ns: Record<"read" | "write", Causes | null>;
  flash: { reads: Causes; programs: Causes; erases: Causes };
  page_bytes: number;
  waf: Num;
  waf_bytes: Num;
  blocks: Record<"all" | "usable" | "free" | "needed" | "dies" | "dead_dies", number>;
  smart: Record<"now" | "lifetime" | "since_start" | "since_power_on", Record<string, Num>>;
  smart_log: Record<string, number>;
  ocp_log: Record<string, number | { hi: number; lo: number }>;
}

export interface Maps {
  wear: BlockMap;
  valid: BlockMap | null;
}
