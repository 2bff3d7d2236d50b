import { causeName, causesIn, shares, sum, type Share } from "../causes";
import { append, empty, folded, h, section, type Child } from "../dom";
import { count, size, time } from "../format";
import { causeLegend } from "../parts/cause";
import { gantt, type Piece } from "../parts/gantt";
import { stackedBars } from "../parts/stacked";
import { table } from "../parts/table";
import { toggle } from "../parts/toggle";
import type { Closeup, Closeups, Op, Run } from "../types";

type Shown = "slowest" | "typical" | "all";

/** A share of the latency; less waiting is not told in the list. */
const WORTH_TELLING = 0.1;

const OPS: readonly Op[] = ["read", "write", "trim", "flush"];

/** Requests of one run, and a way to show the one whose latency is nearest to another. */
export interface Microscope {
  element: HTMLElement;
  /** Shows a request of about this latency, ns. */
  show: (op: Op, latency: number) => void;
}

/** Single requests: what went on from arrival to answer; null where the run looked at none. */
export function microscope(run: Run): Microscope | null {
  const { closeups } = run.result;
  if (!closeups || closeups.requests.length === 0) return null;
  return new Requests(run, closeups);
}

class Requests implements Microscope {
  readonly element: HTMLElement;
  private readonly list = h("div", { class: "request-list", role: "group", "aria-label": "Requests, the slowest first" });
  private readonly picture = h("div", { class: "request-picture" });
  private readonly controls = h("div", { class: "controls" });
  private readonly ops: readonly Op[];
  private op: Op;
  private shown: Shown = "slowest";
  private chosen: Closeup | null = null;

  constructor(
    run: Run,
    private readonly closeups: Closeups,
  ) {
    this.ops = OPS.filter((op) => closeups.requests.some((request) => request.op === op));
    this.op = this.ops[0] ?? "read";
    this.element = section(
      run,
      "requests",
      "Requests under the microscope",
      "Each bar is one request, split by the root cause of its waiting. The picture shows the work of its dies (or of all dies, if it used none) from its arrival to its answer. High pieces are commands of the host, low pieces the drive's own work, and outlined pieces belong to the request itself.",
      this.controls,
      h("div", { class: "requests" }, this.list, this.picture),
    );
    this.drawControls();
    this.drawList();
    this.list.addEventListener("keydown", (event) => this.press(event));
  }

  show(op: Op, latency: number): void {
    const of = this.closeups.requests.filter((request) => request.op === op);
    const distance = (request: Closeup): number => Math.abs(Math.log(Math.max(1, request.latency_ns) / Math.max(1, latency)));
    const nearest = of.reduce<Closeup | null>((best, request) => (best && distance(best) <= distance(request) ? best : request), null);
    if (!nearest) return;
    this.op = op;
    this.shown = nearest.role === "slowest" ? "slowest" : "all";
    this.chosen = nearest;
    this.drawControls();
    this.drawList();
    this.element.scrollIntoView({ block: "start" });
    this.list.querySelector<HTMLElement>("[aria-pressed=true]")?.focus({ preventScroll: true });
  }

  private drawControls(): void {
    const redraw = (): void => {
      this.chosen = null;
      this.drawList();
    };
    const labels: Record<Op, string> = { read: "Reads", write: "Writes", trim: "Trims", flush: "Flushes" };
    this.controls.replaceChildren(
      toggle<Op>(
        "Requests",
        this.ops.map((value) => ({ value, label: labels[value] })),
        this.op,
        (op) => {
          this.op = op;
          redraw();
        },
      ),
      toggle<Shown>(
        "Which",
        [
          { value: "slowest", label: "Slowest" },
          { value: "typical", label: "Typical" },
          { value: "all", label: "Some of every latency" },
        ],
        this.shown,
        (shown) => {
          this.shown = shown;
          redraw();
        },
      ),
    );
  }

  private listed(): Closeup[] {
    return this.closeups.requests.filter((request) => request.op === this.op && (this.shown === "all" || request.role === this.shown));
  }

  private drawList(): void {
    const listed = this.listed();
    const longest = Math.max(...listed.map((request) => request.latency_ns), 1);
    this.chosen ??= listed[0] ?? null;
    this.list.replaceChildren(
      ...listed.map((request) => {
        const parts = [{ cause: "service", value: own(request) }, ...waits(request)].filter(({ value }) => value > 0);
        const [bar] = stackedBars([{ label: "", spoken: "", shares: parts, full: longest, total: "" }], time).querySelectorAll(".track");
        bar?.setAttribute("aria-hidden", "true");
        bar?.removeAttribute("role");
        const key = h(
          "button",
          { type: "button", class: "request", "aria-pressed": request === this.chosen ? "true" : "false", tabindex: request === this.chosen ? 0 : -1 },
          h("span", { class: "request-latency" }, time(request.latency_ns)),
          bar,
          h("span", { class: "request-why" }, why(request)),
        );
        key.addEventListener("click", () => {
          this.chosen = request;
          this.drawChosen();
        });
        return key;
      }),
    );
    if (listed.length === 0) this.list.append(empty("None of this kind."));
    this.drawPicture();
  }

  private drawChosen(): void {
    const listed = this.listed();
    this.list.querySelectorAll("button").forEach((key, place) => {
      const isChosen = listed[place] === this.chosen;
      key.setAttribute("aria-pressed", String(isChosen));
      key.tabIndex = isChosen ? 0 : -1;
    });
    this.drawPicture();
  }

  private press(event: KeyboardEvent): void {
    const listed = this.listed();
    const here = this.chosen ? listed.indexOf(this.chosen) : 0;
    const places: Record<string, number> = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: listed.length - 1 };
    const place = places[event.key];
    const next = place === undefined ? undefined : listed[Math.max(0, Math.min(place, listed.length - 1))];
    if (!next) return;
    event.preventDefault();
    this.chosen = next;
    this.drawChosen();
    this.list.querySelector<HTMLElement>("[aria-pressed=true]")?.focus();
  }

  private drawPicture(): void {
    this.picture.replaceChildren();
    const request = this.chosen;
    if (!request) return;
    const pieces = piecesOf(this.closeups, request);
    const name = `${request.op === "flush" ? "Flush" : `${request.op[0]?.toUpperCase()}${request.op.slice(1)} of ${size(request.bytes)} at byte ${count(request.byte)}`}`;
    append(this.picture, [
      h("h3", {}, `${name}: ${time(request.latency_ns)}`),
      h("p", { class: "lead" }, sentence(request, pieces)),
      pieces.length > 0 ? [causeLegend(causesIn(Object.fromEntries(pieces.map((piece) => [piece.cause, 1])))), gantt(`${name}: work of the dies`, pieces, request.latency_ns, request.cut_short ? Math.min(...pieces.map((piece) => piece.begin)) : 0)] : null,
      pieces.length > 0 ? folded("The same as a table", () => numbers(pieces)) : null,
    ]);
  }
}

/** What it waited for, by root cause as everywhere on the page; nothing where that is not recorded. */
function waits(request: Closeup): Share[] {
  return shares(request.waited_root_ns ?? request.waited_ns ?? undefined);
}

function byTime(a: Share, b: Share): number {
  return b.value - a.value;
}

/** Latency that was no waiting; nothing where that is not known. */
function own(request: Closeup): number {
  return request.waited_ns ? Math.max(0, request.latency_ns - sum(waits(request))) : 0;
}

/** What it waited for most. */
function why(request: Closeup): Child {
  if (!request.waited_ns) return "causes not recorded";
  const [most] = waits(request).sort(byTime);
  if (!most || sum(waits(request)) < WORTH_TELLING * request.latency_ns) return "hardly any waiting";
  return `${Math.round((most.value / request.latency_ns) * 100)}\u202f% ${causeName(most.cause, "short")}`;
}

function sentence(request: Closeup, pieces: readonly Piece[]): string {
  const told = waits(request).sort(byTime).map(({ cause, value }) => `${time(value)} for ${causeName(cause, "behindFor")}`);
  const waited = told.length > 0 ? `it waited ${told.join(", ")}` : "it waited for nothing";
  const known = request.waited_ns ? `${waited}; ${time(own(request))} were its own work` : "causes of waiting were not recorded (engine.causes = false)";
  const parts = [`It arrived ${time(request.arrival_ns)} after the run began; ${known}.`];
  const [root] = waits(request).sort(byTime);
  const [direct] = shares(request.waited_ns ?? undefined).sort(byTime);
  if (request.waited_root_ns && root && direct && direct.cause !== root.cause) parts.push(`Causes are root causes; directly before it was mostly ${causeName(direct.cause, "short")} (${time(direct.value)}).`);
  if (pieces.length === 0) parts.push("No die worked in its time.");
  else if (!pieces.some((piece) => piece.own)) parts.push("It had no commands of its own on flash, or layers joined them with others': all dies that worked are shown.");
  if (request.cut_short) parts.push("The hatched beginning is not recorded: too much went on.");
  return parts.join(" ");
}

function piecesOf(closeups: Closeups, request: Closeup): Piece[] {
  const { slices } = request;
  return slices.ns.map((ns, at) => {
    const begin = slices.begin_ns[at] ?? 0;
    return {
      track: closeups.tracks[slices.track[at] ?? 0] ?? "?",
      begin,
      end: begin + ns,
      cause: slices.cause[at] ?? "",
      work: slices.work[at] ?? "",
      pages: slices.pages[at] ?? 1,
      own: slices.own[at] ?? false,
    };
  });
}

function numbers(pieces: readonly Piece[]): Child {
  const rows = pieces.map((piece): Child[] => [piece.track, piece.own ? "its own" : piece.cause, piece.work, count(piece.pages), time(piece.begin), time(piece.end - piece.begin)]);
  return table("Work of the dies; times since the request arrived", ["Die", "For", "Work", "Pages", "From", "For so long"], rows, { wide: true });
}
