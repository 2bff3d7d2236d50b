import { causeInk, causeStyle } from "../causes";
import { h } from "../dom";
import { stepAbove } from "../axis";
import { axisTime, time } from "../format";

/** A piece of work on a track; times in ns since the request arrived. */
export interface Piece {
  track: string;
  begin: number;
  end: number;
  cause: string;
  work: string;
  pages: number;
  /** It is a command of the request itself. */
  own: boolean;
}

/** Zoom of one step, and share of the picture that an arrow key moves it. */
const STEP = 2;
const PAN = 0.25;
/** Pixels between two ticks at least, and a drag that is no press. */
const TICK_ROOM = 84;
const SLACK = 4;
/** Pixels: narrower pieces have no gap to the next. */
const THIN = 4;
/** The closest look, ns. */
const CLOSEST = 100;

/**
 * Tracks one below the other, time from left to right. Wheel with Ctrl, two fingers, the buttons or + and \u2212 zoom; dragging, or the
 * arrow keys with Shift, move; arrow keys go from piece to piece, and the line below says what it is. Nothing is known of the time
 * until `unknownUntil`.
 */
export function gantt(label: string, pieces: readonly Piece[], end: number, unknownUntil = 0): HTMLElement {
  return new Gantt(label, pieces, end, unknownUntil).element;
}

class Gantt {
  readonly element: HTMLElement;
  private readonly plot: HTMLElement;
  private readonly axis = h("div", { class: "gantt-axis", "aria-hidden": "true" });
  private readonly readout: HTMLElement;
  private readonly range = h("span", { class: "gantt-range" });
  private readonly blocks: { piece: Piece; block: HTMLElement }[] = [];
  private readonly unknown: HTMLElement[] = [];
  private readonly pointers = new Map<number, number>();
  private from = 0;
  private to: number;
  /** Place of the piece that is told of, in order of beginning. */
  private chosen = -1;

  constructor(
    label: string,
    pieces: readonly Piece[],
    private readonly end: number,
    private readonly unknownUntil: number,
  ) {
    this.to = end;
    const sorted = [...pieces].sort((a, b) => a.begin - b.begin);
    const tracks = [...new Set(pieces.map((piece) => piece.track))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    const rows = tracks.map((track) => {
      const row = h("div", { class: "gantt-row" });
      if (unknownUntil > 0) {
        const unknown = h("div", { class: "gantt-unknown", title: "not recorded" });
        row.append(unknown);
        this.unknown.push(unknown);
      }
      return { track, row };
    });
    for (const piece of sorted) {
      const block = this.block(piece);
      rows.find(({ track }) => track === piece.track)?.row.append(block);
      this.blocks.push({ piece, block });
    }
    this.readout = h("p", { class: "gantt-readout", role: "status" }, "Press a piece, or go from one to the next with the arrow keys.");
    this.plot = h(
      "div",
      { class: "gantt-plot", tabindex: 0, role: "group", "aria-roledescription": "picture", "aria-label": `${label}. Arrow keys go from piece to piece; plus and minus zoom; 0 shows all.` },
      this.axis,
      rows.map(({ row }) => row),
    );
    const button = (text: string, act: () => void): HTMLElement => {
      const key = h("button", { type: "button" }, text);
      key.addEventListener("click", act);
      return key;
    };
    this.element = h(
      "div",
      { class: "gantt" },
      h(
        "div",
        { class: "gantt-tools" },
        button("Zoom out", () => this.zoomIn(1 / STEP)),
        button("Zoom in", () => this.zoomIn(STEP)),
        button("Show all", () => this.show(0, this.end)),
        this.range,
      ),
      h(
        "div",
        { class: "gantt-frame" },
        h("div", { class: "gantt-names" }, h("div", { class: "gantt-axis" }), rows.map(({ track }) => h("div", { class: "gantt-name", title: track }, track.replace(/ \(.*/, "")))),
        this.plot,
      ),
      this.readout,
    );
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  private block(piece: Piece): HTMLElement {
    const work = piece.work === "mixed" ? `\u00d7${piece.pages}` : piece.work;
    const text = piece.own ? `its ${work}` : `${piece.cause} ${work}`;
    // Words that do not fit wrap to a line outside, as in bars.
    const block = h("div", { class: ["gantt-piece", piece.own && "own", piece.cause !== "host" && "inner"].filter(Boolean).join(" ") }, h("i"), h("span", {}, text));
    block.style.backgroundColor = `var(--${causeInk(piece.cause)})`;
    block.style.color = causeStyle(piece.cause).ink;
    return block;
  }

  private listen(): void {
    const { plot, pointers } = this;
    plot.addEventListener("keydown", (event) => this.press(event));
    plot.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        this.zoom(event.deltaY < 0 ? STEP ** 0.5 : STEP ** -0.5, this.at(event.clientX));
      },
      { passive: false },
    );
    let pressed = 0;
    plot.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, event.clientX);
      pressed = event.clientX;
    });
    plot.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (before === undefined) return;
      if (Math.abs(event.clientX - pressed) > SLACK) plot.setPointerCapture(event.pointerId);
      const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, x]) => x);
      pointers.set(event.pointerId, event.clientX);
      const [other] = others;
      if (other === undefined) return this.move(this.width(before - event.clientX));
      this.zoom(Math.abs(event.clientX - other) / Math.max(1, Math.abs(before - other)), this.at(other));
    });
    for (const name of ["pointerup", "pointercancel"] as const) {
      plot.addEventListener(name, (event) => {
        pointers.delete(event.pointerId);
        if (Math.abs(event.clientX - pressed) > SLACK) return;
        const target = (event.target as Element).closest(".gantt-piece");
        const place = this.blocks.findIndex(({ block }) => block === target);
        if (place >= 0) this.choose(place);
      });
    }
  }

  private press(event: KeyboardEvent): void {
    const step = (this.to - this.from) * PAN;
    const actions: Record<string, () => void> = {
      ArrowRight: () => (event.shiftKey ? this.move(step) : this.choose(this.chosen + 1)),
      ArrowLeft: () => (event.shiftKey ? this.move(-step) : this.choose(this.chosen - 1)),
      Home: () => this.choose(0),
      End: () => this.choose(this.blocks.length - 1),
      "+": () => this.zoomIn(STEP),
      "=": () => this.zoomIn(STEP),
      "-": () => this.zoomIn(1 / STEP),
      "0": () => this.show(0, this.end),
    };
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** Where to zoom: at the chosen piece, if one is. */
  private middle(): number {
    const piece = this.blocks[this.chosen]?.piece;
    return piece ? (Math.max(0, piece.begin) + piece.end) / 2 : (this.from + this.to) / 2;
  }

  private at(clientX: number): number {
    return this.from + this.width(clientX - this.plot.getBoundingClientRect().left);
  }

  private width(pixels: number): number {
    return (pixels / Math.max(1, this.plot.clientWidth)) * (this.to - this.from);
  }

  /** Zooms with what is of interest in the middle. */
  private zoomIn(by: number): void {
    const half = Math.max(CLOSEST, (this.to - this.from) / by) / 2;
    this.show(this.middle() - half, this.middle() + half);
  }

  private zoom(by: number, around: number): void {
    const width = Math.min(this.end, Math.max(CLOSEST, (this.to - this.from) / by));
    const share = (around - this.from) / (this.to - this.from);
    this.show(around - width * share, around + width * (1 - share));
  }

  private move(by: number): void {
    this.show(this.from + by, this.to + by);
  }

  private show(from: number, to: number): void {
    const width = Math.min(to - from, this.end);
    this.from = Math.max(0, Math.min(from, this.end - width));
    this.to = this.from + width;
    this.draw();
  }

  private choose(place: number): void {
    this.chosen = Math.max(0, Math.min(place, this.blocks.length - 1));
    const found = this.blocks[this.chosen];
    if (!found) return;
    const { piece } = found;
    if (piece.end < this.from || piece.begin > this.to) this.show(piece.begin - (this.to - this.from) / 2, piece.begin + (this.to - this.from) / 2);
    const whose = piece.own ? "of this request" : `for ${piece.cause}`;
    const work = piece.work === "mixed" ? "reads, programs and erases" : piece.work;
    const pages = piece.pages > 1 ? ` of ${piece.pages} pages` : "";
    const begin = piece.begin < 0 ? `${time(-piece.begin)} before it arrived` : `${time(piece.begin)} after it arrived`;
    this.readout.textContent = `${piece.track}: ${work}${pages} ${whose}, for ${time(piece.end - piece.begin)}, from ${begin}.`;
    this.draw();
  }

  private draw(): void {
    const { from, to, plot } = this;
    const scale = 100 / (to - from);
    this.blocks.forEach(({ piece, block }, place) => {
      const left = Math.max(piece.begin, from);
      const right = Math.min(piece.end, to);
      block.hidden = right <= left;
      block.style.left = `${(left - from) * scale}%`;
      block.style.width = `${(right - left) * scale}%`;
      block.classList.toggle("chosen", place === this.chosen);
      block.classList.toggle("thin", ((right - left) / (to - from)) * plot.clientWidth < THIN);
    });
    for (const part of this.unknown) part.style.width = `${Math.max(0, this.unknownUntil - from) * scale}%`;
    const ticks = Math.max(1, Math.floor(plot.clientWidth / TICK_ROOM));
    const step = stepAbove(Math.max(1, (to - from) / ticks));
    const marks: HTMLElement[] = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const mark = h("span", {}, at === 0 ? "arrival" : axisTime(at));
      mark.style.left = `${(at - from) * scale}%`;
      if ((at - from) * scale > 92) mark.classList.add("last");
      marks.push(mark);
    }
    this.axis.replaceChildren(...marks);
    this.range.textContent = from > 0 || to < this.end ? `${time(from)} to ${time(to)} of ${time(this.end)}` : `all ${time(this.end)}`;
  }
}
