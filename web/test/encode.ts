/** Results as files have them: the other way round of what the page does. */
import type { RawCloseups, RawResult } from "../src/decode";
import type { Closeups, Num, Result } from "../src/types";

export function encoded(result: Result): RawResult {
  const { latency_ns, wear, series, heatmaps, closeups, ...rest } = result;
  const latencies = Object.entries(latency_ns).map(([op, { histogram, ...of }]) => [op, { ...of, histogram: { latency_ns: histogram.map(([end]) => end), requests: histogram.map(([, count]) => count) } }]);
  const intervals = series.columns["time_ns"]?.length ?? 0;
  const columns = Object.entries(series.columns).map(([name, values]) => [name, single(values)]);
  const { address, ...maps } = heatmaps;
  return {
    ...rest,
    latency_ns: Object.fromEntries(latencies) as RawResult["latency_ns"],
    wear: { ...wear, histogram: { erases: wear.histogram.map(([erases]) => erases), blocks: wear.histogram.map(([, blocks]) => blocks) } },
    series: { interval_ns: series.interval_ns, intervals, columns: Object.fromEntries(columns) as RawResult["series"]["columns"] },
    heatmaps: { ...maps, ...(address ? { address: { ...address, reads: withoutZeros(address.reads), writes: withoutZeros(address.writes) } } : {}) },
    ...(closeups ? { closeups: together(closeups) } : {}),
  };
}

function single(values: Num[]): Num | Num[] {
  const [first] = values;
  return first !== undefined && values.every((value) => value === first) ? first : values;
}

function withoutZeros(counts: readonly Num[]): number[] {
  const written: number[] = [];
  for (const count of counts) {
    const last = written.at(-1) ?? 0;
    if (!count && last < 0) written[written.length - 1] = last - 1;
    else written.push(count || -1);
  }
  return written;
}

function together({ tracks, requests }: Closeups): RawCloseups {
  const of = <T>(pick: (slices: Closeups["requests"][number]["slices"]) => T[]): T[] => requests.flatMap(({ slices }) => pick(slices));
  const works = [...new Set(of(({ work }) => work))];
  const causes = [...new Set(of(({ cause }) => cause))];
  return {
    tracks,
    works,
    causes,
    requests: requests.map((request) => ({ ...request, slices: request.slices.ns.length })),
    slices: {
      track: of(({ track }) => track),
      begin_ns: of(({ begin_ns }) => begin_ns),
      ns: of(({ ns }) => ns),
      work: of(({ work }) => work).map((name) => works.indexOf(name)),
      cause: of(({ cause }) => cause).map((name) => causes.indexOf(name)),
      pages: of(({ pages }) => pages),
      own: of(({ own }) => own).map(Number),
    },
  };
}
