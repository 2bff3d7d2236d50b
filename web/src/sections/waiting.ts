import { requestsIn, service, servicePath, SLICES, slicesOf, waiting, waitingPath, type Blame, type Scope, type View } from "../breakdown";
import { causesIn, sum, type Share } from "../causes";
import { derived, empty, h, metric, section, type Child } from "../dom";
import { time } from "../format";
import { isCounted, tellsNoCauses } from "../latencies";
import { causeChip, causeLegend, causeMeanings } from "../parts/cause";
import { stackedBars, type Bar } from "../parts/stacked";
import { table } from "../parts/table";
import { toggle } from "../parts/toggle";
import type { Run, Slice } from "../types";

type Scale = "share" | "time";

interface Choice extends View {
  scale: Scale;
}

/** Why the tail is slow; with several runs their bars stand side by side under each slice of the requests. */
export function whySlow(runs: readonly Run[]): HTMLElement {
  const single = runs.length === 1 ? runs[0] : undefined;
  const choice: Choice = { scope: "both", blame: "root", scale: single ? "share" : "time" };
  const picture = h("div", { class: "why" });
  const draw = (): void => picture.replaceChildren(...drawing(runs, choice));
  const controls = h(
    "div",
    { class: "controls" },
    toggle<Scope>(
      "Requests",
      [
        { value: "both", label: "Both" },
        { value: "read", label: "Reads" },
        { value: "write", label: "Writes" },
        ...(runs.some((run) => requestsIn(run, "flush") > 0) ? [{ value: "flush" as const, label: "Flushes" }] : []),
      ],
      choice.scope,
      (scope) => {
        choice.scope = scope;
        draw();
      },
    ),
    toggle<Blame>(
      "Blame",
      [
        { value: "root", label: "Root cause" },
        { value: "direct", label: "Direct blocker" },
      ],
      choice.blame,
      (blame) => {
        choice.blame = blame;
        draw();
      },
    ),
    toggle<Scale>(
      "Bar length",
      [
        { value: "share", label: "Share" },
        { value: "time", label: "Time" },
      ],
      choice.scale,
      (scale) => {
        choice.scale = scale;
        draw();
      },
    ),
  );
  draw();
  return section(
    single ?? null,
    single ? "why" : "compare-why",
    single ? "Why the tail is slow" : "Why the tails are slow",
    "Mean time of a request, split by cause of waiting. A host command stuck behind another host command stuck behind gc has gc as its root cause and host as its direct blocker.",
    controls,
    picture,
    causeMeanings(allCauses(runs)),
  );
}

/** Every cause that some view of the bars names. */
function allCauses(runs: readonly Run[]): string[] {
  const tables = runs.flatMap(({ result }) => SLICES.flatMap(({ slice }) => [result.waiting?.[slice], result.waiting_root?.[slice]]));
  return ["service", ...causesIn(...tables)];
}

function drawing(runs: readonly Run[], choice: Choice): HTMLElement[] {
  const shown = runs.filter((run) => requestsIn(run, choice.scope) > 0 && !tellsNoCauses(run));
  if (shown.length === 0) {
    if (runs.every(isCounted)) return [empty("No time passes in these runs (engine.time = none): nothing waits.")];
    if (runs.every(tellsNoCauses)) return [empty("These runs did not record what requests wait for (engine.causes = false).")];
    return [empty(choice.scope === "both" ? "No reads or writes in this result." : `No ${choice.scope === "flush" ? "flushe" : choice.scope}s in this result.`)];
  }
  const several = runs.length > 1;
  const slices = slicesOf(shown, choice.scope);
  const parts = slices.map(({ slice }) => shown.map((run) => partsOf(run, choice, slice)));
  const longest = (groups: Share[][][]): number => Math.max(...groups.flat().map(sum), 0);
  const groups = slices.map(({ slice, label }, index) => {
    const sums = parts[index] ?? [];
    // Runs are compared within one slice; the slices of one run with each other.
    const full = longest(several ? [sums] : parts);
    const bars = shown.map((run, place) => barOf(run, choice, slice, several ? null : label, sums[place] ?? [], full));
    const rows = stackedBars(bars, time);
    return several ? h("div", { class: "bar-group" }, h("h3", {}, label), rows) : rows;
  });
  const names = causesIn(...parts.flat().map((list) => Object.fromEntries(list.map(({ cause, value }) => [cause, value]))));
  return [causeLegend(names), ...groups, numbers(shown, choice, names)];
}

function partsOf(run: Run, view: View, slice: Slice): Share[] {
  const own = service(run, view, slice);
  const list = waiting(run, view, slice);
  return own ? [{ cause: "service", value: own }, ...list] : list;
}

function barOf(run: Run, choice: Choice, slice: Slice, label: string | null, list: Share[], full: number): Bar {
  const total = sum(list);
  const what = service(run, choice, slice) === null ? "wait" : "mean";
  return {
    label: label ?? runLabel(run),
    spoken: label ?? run.name,
    shares: list,
    full: choice.scale === "share" ? total : full,
    total: [derived(run, `${waitingPath(choice, slice).join(".")}.total`, total, time), h("span", { class: "unit" }, what)],
  };
}

export function runLabel(run: Run): Child {
  return [h("span", { class: `tag s${run.index % 8}` }, run.letter), " ", run.short === run.name ? run.name : h("span", { title: run.name }, run.short)];
}

function numbers(runs: readonly Run[], view: View, names: readonly string[]): HTMLElement {
  const several = runs.length > 1;
  const columns = slicesOf(runs, view.scope).flatMap(({ slice, label }) => runs.map((run) => ({ run, slice, label })));
  const head = columns.map(({ run, label }): Child => (several ? [label, " ", h("span", { class: "tag" }, run.letter)] : label));
  const rows = names.map((cause): Child[] => [
    causeChip(cause),
    ...columns.map(({ run, slice }) =>
      metric(run, cause === "service" ? servicePath(view, slice) : [...waitingPath(view, slice), cause], time),
    ),
  ]);
  return h(
    "details",
    {},
    h("summary", {}, "Numbers behind the bars"),
    table("Mean time per request by cause", ["Cause", ...head], rows, { wide: several, short: !several }),
  );
}
