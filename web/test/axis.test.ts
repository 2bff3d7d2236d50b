import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { linesFromZero, linesWithin, logEnds, logLines, step, STEPS, stepAbove } from "../src/axis";

interface Case {
  of: [number, number];
  ends?: [number, number];
  lines: number[];
}

interface Cases {
  steps: [number, number, number][];
  within: Case[];
  "from zero": Case[];
  logarithmic: Case[];
}

function alike(got: readonly number[], expected: readonly number[]): void {
  const rounded = (values: readonly number[]): number[] => values.map((value) => Number(value.toPrecision(9)));
  assert.deepEqual(rounded(got), rounded(expected));
}

test("lines of axes stand where those of figures and notebooks do", async () => {
  const cases = JSON.parse(await readFile("../crates/lab/figures/src/axis.json", "utf8")) as Cases;
  for (const [span, about, expected] of cases.steps) alike([step(span, about)], [expected]);
  for (const { of, lines } of cases.within) alike(linesWithin(...of), lines);
  for (const { of, ends, lines } of cases["from zero"]) {
    alike(linesFromZero(of[1]), lines);
    alike([lines[0] ?? NaN, lines.at(-1) ?? NaN], ends ?? of);
  }
  for (const { of, ends, lines } of cases.logarithmic) {
    alike(logEnds(...of), ends ?? of);
    alike(logLines(...logEnds(...of)), lines);
  }
});

test("distances grow in steps of 1, 2 and 5", () => {
  alike(STEPS.slice(0, 4), [1e-4, 2e-4, 5e-4, 1e-3]);
  alike([3, 5, 7, 10, 1200].map(stepAbove), [5, 5, 10, 10, 2000]);
});
