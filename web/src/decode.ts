import type { AddressMap, Closeup, Closeups, Latency, Num, Operation, Result } from "./types";

/** The form of results that the pages read. The program is not built with pages of another form. */
export const FORM = "nandarium.result/2";

/** Numbers in which one below zero stands for so many zeros. */
export type Counts = readonly number[];

/** Two columns of one length. */
export interface RawHistogram {
  latency_ns: number[];
  requests: number[];
}

export interface RawCloseups {
  tracks: string[];
  /** What slices name by its place here. */
  works: string[];
  causes: string[];
  /** Each says how many slices are its own, in order. */
  requests: (Omit<Closeup, "slices"> & { slices: number })[];
  slices: Record<"track" | "begin_ns" | "ns" | "work" | "cause" | "pages" | "own", number[]>;
}

/** A result as the file has it, `nandarium.result/2`: long lists are written short. */
export type RawResult = Omit<Result, "latency_ns" | "wear" | "series" | "heatmaps" | "closeups"> & {
  latency_ns: Record<Operation, Omit<Latency, "histogram"> & { histogram: RawHistogram }>;
  wear: Omit<Result["wear"], "histogram"> & { histogram: { erases: number[]; blocks: number[] } };
  /** A value in place of a column: all intervals have it. */
  series: { interval_ns: number; intervals: number; columns: Record<string, Num | Num[]> };
  heatmaps: Omit<Result["heatmaps"], "address"> & { address?: (Omit<AddressMap, "reads" | "writes"> & { reads: Counts; writes: Counts }) | null };
  closeups?: RawCloseups;
};

/** A result with its lists written out. */
export function decoded(raw: RawResult): Result {
  const { latency_ns, wear, series, heatmaps, closeups, ...rest } = raw;
  const latencies = Object.entries(latency_ns).map(([op, { histogram, ...of }]) => [op, { ...of, histogram: pairs(histogram.latency_ns, histogram.requests) }]);
  const columns = Object.entries(series.columns).map(([name, column]) => [name, Array.isArray(column) ? column : Array<Num>(series.intervals).fill(column)]);
  const { address, ...maps } = heatmaps;
  return {
    ...rest,
    latency_ns: Object.fromEntries(latencies) as Result["latency_ns"],
    wear: { ...wear, histogram: pairs(wear.histogram.erases, wear.histogram.blocks) },
    series: { interval_ns: series.interval_ns, columns: Object.fromEntries(columns) as Record<string, Num[]> },
    heatmaps: { ...maps, ...(address ? { address: { ...address, reads: withZeros(address.reads), writes: withZeros(address.writes) } } : {}) },
    ...(closeups ? { closeups: apart(closeups) } : {}),
  };
}

function pairs(first: readonly number[], second: readonly number[]): [number, number][] {
  return first.map((value, at) => [value, second[at] ?? 0]);
}

function withZeros(counts: Counts): number[] {
  return counts.flatMap((count) => (count < 0 ? Array<number>(-count).fill(0) : count));
}

/** Each request with its own slices. */
function apart({ tracks, works, causes, requests, slices }: RawCloseups): Closeups {
  let begin = 0;
  const own = (request: RawCloseups["requests"][number]): Closeup => {
    const [from, to] = [begin, (begin += request.slices)];
    const part = (name: keyof RawCloseups["slices"]): number[] => slices[name].slice(from, to);
    return {
      ...request,
      slices: {
        track: part("track"),
        begin_ns: part("begin_ns"),
        ns: part("ns"),
        work: part("work").map((place) => works[place] ?? "?"),
        cause: part("cause").map((place) => causes[place] ?? "?"),
        pages: part("pages"),
        own: part("own").map((flag) => flag === 1),
      },
    };
  };
  return { tracks, requests: requests.map(own) };
}
