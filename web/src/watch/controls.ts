import { h } from "../dom";
import { command } from "./connection";
import type { Part } from "./figures";
import type { Live } from "./types";

const FAULTS: readonly { kind: string; label: string; unit: string; example: string }[] = [
  { kind: "die", label: "A die answers nothing any more", unit: "number of the die", example: "0" },
  { kind: "channel", label: "All dies of a channel answer nothing", unit: "number of the channel", example: "0" },
  { kind: "block", label: "A block cannot be read any more", unit: "number of the block", example: "0" },
  { kind: "reads", label: "New pages turn out unreadable", unit: "chance in percent, 0 to end it", example: "0.1" },
  { kind: "programs", label: "Programs fail with a chance", unit: "chance in percent, 0 to end it", example: "1" },
  { kind: "erases", label: "Erases fail with a chance", unit: "chance in percent, 0 to end it", example: "1" },
  { kind: "stall", label: "No answers for a time", unit: "time, requests and clauses", example: "200ms writes every 2s" },
  { kind: "slow", label: "Requests take longer", unit: "factor, requests and clauses", example: "x10 for 30s" },
  { kind: "fail", label: "Requests fail with EIO", unit: "requests and clauses", example: "flushes count 1" },
  { kind: "full", label: "Writes are refused with ENOSPC", unit: "clauses", example: "for 10s" },
  { kind: "flip", label: "A bit is flipped", unit: "requests and clauses", example: "writes share 1%" },
  { kind: "misdirect", label: "Requests go to another place", unit: "requests and clauses", example: "writes count 1" },
  { kind: "lose", label: "Requests are answered and not done", unit: "requests and clauses", example: "writes share 1%" },
  { kind: "stale", label: "Reads bring older data", unit: "clauses", example: "share 1%" },
  { kind: "cut-unreadable", label: "Cut: unflushed sectors unreadable", unit: "clauses", example: "share 20%" },
  { kind: "cut-zeros", label: "Cut: unflushed sectors are zeros", unit: "clauses", example: "share 20%" },
  { kind: "cut-garbage", label: "Cut: unflushed sectors random", unit: "clauses", example: "share 20%" },
  { kind: "cut-old", label: "Cut: unflushed sectors are older", unit: "clauses", example: "share 20% unit 1MiB" },
  { kind: "off", label: "End all faults and chances", unit: "nothing", example: "" },
];

/** Asks before something is done that cannot be undone. */
function confirmation(): { element: HTMLDialogElement; ask: (question: string, yes: string) => Promise<boolean> } {
  const text = h("p", { id: "question" });
  const yes = h("button", { type: "button", class: "action danger" });
  const no = h("button", { type: "button", class: "action" }, "Leave it");
  const element = h("dialog", { "aria-labelledby": "question" }, text, h("div", { class: "actions" }, yes, no));
  let answer = (_: boolean): void => undefined;
  const close = (value: boolean) => (): void => {
    element.close();
    answer(value);
  };
  yes.addEventListener("click", close(true));
  no.addEventListener("click", close(false));
  element.addEventListener("cancel", () => answer(false));
  const ask = (question: string, label: string): Promise<boolean> => {
    text.textContent = question;
    yes.textContent = label;
    element.showModal();
    no.focus();
    return new Promise((resolve) => {
      answer = resolve;
    });
  };
  return { element, ask };
}

/** What was done, in a sentence. */
function told(done: unknown): string {
  const { power, problem, fault, power_cuts: cuts } = done as { power?: string; problem?: string | null; fault?: string; power_cuts?: number };
  if (problem) return `Power was cut, and the drive did not come back: ${problem}`;
  if (power === "cut and back") return `Power was cut and is back; cuts since the server began: ${cuts ?? "?"}. Clients have to connect again.`;
  if (power === "off") return "Power is off: every request fails until it is on again.";
  if (power === "on") return "Power is on.";
  return `Done: ${fault ?? JSON.stringify(done)}.`;
}

/** Buttons for power and faults; what came of them is spoken. `changed` is called when something was done. */
export function controls(changed: () => void): Part {
  const dialog = confirmation();
  const said = h("p", { class: "said", role: "status", "data-key": "said" });
  const seed = h("input", { id: "seed", type: "number", min: 0, step: 1, value: 0 });
  const state = h("strong", { "data-key": "power" });
  const buttons: HTMLButtonElement[] = [];
  const run = async (line: string, question: string | null, yes: string): Promise<void> => {
    if (question !== null && !(await dialog.ask(question, yes))) return;
    for (const button of buttons) button.setAttribute("aria-disabled", "true");
    said.classList.remove("bad");
    said.textContent = "Being done\u2026";
    try {
      said.textContent = told(await command(line));
    } catch (error) {
      said.classList.add("bad");
      said.textContent = `Not done: ${error instanceof Error ? error.message : String(error)}`;
    }
    for (const button of buttons) button.removeAttribute("aria-disabled");
    changed();
  };
  const button = (label: string, kind: string, act: () => Promise<void>): HTMLButtonElement => {
    const made = h("button", { type: "button", class: kind }, label);
    made.addEventListener("click", () => {
      if (made.getAttribute("aria-disabled") !== "true") void act();
    });
    buttons.push(made);
    return made;
  };
  const seeded = (verb: string): string => `${verb} ${seed.value.trim() || "0"}`;
  const lost = "Clients are disconnected, and data that they had not flushed may be lost.";
  const cut = button("Cut power", "action danger", () => run(seeded("power-cut"), `Cut power now, and bring it back at once? ${lost}`, "Cut power"));
  const off = button("Power off", "action danger", () => run(seeded("power-off"), `Cut power now, until it is switched on again? ${lost}`, "Power off"));
  const on = button("Power on", "action", () => run("power-on", null, ""));
  const kind = h("select", { id: "fault" }, FAULTS.map((fault) => h("option", { value: fault.kind }, fault.label)));
  const amount = h("input", { id: "amount", type: "number", min: 0, step: "any", value: 0 });
  const unit = h("label", { for: "amount" });
  const chosen = (): (typeof FAULTS)[number] | undefined => FAULTS.find((fault) => fault.kind === kind.value);
  const show = (): void => {
    const words = chosen()?.unit ?? "";
    unit.textContent = words;
    amount.type = words.startsWith("chance") || words.startsWith("number") ? "number" : "text";
    amount.value = chosen()?.example ?? "0";
  };
  kind.addEventListener("change", show);
  show();
  const fail = button("Let it fail", "action danger", () => {
    const percent = chosen()?.unit.startsWith("chance") ? "%" : "";
    const line = `fault ${kind.value} ${amount.value.trim()}${percent}`.trim();
    return run(line, `${chosen()?.label ?? ""}: ${amount.value.trim()}${percent}. Let it fail? Broken parts stay broken.`, "Let it fail");
  });
  const element = h(
    "div",
    { class: "switches" },
    h("p", {}, "Power is ", state, "."),
    h("div", { class: "actions" }, cut, off, on, h("span", { class: "field" }, h("label", { for: "seed" }, "seed of the state that a cut leaves"), seed)),
    h("div", { class: "actions" }, h("span", { class: "field" }, h("label", { for: "fault" }, "fault"), kind), h("span", { class: "field" }, unit, amount), fail),
    said,
    dialog.element,
  );
  const update = (answers: readonly Live[]): void => {
    const power = answers.at(-1)?.power_on ? "on" : "off";
    if (state.textContent !== power) state.textContent = power;
  };
  return { element, update };
}
