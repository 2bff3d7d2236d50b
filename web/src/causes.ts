import ADVICE from "../../crates/lab/compare/src/advice.json";
import type { Causes, Result } from "./types";

/** Something a person can try against a cause, and where it can help. */
export interface Advice {
  /** What to change, as it follows "Try". */
  change: string;
  /** The configuration key that changes it. */
  key: string;
  /** Values of the key that leave nothing to be tried. */
  unless?: readonly string[];
  /** Name of the runs in which it can help; without it, in any. */
  fits?: string;
  /** The operation that it makes faster, which the run has to have; without it, any. */
  operation?: string;
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
}

const DARK = "var(--letters-dark)";
const LIGHT = "var(--letters-light)";

/** Where advice can help, by the name in the table that the program shares. */
const FITS: Record<string, (result: Result) => boolean> = {
  "open loop": ({ workload }) => workload.loop === "open",
  "closed loop": ({ workload }) => workload.loop === "closed",
  // Where collection only erases, neither spare space nor the choice of a victim spares it work.
  copies: ({ flash }) => (flash.programs["gc"] ?? 0) > 0,
  programs: ({ flash }) => Object.values(flash.programs).some((programs) => (programs ?? 0) > 0),
};

const STYLES: Record<string, CauseStyle> = {
  service: {
    ink: DARK,
    meaning: "Latency that was no waiting: the request's own commands and transfers.",
  },
  host: {
    ink: DARK,
    meaning: "Pages that the host asked for: other requests were on the same die.",
  },
  gc: {
    ink: LIGHT,
    meaning: "Garbage collection: copying the valid pages of a block elsewhere and erasing it.",
  },
  merge: {
    ink: DARK,
    meaning: "Merge of log and data blocks in a hybrid mapping.",
  },
  mapping: {
    ink: DARK,
    meaning: "Reads and programs of translation pages.",
  },
  padding: {
    ink: DARK,
    meaning: "Reads and programs that complete a page or block around host data.",
  },
  parity: {
    ink: DARK,
    meaning: "Parity reads and programs, commits included.",
  },
  code: {
    ink: DARK,
    meaning: "Code blocks of a coded stripe.",
  },
  metadata: {
    ink: LIGHT,
    meaning: "The drive's own records, such as tombstones, journals and checkpoints.",
  },
  wear: {
    ink: LIGHT,
    meaning: "Wear levelling, and relocation from failing blocks.",
  },
  rebuild: {
    ink: DARK,
    meaning: "Reconstruction after a die or channel was lost.",
  },
  fold: {
    ink: DARK,
    meaning: "Folding: valid pages of blocks with one bit a cell (SLC cache) move into blocks with all bits.",
  },
  retry: {
    ink: DARK,
    meaning: "Reading pages again whose errors could not be corrected at once.",
  },
  refresh: {
    ink: LIGHT,
    meaning: "Writing blocks anew that were read too often or are too old.",
  },
  bus: {
    ink: DARK,
    meaning: "The channel was moving another die's data.",
    resource: true,
  },
  queue: {
    ink: DARK,
    meaning: "Before the drive took the request, in the host's queue, or behind others inside a layer.",
    resource: true,
  },
  link: {
    ink: LIGHT,
    meaning: "The host link was moving the data of other requests.",
    resource: true,
  },
  firmware: {
    ink: LIGHT,
    meaning: "The cores of the controller were busy with other requests.",
    resource: true,
  },
  space: {
    ink: LIGHT,
    words: { name: "waiting for a free block", short: "free block", behindFor: "a free block" },
    meaning: "No free block: the drive had to reclaim space first.",
    resource: true,
  },
};

const UNKNOWN: CauseStyle = { ink: DARK, meaning: "" };

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

/** What makes less of a cause in such a run, most promising first. */
export function adviceOn(cause: string, result: Result): Advice[] {
  const all = (ADVICE as Record<string, Advice[]>)[cause] ?? [];
  const served = new Map<string, number>((["read", "write"] as const).map((op) => [op, result.latency_ns[op]?.count ?? 0]));
  return all.filter(({ fits, operation }) => (!fits || (FITS[fits]?.(result) ?? false)) && (!operation || (served.get(operation) ?? 0) > 0));
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
