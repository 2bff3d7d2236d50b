import { empty, h, section, type Child } from "../dom";
import { count, percent, seconds } from "../format";
import { table } from "../parts/table";
import { charts } from "./charts";
import { KEPT } from "./drive";
import { totals, type Part } from "./figures";
import { number } from "./numbers";
import { REQUEST_PANELS } from "./panels";
import type { Live, Progress, State, Table, View } from "./types";
import { waits } from "./waits";

/** How far it is, as a bar and in words. */
function bar(): { element: HTMLElement; update: (state: Progress) => void } {
  const gauge = h("progress", { "aria-label": "Part that is done" });
  const phase = h("strong", { "data-key": "phase" });
  const words = h("span");
  const done = number("done", count);
  const all = number("all", count);
  const speed = number("per_second", count);
  const left = number("left_s", seconds);
  const elapsed = number("elapsed_s", seconds);
  const element = h(
    "div",
    { class: "progress" },
    h("p", {}, phase, ": ", done.element, " of ", all.element, " ", words),
    gauge,
    h("p", { class: "lead" }, speed.element, " a second, ", left.element, " left of this phase, ", elapsed.element, " since it began"),
  );
  const update = (state: Progress): void => {
    phase.textContent = state.phase;
    done.set(state.done);
    all.set(state.all);
    speed.set(state.per_second);
    left.set(state.left_s === null ? null : Math.ceil(state.left_s));
    elapsed.set(Math.ceil(state.elapsed_s));
    words.textContent = state.all ? `${state.unit} (${percent(state.done / state.all)})` : state.unit;
    if (state.all) {
      gauge.max = state.all;
      gauge.value = state.done;
    } else {
      gauge.removeAttribute("value");
    }
  };
  return { element, update };
}

/** Combinations of a sweep, and what is recommended so far. */
function combinations(): { element: HTMLElement; update: (known: Table) => void } {
  const statuses = h("p");
  const said = h("div");
  const rows = h("div");
  let shown = "";
  const update = (known: Table): void => {
    const text = JSON.stringify(known);
    // A table that is read stays as it is until there is more in it.
    if (text === shown) return;
    shown = text;
    statuses.textContent = Object.entries(known.statuses).map(([status, runs]) => `${runs} ${status}`).join(", ");
    said.replaceChildren(...known.recommendations.map(({ panel, said: advice }) => h("p", {}, h("strong", {}, panel), ": ", advice)));
    const body = known.rows.map((row): Child[] => row.map((cell) => (cell === "*" ? "unbeaten" : cell)));
    const more = known.left_out > 0 ? empty(`${known.left_out} more combinations will be in summary.csv.`) : null;
    rows.replaceChildren(table("Combinations", known.head, body, { wide: true, short: true }));
    if (more) rows.append(more);
  };
  return { element: h("div", { class: "why" }, statuses, said, rows), update };
}

/** A run or a sweep under way. */
export function progressView(): View {
  const how = bar();
  const name = h("span", { class: "num" });
  const kind = h("span", { class: "under" });
  const [sums, why, lines] = [totals("Since the phase began"), waits(), charts(REQUEST_PANELS)];
  const parts: readonly Part[] = [sums, why, lines];
  const many = combinations();
  const time = "By the clock of the machine that simulates; latencies are in simulated time.";
  const measured = h(
    "div",
    {},
    section(null, "now", "So far", null, sums.element),
    section(null, "time", "Over the last minutes", time, lines.element),
    section(null, "why", "Causes of waiting", "Mean time of a request in the last seconds, split by the direct cause of waiting.", why.element),
  );
  const known = section(null, "sweep", "Runs so far", "As the sweep prints it at its end. Unbeaten designs are on the Pareto front so far.", many.element);
  const element = h("div", {}, h("p", { class: "headline" }, kind, name), section(null, "progress", "Progress", null, how.element), measured, known);
  let answers: Live[] = [];
  const take = async (state: State): Promise<string> => {
    const now = state as Progress;
    kind.textContent = now.kind;
    name.textContent = now.name;
    how.update(now);
    measured.hidden = now.kind !== "run";
    known.hidden = now.table === null;
    if (now.table) many.update(now.table);
    const last = answers.at(-1);
    if (now.measured && now.measured.wall_s !== last?.wall_s) {
      // Another phase begins with sums of its own.
      if (last && now.measured.simulated_ns < last.simulated_ns) {
        answers = [];
        lines.clear();
      }
      answers = [...answers, now.measured as Live].slice(-KEPT);
      for (const part of parts) part.update(answers);
    }
    return now.name;
  };
  return { element, take };
}
