/**
 * Where the lines of an axis stand: at 1, 2 and 5 times powers of ten. Figures (crates/lab/figures/src/axis.rs) and notebooks
 * (python/nandarium/_html.py) follow the same rules; axis.json beside axis.rs has cases that the tests of all three compare with.
 */

const DIGITS = [1, 2, 5, 10];
/** Distances of lines, of which a chart takes the least that its width has room for. */
export const STEPS: number[] = Array.from({ length: 60 }, (_, at) => (DIGITS[at % 3] ?? 1) * 10 ** (Math.floor(at / 3) - 4));

/** A distance that divides a span into about so many parts: for 5, into 4 to 7. */
export function step(span: number, about = 5): number {
  const rough = span / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const digit = rough / power;
  return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}

/** The least distance that is no less than another one. */
export function stepAbove(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * (DIGITS.find((digit) => digit * power >= least) ?? 10);
}

/** Round values from one value to another. */
export function linesWithin(from: number, to: number, about = 5): number[] {
  const apart = step(to - from, about);
  const first = Math.ceil(from / apart - 1e-9);
  const last = Math.floor(to / apart + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * apart);
}

/** The lines of an axis that begins at 0 and ends at the first line above all values. */
export function linesFromZero(most: number, about = 5): number[] {
  const apart = step(most, about);
  return Array.from({ length: Math.ceil(most / apart - 1e-9) + 1 }, (_, index) => index * apart);
}

/** 1, 2 and 5 times all powers of ten around some values. */
function lines(least: number, most: number): number[] {
  const [first, last] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most)) + 1];
  return Array.from({ length: last - first + 1 }, (_, power) => DIGITS.slice(0, 3).map((digit) => digit * 10 ** (first + power))).flat();
}

/** The ends of a logarithmic axis: the last line below all values, and the first one above. */
export function logEnds(least: number, most: number): [number, number] {
  const all = lines(least, most);
  const from = all.filter((line) => line <= least * (1 + 1e-9)).at(-1) ?? least;
  return [from, all.find((line) => line > from && line >= most * (1 - 1e-9)) ?? most];
}

/** The lines of a logarithmic axis: powers of ten alone where there would be more than some, and only some of those if need be. */
export function logLines(from: number, to: number, most = 9): number[] {
  const within = lines(from, to).filter((line) => line >= from * (1 - 1e-9) && line <= to * (1 + 1e-9));
  if (within.length <= most) return within;
  const powers = within.filter((line) => Math.abs(Math.log10(line) - Math.round(Math.log10(line))) < 1e-9);
  return powers.filter((_, index) => index % Math.ceil(powers.length / most) === 0);
}
