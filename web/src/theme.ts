/** Names of the palette: of reads and writes, and of what is one of several. */
export const READ = "series-0";
export const WRITE = "series-1";

export function seriesInk(index: number): string {
  return `series-${index % 8}`;
}

/** What the palette says now, by name: CSS variables do not reach what is drawn on a canvas. */
export function ink(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

let printing = false;
const listeners: (() => void)[] = [];

function announce(): void {
  for (const listener of listeners) listener();
}

function setPrinting(now: boolean): void {
  printing = now;
  document.documentElement.classList.toggle("on-paper", now);
  announce();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", announce);
// Canvases keep the pixels they were drawn with, so paper needs a redraw in light ink and at paper width.
addEventListener("beforeprint", () => {
  setPrinting(true);
});
addEventListener("afterprint", () => {
  setPrinting(false);
});

export function isPrinting(): boolean {
  return printing;
}

/** Calls back whenever canvas drawings must be redrawn in another ink or size. */
export function onRedraw(listener: () => void): void {
  listeners.push(listener);
}

/** Folded text is on paper too. */
export function openOnPaper(details: HTMLDetailsElement): void {
  let isOpened = false;
  onRedraw(() => {
    if (isPrinting() && !details.open) {
      isOpened = true;
      details.open = true;
    } else if (isOpened && !isPrinting()) {
      isOpened = false;
      details.open = false;
    }
  });
}
