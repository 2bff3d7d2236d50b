import type { BlockMap, Causes, Num, Operation } from "../types";

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

/** The answer of a served drive, `nandarium.live/2`. */
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
  requests: Record<Operation, LiveRequests>;
  latency_ns: Record<Operation, LiveLatency>;
  waiting_ns: Record<"read" | "write", Causes | null>;
  flash: { reads: Causes; programs: Causes; erases: Causes };
  page_bytes: number;
  waf: Num;
  waf_pages: Num;
  blocks: Record<"all" | "usable" | "free" | "needed" | "dies" | "dead_dies", number>;
  smart: Record<"now" | "lifetime" | "since_start" | "since_power_on", Record<string, Num>>;
  smart_log: Record<string, number>;
  ocp_log: Record<string, number | { hi: number; lo: number }>;
}

/** What is known of a phase's requests so far; a part of what a served drive tells. */
export type Measured = Pick<Live, "wall_s" | "simulated_ns" | "requests" | "latency_ns" | "waiting_ns">;

/** The table of a sweep as far as it is known. */
export interface Table {
  statuses: Record<string, number>;
  head: string[];
  rows: string[][];
  left_out: number;
  recommendations: { panel: string; said: string }[];
}

/** How far a run or a sweep is, `nandarium.progress/1`. */
export interface Progress {
  schema: string;
  kind: string;
  name: string;
  unit: string;
  phase: string;
  done: number;
  all: Num;
  elapsed_s: number;
  per_second: Num;
  left_s: Num;
  measured: Measured | null;
  table: Table | null;
}

export type State = Live | Progress;

/** The page of one kind of answer. */
export interface View {
  element: HTMLElement;
  /** Shows an answer; its name. */
  take: (state: State) => Promise<string>;
}

export interface Maps {
  wear: BlockMap;
  valid: BlockMap | null;
}
