import { h, section } from "../dom";
import { seconds, size } from "../format";
import { charts } from "./charts";
import { get } from "./connection";
import { controls } from "./controls";
import { health, tiles, totals, type Part } from "./figures";
import { maps } from "./maps";
import { DRIVE_PANELS } from "./panels";
import type { Live, Maps, State, View } from "./types";
import { waits } from "./waits";

/** Answers to a look at the maps. */
const MAPS_EVERY = 2;
/** Answers that are kept: percentiles of few requests reach back so far. */
export const KEPT = 11;

/** A served drive. `changed` is called when a command was given. */
export function driveView(changed: () => void): View {
  const lines = charts(DRIVE_PANELS);
  const blocks = maps();
  const name = h("span", { class: "num" });
  const facts = h("p", { class: "lead" });
  const [now, sums, wear, why, power] = [tiles(), totals(), health(), waits(), controls(changed)];
  const parts: readonly Part[] = [now, sums, wear, why, lines, power];
  const time = "By the clock of the server; latencies and queue depth are in the drive's simulated time.";
  const element = h(
    "div",
    {},
    h("p", { class: "headline" }, h("span", { class: "under" }, "stack"), name),
    facts,
    section(null, "now", "Now", null, now.element, sums.element),
    section(null, "time", "Over the last minutes", time, lines.element),
    section(null, "why", "Causes of waiting", "Mean time of a request in the last seconds, split by the direct cause of waiting.", why.element),
    section(null, "maps", "Maps of the drive", null, blocks.element),
    section(null, "health", "Health", null, wear.element),
    section(null, "power", "Power and faults", null, power.element),
  );
  let answers: Live[] = [];
  let turn = 0;
  const take = async (state: State): Promise<string> => {
    const live = state as Live;
    // Another server, whose sums begin anew.
    if (live.wall_s < (answers.at(-1)?.wall_s ?? 0)) {
      answers = [];
      lines.clear();
    }
    answers = [...answers, live].slice(-KEPT);
    name.textContent = live.stack;
    facts.textContent = `${size(live.bytes)}, served for ${seconds(Math.floor(live.wall_s))}. ${live.time.meaning}`;
    for (const part of parts) part.update(answers);
    if (turn % MAPS_EVERY === 0) blocks.update(await get<Maps>("maps.json"));
    turn += 1;
    return live.stack;
  };
  return { element, take };
}
