import { h, type Child } from "../dom";
import { count, factor, percent, plain, rate, seconds, size, time } from "../format";
import { OPERATIONS, operationName } from "../latencies";
import { table } from "../parts/table";
import type { Num } from "../types";
import { depth, overall, perSecond, recent, requestsOf } from "./interval";
import { number, type LiveNumber } from "./numbers";
import type { Live } from "./types";

/** A part of the page: what it shows, and how it takes new answers, the newest last. */
export interface Part {
  element: HTMLElement;
  update: (answers: readonly Live[]) => void;
}

function tile(title: string, main: LiveNumber, rows: [string, LiveNumber][]): HTMLElement {
  return h(
    "div",
    { class: "tile" },
    h("h3", {}, title),
    h("p", { class: "main-figure" }, main.element),
    h(
      "dl",
      {},
      rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value.element))),
    ),
  );
}

/** A share that is told in per cent. */
const shareOf = (value: Num | undefined): string => percent(typeof value === "number" ? value / 100 : null);

/** How it goes at this moment. */
export function tiles(): Part {
  const now = {
    iops: number("now.iops", count),
    read: number("now.read_iops", count),
    unwritten: number("now.unwritten_read_iops", count),
    write: number("now.write_iops", count),
    simulated: number("now.simulated_iops", count),
    moved: number("now.bandwidth", rate),
    readBytes: number("now.read_bandwidth", rate),
    writeBytes: number("now.write_bandwidth", rate),
    read99: number("now.read_p99", time),
    read50: number("now.read_p50", time),
    write99: number("now.write_p99", time),
    write50: number("now.write_p50", time),
    waf: number("waf", factor),
    wafPages: number("waf_pages", factor),
    programmed: number("flash_bytes", size),
    depth: number("now.depth", plain),
    outstanding: number("outstanding", count),
    free: number("now.free_blocks", count),
    of: number("now.usable_blocks", count),
    used: number("now.percent_used", shareOf),
    most: number("now.most_erases", count),
  };
  const element = h(
    "div",
    { class: "tiles" },
    tile("Requests a second", now.iops, [["reads", now.read], ["reads of unwritten pages", now.unwritten], ["writes", now.write], ["simulated", now.simulated]]),
    tile("Bytes a second", now.moved, [["read", now.readBytes], ["written", now.writeBytes]]),
    tile("Write latency, p99", now.write99, [["median", now.write50]]),
    tile("Read latency, p99", now.read99, [["median", now.read50]]),
    tile("Write amplification", now.waf, [["by pages", now.wafPages], ["programmed", now.programmed]]),
    tile("Free blocks", now.free, [["of", now.of]]),
    tile("Endurance used", now.used, [["most erases", now.most]]),
    tile("Queue depth", now.depth, [["under way", now.outstanding]]),
  );
  const update = (answers: readonly Live[]): void => {
    const [older, newer] = [answers.at(-2), answers.at(-1)];
    if (!newer) return;
    const speed = (of: (live: Live) => number): Num => (older ? perSecond(newer, older, of) : null);
    const bytes = (op: "read" | "write") => (live: Live): number => live.requests[op].bytes;
    const simulated = older ? newer.simulated_ns - older.simulated_ns : 0;
    now.iops.set(speed(requestsOf));
    now.read.set(speed((live) => live.requests.read.requests));
    now.unwritten.set(speed((live) => live.requests.unwritten_read.requests));
    now.write.set(speed((live) => live.requests.write.requests));
    now.simulated.set(older && simulated > 0 ? ((requestsOf(newer) - requestsOf(older)) * 1e9) / simulated : null);
    now.moved.set(speed((live) => bytes("read")(live) + bytes("write")(live)));
    now.readBytes.set(speed(bytes("read")));
    now.writeBytes.set(speed(bytes("write")));
    now.read99.set(recent(answers, "read", "p99"));
    now.read50.set(recent(answers, "read", "p50"));
    now.write99.set(recent(answers, "write", "p99"));
    now.write50.set(recent(answers, "write", "p50"));
    now.waf.set(newer.waf);
    now.wafPages.set(newer.waf_pages);
    const programs = newer.flash.programs["total"];
    now.programmed.set(typeof programs === "number" ? programs * newer.page_bytes : null);
    now.depth.set(older ? depth(newer, older) : null);
    now.outstanding.set(newer.outstanding);
    now.free.set(newer.blocks.free);
    now.of.set(newer.blocks.usable);
    now.used.set(newer.smart_log["percent_used"] ?? null);
    now.most.set(newer.smart.lifetime["most_erases"] ?? null);
  };
  return { element, update };
}

/** Sums since something began: of a served drive what `ctl stats` says. */
export function totals(since = "Since the server began"): Part {
  const columns = ["requests", "failed", "bytes", "mean", "p50", "p99", "p999", "max"] as const;
  const cells = OPERATIONS.map((op) =>
    columns.map((column) => {
      const format = column === "bytes" ? size : column === "requests" || column === "failed" ? count : time;
      return number(column === "requests" || column === "failed" || column === "bytes" ? `requests.${op}.${column}` : `latency_ns.${op}.${column}`, format);
    }),
  );
  const element = table(
    since,
    ["", "Requests", "Failed", "Bytes", "Mean", "p50", "p99", "p99.9", "Longest"],
    OPERATIONS.map((op, row): Child[] => [operationName(op), ...(cells[row] ?? []).map((cell) => cell.element)]),
    { wide: true, short: true },
  );
  const update = (answers: readonly Live[]): void => {
    const newest = answers.at(-1);
    if (!newest) return;
    OPERATIONS.forEach((op, row) => {
      const { requests, failed, bytes } = newest.requests[op];
      const latency = newest.latency_ns[op];
      const any = latency.count > 0;
      const values: Num[] = [
        requests,
        failed,
        bytes,
        any ? latency.sum / latency.count : null,
        ...["p50", "p99", "p999"].map((key) => overall(latency, key)),
        any ? latency.max : null,
      ];
      values.forEach((value, column) => cells[row]?.[column]?.set(value));
    });
  };
  return { element, update };
}

/** Null where the drive does not tell it. */
function thousandths(value: Num | undefined): Num {
  return typeof value === "number" ? value / 1000 : null;
}

/** What the drive says of its health. */
export function health(): Part {
  const ns = (value: Num | undefined): string => seconds(typeof value === "number" ? value / 1e9 : null);
  const rows: readonly [string, LiveNumber, (live: Live) => Num | undefined][] = [
    ["Critical warning (bits)", number("smart_log.critical_warning", count), (live) => live.smart_log["critical_warning"]],
    ["Spare blocks left", number("smart_log.avail_spare", shareOf), (live) => live.smart_log["avail_spare"]],
    ["Endurance used", number("smart_log.percent_used", shareOf), (live) => live.smart_log["percent_used"]],
    ["Least erases of a block", number("smart.lifetime.least_erases", count), (live) => live.smart.lifetime["least_erases"]],
    ["Mean erases", number("smart.lifetime.mean_erases", plain), (live) => thousandths(live.smart.lifetime["mean_erases_thousandths"])],
    ["Most erases of a block", number("smart.lifetime.most_erases", count), (live) => live.smart.lifetime["most_erases"]],
    ["Bad blocks", number("smart.lifetime.bad_blocks", count), (live) => live.smart.lifetime["bad_blocks"]],
    ["Free blocks", number("blocks.free", count), (live) => live.blocks.free],
    ["Dead dies", number("blocks.dead_dies", count), (live) => live.blocks.dead_dies],
    ["Reads that cannot be corrected", number("smart_log.media_errors", count), (live) => live.smart_log["media_errors"]],
    ["Programs failed", number("smart.since_start.programs_failed", count), (live) => live.smart.since_start["programs_failed"]],
    ["Erases failed", number("smart.since_start.erases_failed", count), (live) => live.smart.since_start["erases_failed"]],
    ["Power cuts", number("power_cuts", count), (live) => live.power_cuts],
    ["Simulated time", number("simulated_ns", ns), (live) => live.simulated_ns],
  ];
  const half = Math.ceil(rows.length / 2);
  const part = (caption: string, list: typeof rows): HTMLElement =>
    table(
      caption,
      ["", "Now"],
      list.map(([name, value]): Child[] => [name, value.element]),
    );
  const element = h("div", { class: "pair" }, part("Wear", rows.slice(0, half)), part("Blocks, failures, power", rows.slice(half)));
  const update = (answers: readonly Live[]): void => {
    const newest = answers.at(-1);
    if (newest) for (const [, value, of] of rows) value.set(of(newest));
  };
  return { element, update };
}
