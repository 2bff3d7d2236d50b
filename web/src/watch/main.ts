import { append, h } from "../dom";
import { get } from "./connection";
import { driveView } from "./drive";
import { progressView } from "./progress";
import type { State, View } from "./types";

/** Milliseconds between two answers, and how much longer it may become when nobody answers. */
const EVERY = 1_000;
const LONGEST = 8_000;

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
    said.textContent = `No answer since ${since.toLocaleTimeString("en-GB")} (${why}). The numbers are old. The watched run may have ended. It is tried again and again.`;
  };
  return { element: h("p", { class: "connection" }, said, pause), isPaused: () => paused, fine, lost };
}

/** Why there was no answer; browsers have words of their own for what never reached a server. */
function reason(error: unknown): string {
  if (error instanceof TypeError) return "it cannot be reached";
  if (error instanceof DOMException) return "it takes too long";
  return error instanceof Error ? error.message : String(error);
}

function begin(root: HTMLElement): void {
  const link = connection();
  const place = h("div");
  root.replaceChildren();
  append(root, [
    h("div", { class: "brand" }, h("h1", {}, h("i", { class: "logo", "aria-hidden": "true" }), "nandarium ", h("span", {}, "live"))),
    link.element,
    place,
  ]);
  let soon = (): void => undefined;
  let view: View | null = null;
  let kind = "";
  let wait = EVERY;
  let timer = 0;
  const look = async (): Promise<void> => {
    clearTimeout(timer);
    try {
      if (!link.isPaused() && !document.hidden) {
        const state = await get<State>("state.json");
        // Another kind of work may be watched on the port that was free.
        if (!view || state.schema !== kind) {
          kind = state.schema;
          view = kind.startsWith("nandarium.progress/") ? progressView() : driveView(() => soon());
          place.replaceChildren(view.element);
        }
        document.title = `${await view.take(state)}: nandarium live`;
      }
      link.fine();
      wait = EVERY;
    } catch (error) {
      link.lost(reason(error));
      wait = Math.min(LONGEST, wait * 2);
    }
    timer = window.setTimeout(() => void look(), wait);
  };
  soon = () => void look();
  void look();
}

const root = document.getElementById("report");
if (root) begin(root);
