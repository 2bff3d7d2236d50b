import { decoded, FORM, type RawResult } from "./decode";
import { append, h, type Child } from "./dom";
import { tabs } from "./parts/tabs";
import { amplification } from "./sections/amplification";
import { comparison } from "./sections/comparison";
import { configuration, differences } from "./sections/configuration";
import { figures } from "./sections/figures";
import { header, noteList } from "./sections/header";
import { heatmaps } from "./sections/heatmaps";
import { latency, overlaidLatency } from "./sections/latency";
import { lives } from "./sections/lives";
import { memory } from "./sections/memory";
import { worstOfAll } from "./sections/moment";
import { opening } from "./sections/opening";
import { microscope } from "./sections/requests";
import { provenance } from "./sections/provenance";
import { timeline } from "./sections/timeline";
import { dots, verdict, type Answer } from "./sections/verdict";
import { runLabel, whySlow } from "./sections/waiting";
import { cutNames } from "./names";
import { openOnPaper } from "./theme";
import type { Run } from "./types";

const CONTENTS: readonly [id: string, label: string][] = [
  ["figures", "Key figures"],
  ["why", "Why slow"],
  ["latency", "Latency"],
  ["requests", "Requests"],
  ["timeline", "Over time"],
  ["amplification", "Amplification"],
  ["maps", "Maps"],
  ["memory", "Memory"],
  ["configuration", "Configuration"],
  ["provenance", "Origin"],
];

function letter(index: number): string {
  return index < 26 ? String.fromCharCode(65 + index) : String(index + 1);
}

function details(run: Run): HTMLElement {
  const requests = microscope(run);
  return h(
    "div",
    { class: "run" },
    header(run),
    h(
      "nav",
      { class: "contents", "aria-label": `Sections of ${run.name}` },
      CONTENTS.filter(([id]) => (id !== "provenance" || run.result.provenance) && (id !== "requests" || requests)).map(([id, label]) => h("a", { href: `#run-${run.index}-${id}` }, label)),
    ),
    figures(run),
    whySlow([run]),
    latency(run, requests?.show.bind(requests) ?? null),
    requests?.element,
    timeline(run, requests?.show.bind(requests) ?? null),
    amplification(run),
    heatmaps(run),
    memory(run),
    configuration(run),
    provenance(run),
  );
}

/** Each run against the first in sentences, folded: the dots show the same. */
function inWords(runs: readonly Run[]): HTMLElement {
  const list = h("details", { class: "sentences" }, h("summary", {}, "The same in words"), opening(runs));
  openOnPaper(list);
  return list;
}

/** The full report of each run, folded: the comparison is above it. */
function reports(runs: readonly Run[]): HTMLElement {
  const folded = h(
    "details",
    { class: "reports", id: "reports" },
    h("summary", {}, h("h2", {}, "The full report of each run")),
    tabs(
      "Runs",
      runs.map((run) => ({ label: runLabel(run), panel: details(run) })),
    ),
  );
  openOnPaper(folded);
  return folded;
}

function brand(text: string): HTMLElement {
  return h(
    "div",
    { class: "brand" },
    h("h1", {}, h("i", { class: "logo", "aria-hidden": "true" }), "nandarium ", h("span", {}, text)),
  );
}

/** What the program fills in. */
interface Data {
  results: RawResult[];
  /** What is to be said of all runs together. */
  notes?: string[];
  /** What a comparison of lives answers. */
  answer?: Answer | null;
}

function page({ results, notes = [], answer = null }: Data): Child[] {
  const foreign = results.find((result) => result.schema !== FORM);
  if (foreign) {
    return [brand("report"), h("p", { class: "empty" }, `This page reads results of the form ${FORM}, and this one is ${foreign.schema}. Render it again with "nandarium report".`)];
  }
  const names = cutNames(results.map(({ stack }) => stack));
  const runs = results.map(decoded).map((result, index): Run => ({ index, letter: letter(index), name: result.stack, short: names[index] ?? result.stack, result }));
  const [only] = runs;
  if (!only) return [brand("report"), h("p", { class: "empty" }, "This report holds no result.")];
  if (runs.length === 1) return [brand("run report"), details(only)];
  return [
    brand(`comparison of ${runs.length} runs`),
    verdict(runs, answer),
    lives(runs, notes) ?? noteList(notes, false),
    dots(runs),
    inWords(runs),
    comparison(runs),
    whySlow(runs),
    overlaidLatency(runs),
    worstOfAll(runs),
    differences(runs),
    reports(runs),
  ];
}

const data = document.getElementById("results")?.textContent ?? "";
const root = document.getElementById("report");
if (root) {
  root.replaceChildren();
  append(root, page(JSON.parse(data) as Data));
}
