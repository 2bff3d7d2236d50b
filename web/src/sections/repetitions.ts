import { h, section, type Child } from "../dom";
import { NONE } from "../format";
import { table } from "../parts/table";
import type { RepeatedFigure, Run } from "../types";
import { runLabel } from "./waiting";

const WORDS: Record<string, string> = { higher: "\u2191 higher", lower: "\u2193 lower", "cannot be told": "cannot be told apart" };

/** Means of runs with several seeds, and ratios to the first run, with 95 % intervals; null where each stack was run once. */
export function repetitions(runs: readonly Run[]): HTMLElement | null {
  const count = runs[0]?.result.repeated?.count;
  if (!count) return null;
  const of = (run: Run): RepeatedFigure[] => run.result.repeated?.figures ?? [];
  const names = [...new Map(runs.flatMap((run) => of(run).map(({ metric, name }) => [metric, name]))).entries()];
  const rows = names.map(([metric, name]): Child[] => [name, ...runs.map((run) => cell(of(run).find((figure) => figure.metric === metric)))]);
  return section(
    null,
    "compare-repetitions",
    "Repetitions",
    `Each stack was run ${count} times, each time with other seeds, the same for all stacks. Means with halves of their 95\u202f% intervals; ratios to the first with their whole intervals, from pairs of runs with the same seeds. An interval that holds 1 tells no difference; of twenty figures that do not differ, one is told as different.`,
    table(`Figures of ${count} repetitions`, ["", ...runs.map((run): Child => runLabel(run))], rows, { wide: true }),
  );
}

function cell(figure: RepeatedFigure | undefined): Child {
  if (!figure) return NONE;
  const { ratio, differs, better } = figure;
  if (!ratio || !differs) return figure.shown;
  const tone = better === null ? "" : better ? " good" : " bad";
  return [
    figure.shown,
    h("div", { class: `repeated${tone}` }, `\u00d7${ratio.shown}, ${WORDS[differs] ?? differs}`),
  ];
}
