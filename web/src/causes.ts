import type { Causes } from "./types";

interface CauseStyle {
  /** Mid-tones that hold on white and on near-black; the hue belongs to the cause in every picture. */
  color: string;
  /** Ink readable on `color`. */
  ink: string;
  meaning: string;
  /** Waits for a shared resource rather than behind a flash command; hatched, so hue is not the only mark. */
  resource?: true;
}

const DARK = "#10161d";
const LIGHT = "#ffffff";

const STYLES: Record<string, CauseStyle> = {
  service: { color: "#c9d1d9", ink: DARK, meaning: "The request's own flash and transfer time: no waiting" },
  host: { color: "#7892ad", ink: DARK, meaning: "Other host commands on the same die" },
  gc: { color: "#c8371f", ink: LIGHT, meaning: "Garbage collection: copies of valid pages and erases" },
  merge: { color: "#d58ab8", ink: DARK, meaning: "Merges of log and data blocks" },
  mapping: { color: "#5ab4e5", ink: DARK, meaning: "Translation pages of a demand-paged map" },
  padding: { color: "#e2cf4e", ink: DARK, meaning: "Reads and programs that complete a block or page" },
  parity: { color: "#0f9d77", ink: DARK, meaning: "Parity reads and programs, commits included" },
  code: { color: "#94a03a", ink: DARK, meaning: "Code blocks of a coded stripe" },
  metadata: { color: "#8a6cc2", ink: LIGHT, meaning: "The drive's own records: journals, tombstones, checkpoints" },
  wear: { color: "#8c2d5e", ink: LIGHT, meaning: "Wear levelling and relocation from failing blocks" },
  rebuild: { color: "#eba12f", ink: DARK, meaning: "Reconstruction after a die or channel was lost" },
  bus: { color: "#8f98a3", ink: DARK, meaning: "The channel or host link was busy", resource: true },
  queue: { color: "#b3a18c", ink: DARK, meaning: "No free slot in a queue", resource: true },
  space: { color: "#66707c", ink: LIGHT, meaning: "No free block or buffer page", resource: true },
};

const UNKNOWN: CauseStyle = { color: "#9aa0a6", ink: DARK, meaning: "" };

/** Display order of causes; one this page does not know follows at the end. */
const ORDER = Object.keys(STYLES);

/** Every cause this page knows, in display order. */
export const CAUSES: readonly string[] = ORDER;

export function causeStyle(cause: string): CauseStyle {
  return STYLES[cause] ?? UNKNOWN;
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
