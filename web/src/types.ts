/** The result document, `nandarium.result/2`, with its lists written out (`decode.ts`). Times are nanoseconds, sizes bytes; a ratio without a denominator arrives as null. */

export type Op = "read" | "write" | "trim" | "flush";
/** Reads of pages that hold nothing are counted beside the operations of the host. */
export type Operation = Op | "unwritten_read";
export type Slice = "all" | "p99" | "p999";
export type Num = number | null;

/** Cause name to amount; a cause that is absent is zero. */
export type Causes = Record<string, Num>;
export type Sliced<T> = Record<Slice, T>;

export interface Traffic {
  requests: number;
  pages: number;
  bytes: number;
}

/** Without requests of its kind every value but the count is null. */
export interface Latency {
  count: number;
  mean: Num;
  p50: Num;
  p90: Num;
  p99: Num;
  p999: Num;
  p9999: Num;
  max: Num;
  /** Non-empty buckets as [upper bound in ns, count], ascending. */
  histogram: [number, number][];
}

export interface OpWaiting {
  direct: Sliced<Causes>;
  root: Sliced<Causes>;
  service_ns?: Sliced<Num>;
}

/** Latencies that a trace tells of the drive it was recorded on. */
export interface RecordedLatency {
  count: number;
  mean: Num;
  p50: Num;
  p90: Num;
  p99: Num;
  p999: Num;
  p9999: Num;
  max: Num;
}

/** How much a note changes how a result is read. */
export type NoteRank = "doubt" | "chosen" | "detail";

/** A figure against its limit. */
export interface JudgedLimit {
  limit: string;
  /** Name of the figure: `write_p99_ns`. */
  figure: string;
  of: string;
  value: Num;
  bound: number;
  fails: boolean;
}

/** What a run was made from and by. */
export interface Provenance {
  version: string;
  /** The command line, one argument each; null where there was none. */
  command: string[] | null;
  workload: { path: string; bytes: number; sha256: string } | null;
  stack: { path: string; sha256: string } | null;
}

export interface BlockMap {
  rows: number;
  columns: number;
  values: Num[];
  row_label: string;
  column_label: string;
}

export interface AddressMap {
  rows: number;
  address_bins: number;
  requests_per_row: number;
  sectors_per_bin: number;
  /** Requests per cell; cell (t, a) is at t * address_bins + a. */
  reads: Num[];
  writes: Num[];
}

/** What repetitions of a comparison tell of a figure. */
export interface RepeatedFigure {
  metric: string;
  name: string;
  mean: number;
  half: Num;
  /** Mean and half of its interval, as people write them. */
  shown: string;
  ratio: { low: number; middle: number; high: number; shown: string } | null;
  differs: "higher" | "lower" | "cannot be told" | null;
  better: boolean | null;
}

export interface Repeated {
  count: number;
  against: string | null;
  figures: RepeatedFigure[];
  sentence: string | null;
}

/** A request, and what went on in its time; columns, times in ns since it arrived. */
export interface Closeup {
  role: "slowest" | "typical" | "between";
  op: Op;
  byte: number;
  bytes: number;
  arrival_ns: number;
  latency_ns: number;
  /** Null: causes are not recorded. */
  waited_ns: Causes | null;
  /** The same by root cause; null also where an older program wrote it. */
  waited_root_ns: Causes | null;
  cut_short: boolean;
  slices: {
    /** Index into the names of tracks. */
    track: number[];
    begin_ns: number[];
    ns: number[];
    work: string[];
    cause: string[];
    pages: number[];
    own: boolean[];
  };
}

export interface Closeups {
  tracks: string[];
  requests: Closeup[];
}

export interface Result {
  schema: string;
  hash: string;
  seed: number | string;
  wall_s: Num;
  sim_ns: Num;
  requests_per_wall_s: Num;
  stack: string;
  workload: { name: string; loop: "open" | "closed"; queue_depth: Num };
  status: string;
  config: Record<string, string>;
  host: Record<Operation, Traffic>;
  /** Share of the reads that asked only for pages which hold nothing. */
  unwritten_read_share: Num;
  iops: Num;
  bandwidth_bytes_per_s: { read: Num; write: Num };
  latency_ns: Record<Operation, Latency>;
  waiting: Sliced<Causes>;
  waiting_root: Sliced<Causes>;
  /** Older results have no flushes here. */
  waiting_by_op: Record<"read" | "write", OpWaiting> & { flush?: OpWaiting };
  service_ns: Sliced<Num>;
  flash: { reads: Causes; programs: Causes; erases: Causes };
  /** Bytes of the blocks that were erased; older results do not have it. */
  erased_bytes?: Num;
  /** Write amplification in bytes, and by pages. */
  waf: Causes;
  waf_pages: Causes;
  /** Why there is none, in a few words. */
  waf_absent: string | null;
  merges: { switch: Num; partial: Num; full: Num };
  cache: Record<string, { hits: Num; misses: Num; hit_ratio: Num }>;
  wear: { min: Num; mean: Num; max: Num; histogram: [number, number][] };
  ram_bytes: Record<string, Num>;
  series: { interval_ns: number; columns: Record<string, Num[]> };
  heatmaps: { wear?: BlockMap | null; valid?: BlockMap | null; address?: AddressMap | null };
  notes: string[];
  // Older files have none of these.
  /** Rank of each note. */
  note_ranks?: NoteRank[];
  /** What limits on figures say, where they were given. */
  limits?: JudgedLimit[];
  /** What the program chose by itself, in sentences. */
  defaults?: string[];
  /** Keys that were given beside the stack. */
  config_given?: string[];
  /** Keys that the run did not read. */
  config_unused?: string[];
  provenance?: Provenance | null;
  recorded_latency_ns?: Partial<Record<Op, RecordedLatency | null>> | null;
  /** How long the drive lives, where `compare --life` was asked and can tell. */
  life?: Life | null;
  /** What the drive costs, where a price was given and no life can be told. */
  cost?: { price: Num; per_gb: Num };
  /** Requests that were looked at closely. */
  closeups?: Closeups;
  /** Runs with other seeds. */
  repeated?: Repeated;
}

export interface Estimate {
  earliest: Num;
  estimate: Num;
  latest: Num;
}

/** What a comparison shows of `nandarium.life/2`. */
export interface Life {
  endurance: number;
  scale: number;
  capacity_bytes: number;
  tbw: Estimate;
  dwpd: Estimate;
  years: Estimate | null;
  data_sheet: { tbw: Num } | null;
  cost: { price: Num; per_gb: Num; per_tb_written: Estimate; per_year: Estimate | null } | null;
}

/** A result with its place in the document, which names it in `data-run` and picks its colour. */
export interface Run {
  index: number;
  /** "A", "B", ... */
  letter: string;
  name: string;
  /** Its name cut to the parts in which it differs from the other runs. */
  short: string;
  result: Result;
}
