/** Ink for canvas drawings, which CSS variables do not reach. */
export interface Ink {
  text: string;
  grid: string;
  read: string;
  write: string;
  host: string;
  gc: string;
  runs: readonly string[];
}

const LIGHT: Ink = {
  text: "#566372",
  grid: "#e4e8ec",
  read: "#1769aa",
  write: "#c77800",
  host: "#7892ad",
  gc: "#c8371f",
  runs: ["#1769aa", "#d0432c", "#0b8a68", "#8a5fc0", "#a87b00", "#c2548f", "#3e4a57", "#3aa0c9"],
};

const DARK: Ink = {
  text: "#9aa7b4",
  grid: "#28313b",
  read: "#6bb1f2",
  write: "#f0a63a",
  host: "#7892ad",
  gc: "#e0583f",
  runs: ["#6bb1f2", "#f0806a", "#3cc7a0", "#b99be8", "#e0bd4a", "#ea8fbf", "#b8c2cc", "#7cd3f0"],
};

const darkQuery = matchMedia("(prefers-color-scheme: dark)");
let printing = false;
const listeners: (() => void)[] = [];

function announce(): void {
  for (const listener of listeners) listener();
}

darkQuery.addEventListener("change", announce);
// Canvases keep the pixels they were drawn with, so paper needs a redraw in light ink and at paper width.
addEventListener("beforeprint", () => {
  printing = true;
  announce();
});
addEventListener("afterprint", () => {
  printing = false;
  announce();
});

export function isPrinting(): boolean {
  return printing;
}

export function ink(): Ink {
  return darkQuery.matches && !printing ? DARK : LIGHT;
}

export function runColor(index: number): string {
  const { runs } = ink();
  return runs[index % runs.length] ?? runs[0] ?? "";
}

/** Calls back whenever canvas drawings must be redrawn in another ink or size. */
export function onRedraw(listener: () => void): void {
  listeners.push(listener);
}
