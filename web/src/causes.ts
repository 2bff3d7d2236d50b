import type { Causes, Result } from "./types";

/** Something a person can try against a cause, and where it can help. */
export interface Advice {
  /** What to change, as it follows "Try". */
  change: string;
  /** The configuration key that changes it. */
  key: string;
  /** Values of the key that leave nothing to be tried. */
  unless?: readonly string[];
  /** Whether it can help in such a run; without it, in any. */
  fits?: (result: Result) => boolean;
}

interface CauseStyle {
  /** Ink readable on the colour of the cause, which stands in the palette. */
  ink: string;
  /** How people read it where its name in results does not say it: alone, in a bar, and behind "for". */
  words?: { name: string; short: string; behindFor: string };
  /** In the words of GLOSSARY.md. */
  meaning: string;
  /** Waits for a shared resource rather than behind a flash command; hatched, so hue is not the only mark. */
  resource?: true;
  /** What makes less of it, most promising first. */
  advice: readonly Advice[];
}

const DARK = "var(--letters-dark)";
const LIGHT = "var(--letters-light)";

const inOpenLoop = ({ workload }: Result): boolean => workload.loop === "open";
const inClosedLoop = ({ workload }: Result): boolean => workload.loop === "closed";
/** Where collection only erases, neither spare space nor the choice of a victim spares it work. */
const withCopies = ({ flash }: Result): boolean => (flash.programs["gc"] ?? 0) > 0;

const FEWER_AT_ONCE: Advice = { change: "fewer requests at once", key: "workload.queue_depth", unless: ["1"], fits: inClosedLoop };
const SLOWER: Advice = { change: "requests that arrive more slowly", key: "workload.time_scale", fits: inOpenLoop };
const MORE_DIES: Advice = { change: "more dies", key: "flash.dies_per_channel" };
const MORE_CHANNELS: Advice = { change: "more channels", key: "flash.channels" };
const SPARE_SPACE: Advice = { change: "more spare space", key: "drive.over_provisioning" };
const IN_IDLE_TIME: Advice = { change: "collection in idle time", key: "ftl.gc.background_free_blocks", fits: inOpenLoop };
const INTERRUPTING_READS: Advice = {
  change: "reads that interrupt programs and erases",
  key: "flash.suspend",
  unless: ["program-erase"],
};

const STYLES: Record<string, CauseStyle> = {
  service: {
    ink: DARK,
    meaning: "Latency that was no waiting: the request's own commands and transfers.",
    advice: [],
  },
  host: {
    ink: DARK,
    meaning: "Pages that the host asked for: other requests were on the same die.",
    advice: [FEWER_AT_ONCE, SLOWER, MORE_DIES, INTERRUPTING_READS],
  },
  gc: {
    ink: LIGHT,
    meaning: "Garbage collection: copying the valid pages of a block elsewhere and erasing it.",
    advice: [
      { ...SPARE_SPACE, fits: withCopies },
      { change: "another victim policy", key: "ftl.gc.victim", fits: withCopies },
      INTERRUPTING_READS,
      IN_IDLE_TIME,
      MORE_DIES,
    ],
  },
  merge: {
    ink: DARK,
    meaning: "Merge of log and data blocks in a hybrid mapping.",
    advice: [{ change: "more log blocks", key: "ftl.log.blocks" }, SPARE_SPACE, { change: "another mapping", key: "ftl.kind" }],
  },
  mapping: {
    ink: DARK,
    meaning: "Reads and programs of translation pages.",
    advice: [
      { change: "more memory for the map", key: "ftl.map_cache" },
      { change: "another mapping", key: "ftl.kind" },
    ],
  },
  padding: {
    ink: DARK,
    meaning: "Reads and programs that complete a page or block around host data.",
    advice: [
      { change: "requests of whole pages", key: "workload.request_size" },
      { change: "a larger write buffer", key: "buffer.size" },
      { change: "smaller pages", key: "flash.page_size" },
    ],
  },
  parity: {
    ink: DARK,
    meaning: "Parity reads and programs, commits included.",
    advice: [
      { change: "a larger buffer that gathers whole stripes", key: "stripe.buffer_size" },
      { change: "more delayed parities", key: "stripe.cache.entries" },
      { change: "another scheme", key: "stripe.kind" },
    ],
  },
  code: {
    ink: DARK,
    meaning: "Code blocks of a coded stripe.",
    advice: [
      { change: "code blocks that are not written with their data", key: "coded.stale_codes", unless: ["invalidate"] },
      { change: "rarer off-line phases", key: "coded.offline_every" },
      { change: "another way of reading", key: "coded.reads" },
    ],
  },
  metadata: {
    ink: LIGHT,
    meaning: "The drive's own records, such as tombstones, journals and checkpoints.",
    advice: [
      { change: "fewer flushes", key: "workload.flush_every", unless: ["0"] },
      { change: "fewer trims", key: "workload.trim_share", unless: ["0%"] },
    ],
  },
  wear: {
    ink: LIGHT,
    meaning: "Wear levelling, and relocation from failing blocks.",
    advice: [{ change: "a wider gap between erase counts", key: "ftl.wear.static_gap", unless: ["0"] }],
  },
  rebuild: {
    ink: DARK,
    meaning: "Reconstruction after a die or channel was lost.",
    advice: [{ change: "fewer stripes rebuilt at once", key: "stripe.rebuild_stripes", unless: ["1"] }],
  },
  fold: {
    ink: DARK,
    meaning: "Folding: valid pages of blocks with one bit a cell (SLC cache) move into blocks with all bits.",
    advice: [
      { change: "a smaller cache with one bit a cell", key: "ftl.slc.share", unless: ["0%"] },
      IN_IDLE_TIME,
    ],
  },
  retry: {
    ink: DARK,
    meaning: "Reading pages again whose errors could not be corrected at once.",
    advice: [
      { change: "blocks written anew sooner", key: "ftl.refresh.retries" },
      { change: "younger data", key: "flash.errors.data_age", unless: ["0ns"] },
      { change: "a code that corrects more", key: "flash.errors.corrected" },
    ],
  },
  refresh: {
    ink: LIGHT,
    meaning: "Writing blocks anew that were read too often or are too old.",
    advice: [
      { change: "more reads before a block is written anew", key: "ftl.refresh.reads", unless: ["0"] },
      { change: "older data before it is", key: "ftl.refresh.age", unless: ["0ns"] },
      { change: "more repetitions before it is", key: "ftl.refresh.retries", unless: ["0"] },
    ],
  },
  bus: {
    ink: DARK,
    meaning: "The channel was moving another die's data.",
    resource: true,
    advice: [{ change: "faster channels", key: "flash.bus_bandwidth", unless: ["unlimited"] }, MORE_CHANNELS, FEWER_AT_ONCE],
  },
  queue: {
    ink: DARK,
    meaning: "Before the drive took the request, in the host's queue, or behind others inside a layer.",
    resource: true,
    advice: [FEWER_AT_ONCE, SLOWER, MORE_DIES],
  },
  link: {
    ink: LIGHT,
    meaning: "The host link was moving the data of other requests.",
    resource: true,
    advice: [{ change: "a faster host link", key: "host.link_bandwidth", unless: ["unlimited"] }, SLOWER, FEWER_AT_ONCE],
  },
  firmware: {
    ink: LIGHT,
    meaning: "The cores of the controller were busy with other requests.",
    resource: true,
    advice: [{ change: "more cores in the controller", key: "controller.cores" }, SLOWER, FEWER_AT_ONCE],
  },
  space: {
    ink: LIGHT,
    words: { name: "waiting for a free block", short: "free block", behindFor: "a free block" },
    meaning: "No free block: the drive had to reclaim space first.",
    resource: true,
    advice: [
      SPARE_SPACE,
      { change: "collection that begins sooner", key: "ftl.gc.free_blocks" },
      IN_IDLE_TIME,
    ],
  },
};

const UNKNOWN: CauseStyle = { ink: DARK, meaning: "", advice: [] };

/** Display order of causes; one this page does not know follows at the end. */
const ORDER = Object.keys(STYLES);

/** Every cause this page knows, in display order. */
export const CAUSES: readonly string[] = ORDER;

export function causeStyle(cause: string): CauseStyle {
  return STYLES[cause] ?? UNKNOWN;
}

/** What people read in place of the name in results. */
export function causeName(cause: string, place: "name" | "short" | "behindFor" = "name"): string {
  return causeStyle(cause).words?.[place] ?? cause;
}

/** The name of its colour in the palette. */
export function causeInk(cause: string): string {
  return `cause-${cause in STYLES ? cause : "unknown"}`;
}

/** Causes by which a drive makes room: of a workload that hardly writes, they come from what was written before it. */
const CLEANING = new Set(["gc", "merge", "fold", "wear", "space"]);

export function isCleaning(cause: string): boolean {
  return CLEANING.has(cause);
}

/** Classes of an area in the colour of a cause: stripes are lighter below dark letters and darker below light ones. */
export function stripes(cause: string): string {
  const { resource, ink } = causeStyle(cause);
  if (!resource) return "";
  return ink === LIGHT ? " hatched deep" : " hatched";
}

export interface Share {
  cause: string;
  value: number;
}

/** Non-zero causes in display order, without the total. */
export function shares(causes: Causes | undefined): Share[] {
  return Object.entries(causes ?? {})
    .filter(([cause, value]) => cause !== "total" && (value ?? 0) > 0)
    .map(([cause, value]) => ({ cause, value: value ?? 0 }))
    .sort((a, b) => rank(a.cause) - rank(b.cause));
}

function rank(cause: string): number {
  const place = ORDER.indexOf(cause);
  return place < 0 ? ORDER.length : place;
}

export function sum(list: readonly Share[]): number {
  return list.reduce((total, share) => total + share.value, 0);
}

/** Every cause with a value in any of the tables, in display order. */
export function causesIn(...tables: (Causes | undefined)[]): string[] {
  const names = new Set(tables.flatMap((table) => shares(table).map((share) => share.cause)));
  return [...names].sort((a, b) => rank(a) - rank(b));
}
