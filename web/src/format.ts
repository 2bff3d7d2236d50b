import type { Num } from "./types";

/** Narrow no-break space: a number and its unit stay on one line. */
const GAP = "\u202f";
export const NONE = "\u2013";

export type Format = (value: Num | undefined) => string;

function isNumber(value: Num | undefined): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** Three significant digits without exponent: 0.0123, 1.23, 12.3, 123, 1,234. */
function significant(value: number): string {
  if (Math.abs(value) >= 99.95 || value === 0) return Math.round(value).toLocaleString("en-US");
  // The digits are those of the rounded number: 0.9996 is 1.00, not 1.000.
  const magnitude = Math.abs(Number(value.toPrecision(3)));
  const digits = magnitude >= 10 ? 1 : magnitude >= 1 ? 2 : Math.min(6, 2 - Math.floor(Math.log10(magnitude)));
  return value.toFixed(digits);
}

function scaled(value: number, base: number, units: readonly string[]): string {
  let unit = 0;
  let rest = value;
  // 999.5 would print as "1,000 \u00b5s" where "1.00 ms" is meant.
  while (Math.abs(rest) >= base - 0.5 && unit < units.length - 1) {
    rest /= base;
    unit += 1;
  }
  return `${unit === 0 ? significant(Math.round(rest * 1000) / 1000) : significant(rest)}${GAP}${units[unit]}`;
}

export const count: Format = (value) => (isNumber(value) ? Math.round(value).toLocaleString("en-US") : NONE);

export const plain: Format = (value) => (isNumber(value) ? significant(value) : NONE);

/** The ends and the middle of an interval, with the digits that the interval supports: as tables of the program have them. */
export function between(values: readonly [number, number, number]): [string, string, string] {
  const ratio = Math.max(values[0], values[2]) / Math.min(values[0], values[2]);
  const digits = ratio < 1.02 ? 4 : ratio < 1.2 ? 3 : 2;
  const [first, middle, last] = values.map((value) => {
    if (value <= 0) return "0";
    const rounded = Number(value.toPrecision(digits));
    const places = Math.max(0, digits - 1 - Math.floor(Math.log10(rounded)));
    return rounded.toLocaleString("en-US", { minimumFractionDigits: Math.min(places, 12), maximumFractionDigits: Math.min(places, 12) });
  });
  return [first ?? NONE, middle ?? NONE, last ?? NONE];
}

export const time: Format = (value) => {
  if (!isNumber(value)) return NONE;
  if (value === 0) return "0";
  if (Math.abs(value) < 1) return `${significant(value)}${GAP}ns`;
  return scaled(value, 1000, ["ns", "\u00b5s", "ms", "s"]);
};

export const seconds: Format = (value) => time(isNumber(value) ? value * 1e9 : value);

/** Transfer rates are decimal. */
export const rate: Format = (value) => (isNumber(value) ? scaled(value, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]) : NONE);

/** Sizes are binary. */
export const size: Format = (value) => (isNumber(value) ? scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]) : NONE);

export const factor: Format = (value) => {
  if (!isNumber(value)) return NONE;
  return value !== 0 && Math.abs(value) < 0.1 ? significant(value) : value.toFixed(2);
};

/** A share 0..1 as a percentage. */
export const percent: Format = (value) => {
  if (!isNumber(value)) return NONE;
  const shown = value * 100;
  const digits = shown !== 0 && shown !== 100 && (shown < 1 || shown > 99) ? 2 : shown < 10 ? 1 : 0;
  return `${shown.toFixed(shown === 0 ? 0 : digits)}${GAP}%`;
};

/** Short form for axes: 1.2k, 3M. */
export const compact: Format = (value) => {
  if (!isNumber(value)) return "";
  if (Math.abs(value) < 1000) return String(Number(value.toPrecision(3)));
  const unit = Math.min(4, Math.floor(Math.log10(Math.abs(value)) / 3));
  return `${Number((value / 1000 ** unit).toPrecision(3))}${["", "k", "M", "G", "T"][unit]}`;
};

/** Short time for axes: "5 ms", never "5.00 ms". */
export const axisTime: Format = (value) => {
  if (!isNumber(value)) return "";
  if (value === 0) return "0";
  const unit = Math.max(0, Math.min(3, Math.floor(Math.log10(Math.abs(value)) / 3 + 1e-9)));
  return `${Number((value / 1000 ** unit).toPrecision(4))}${GAP}${["ns", "\u00b5s", "ms", "s"][unit]}`;
};
