import { append, h, section } from "../dom";
import { seconds, size } from "../format";
import { charts } from "./charts";
import { get } from "./connection";
import { controls } from "./controls";
import { health, tiles, totals, type Part } from "./figures";
import { maps } from "./maps";
import type { Live, Maps } from "./types";
import { waits } from "./waits";

/** Milliseconds between two answers, and how much longer it may become when nobody answers. */
const EVERY = 1_000;
const LONGEST = 8_000;
/** Answers to a look at the maps. */
const MAPS_EVERY = 2;
/** Answers that are kept: percentiles of few requests reach back so far. */
const KEPT = 11;

interface Connection {
  element: HTMLElement;
  isPaused: () => boolean;
  fine: () => void;
  lost: (why: string) => void;
}

/** Whether numbers come, in words, and a button that stops them. */
function connection(): Connection {
  const said = h("span", { role: "status", "data-key": "connection" }, "Asking the server\u2026");
  const pause = h("button", { type: "button", class: "action", "aria-pressed": "false" }, "Pause");
  let paused = false;
  let since: Date | null = null;
  const fine = (): void => {
    since = null;
    said.classList.remove("bad");
    const text = paused ? "Paused." : "Live: a new number every second.";
    if (said.textContent !== text) said.textContent = text;
  };
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
    if (!since) fine();
  });
  const lost = (why: string): void => {
    if (since) return;
    since = new Date();
    said.classList.add("bad");
    said.textContent = `No answer since ${since.toLocaleTimeString("en-GB")} (${why}). The numbers are those of before; it is tried again and again.`;
  };
  return { element: h("p", { class: "connection" }, said, pause), isPaused: () => paused, fine, lost };
}

function begin(root: HTMLElement): void {
  const link = connection();
  const lines = charts();
  const blocks = maps();
  const name = h("span", { class: "num" });
  const facts = h("p", { class: "lead" });
  let soon = (): void => undefined;
  const parts: readonly Part[] = [tiles(), totals(), health(), waits(), lines, controls(() => soon())];
  const [now, sums, wear, why, , power] = parts;
  root.replaceChildren();
  append(root, [
    h("div", { class: "brand" }, h("h1", {}, h("span", { class: "logo", "aria-hidden": "true" }), "nandarium ", h("span", {}, "live"))),
    h("p", { class: "headline" }, h("span", { class: "under" }, "stack"), name),
    facts,
    link.element,
    section(null, "now", "Now", null, now?.element ?? null, sums?.element ?? null),
    section(null, "time", "Over the last minutes", "By the clock of the server; latencies and queue depth are in the drive's simulated time.", lines.element),
    section(null, "why", "What requests wait for", "Mean time of a request of the last seconds, split by what was directly in the way.", why?.element ?? null),
    section(null, "maps", "Maps of the drive", null, blocks.element),
    section(null, "health", "Health", null, wear?.element ?? null),
    section(null, "power", "Power and faults", null, power?.element ?? null),
  ]);
  let answers: Live[] = [];
  let turn = 0;
  let wait = EVERY;
  let timer = 0;
  const take = (live: Live): void => {
    // Another server, whose sums begin anew.
    if (live.wall_s < (answers.at(-1)?.wall_s ?? 0)) {
      answers = [];
      lines.clear();
    }
    answers = [...answers, live].slice(-KEPT);
    name.textContent = live.stack;
    facts.textContent = `${size(live.bytes)}, served for ${seconds(Math.floor(live.wall_s))}. ${live.time.meaning}`;
    document.title = `${live.stack}: nandarium live`;
    for (const part of parts) part.update(answers);
  };
  const look = async (): Promise<void> => {
    clearTimeout(timer);
    try {
      if (!link.isPaused() && !document.hidden) {
        take(await get<Live>("state.json"));
        if (turn % MAPS_EVERY === 0) blocks.update(await get<Maps>("maps.json"));
        turn += 1;
      }
      link.fine();
      wait = EVERY;
    } catch (error) {
      link.lost(error instanceof Error ? error.message : String(error));
      wait = Math.min(LONGEST, wait * 2);
    }
    timer = window.setTimeout(() => void look(), wait);
  };
  soon = () => void look();
  void look();
}

const root = document.getElementById("report");
if (root) begin(root);
