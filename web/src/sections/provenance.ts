import { h, section, type Child } from "../dom";
import { size } from "../format";
import type { Provenance, Run } from "../types";

/** Letters of a digest that are shown; the title has all of it. */
const DIGEST = 12;

/** What the run was made by and from; null where the file does not tell (older ones). */
export function provenance(run: Run): HTMLElement | null {
  const { provenance: known } = run.result;
  if (!known) return null;
  const facts: [string, Child][] = [["Program", `nandarium ${known.version}`]];
  if (known.workload) facts.push(["Workload", [h("code", {}, known.workload.path), `, ${size(known.workload.bytes)}, `, digest(known.workload.sha256)]]);
  if (known.stack) facts.push(["Stack", [h("code", {}, known.stack.path), ", ", digest(known.stack.sha256)]]);
  return section(
    run,
    "provenance",
    "Where this comes from",
    null,
    command(known),
    h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
  );
}

function digest(sha256: string): Child {
  return ["SHA-256 ", h("code", { title: sha256, "data-digest": sha256 }, `${sha256.slice(0, DIGEST)}\u2026`)];
}

/** The command line with a button that copies it; a press on the line itself selects all of it. */
function command({ command: words }: Provenance): Child {
  if (!words || words.length === 0) return null;
  const line = h("code", { class: "command", tabindex: 0 }, words.map(quoted).join(" "));
  const button = h("button", { type: "button", class: "copy" }, "Copy");
  const said = h("span", { role: "status", class: "copied" });
  button.addEventListener("click", () => void copy(line, said));
  return h("div", { class: "command-line" }, line, button, said);
}

async function copy(line: HTMLElement, said: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(line.textContent ?? "");
    said.textContent = "Copied";
  } catch {
    // Without permission, or from a place the browser does not trust: what is selected can be copied by hand.
    getSelection()?.selectAllChildren(line);
    said.textContent = "Selected: copy it with the keyboard";
  }
}

/** A word as a shell takes it back. */
function quoted(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
