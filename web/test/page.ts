/** Builds report pages the way the command line does, and opens them in a browser without a network. */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type BrowserContext, type Page } from "playwright-core";
import type { Result } from "../src/types";
import { encoded } from "./encode";

const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const MISSING = existsSync(CHROMIUM)
  ? false
  : `no browser at ${CHROMIUM}: install chromium (apt-get install chromium) or set CHROMIUM to its path`;

export interface Viewport {
  width: number;
  height: number;
  scheme: "light" | "dark";
}

/** A text drawn on a canvas, in its pixels. */
export interface Drawn {
  text: string;
  /** Which canvas, in the order of their first text. */
  canvas: number;
  box: { left: number; right: number; top: number; bottom: number };
  within: { width: number; height: number };
}

/** Runs in the page before its own script: remembers what is written on canvases, where nothing else tells of it. */
function rememberTexts(): void {
  const canvases: HTMLCanvasElement[] = [];
  const drawn: Drawn[] = [];
  Object.assign(window, { drawnTexts: drawn });
  const original = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text: string, x: number, y: number, ...rest: [number?]) {
    const { width, actualBoundingBoxAscent: ascent, actualBoundingBoxDescent: descent } = this.measureText(text);
    const from = { right: -width, end: -width, center: -width / 2, left: 0, start: 0 }[this.textAlign];
    const { e, f } = this.getTransform();
    if (!canvases.includes(this.canvas)) canvases.push(this.canvas);
    drawn.push({
      text,
      canvas: canvases.indexOf(this.canvas),
      box: { left: x + e + from, right: x + e + from + width, top: y + f - ascent, bottom: y + f + descent },
      within: { width: this.canvas.width, height: this.canvas.height },
    });
    original.call(this, text, x, y, ...rest);
  };
}

export interface Opened {
  page: Page;
  /** Console errors and warnings, page errors, and requests that would have left the machine. */
  complaints: string[];
}

export async function writePage(folder: string, name: string, results: Result[], notes: string[] = [], answer: object | null = null, kind = "pages"): Promise<string> {
  const [template, css, js] = await Promise.all(
    ["template.html", "report.css", "report.js"].map((file) => readFile(join("../crates/front/cli", kind, file), "utf8")),
  );
  const json = JSON.stringify({ results: results.map(encoded), notes, answer }).replaceAll("<", "\\u003c");
  const page = (template ?? "")
    .replace("<!--TITLE-->", () => "nandarium report")
    .replace("/*CSS*/", () => css ?? "")
    .replace("/*RESULTS*/", () => json)
    .replace("/*JS*/", () => js ?? "");
  const file = join(folder, name);
  await writeFile(file, page);
  return file;
}

/** Unfolds the full reports of a comparison, and waits until they are drawn; nothing on the page of one run. */
export async function unfold(page: Page): Promise<void> {
  await page.evaluate(() => document.querySelector<HTMLDetailsElement>("#reports")?.setAttribute("open", ""));
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** One browser with a profile of its own, closed and deleted by `close`. */
export class Browser {
  private constructor(
    readonly folder: string,
    private readonly context: BrowserContext,
  ) {}

  static async start(): Promise<Browser> {
    const folder = await mkdtemp(join(tmpdir(), "nandarium-report-"));
    const context = await chromium.launchPersistentContext(join(folder, "profile"), {
      executablePath: CHROMIUM,
      headless: true,
      args: FLAGS,
    });
    await context.addInitScript(rememberTexts);
    return new Browser(folder, context);
  }

  async open(file: string, viewport: Viewport): Promise<Opened> {
    return this.visit(pathToFileURL(file).href, viewport, /^(file|data):/);
  }

  /** An empty page. */
  async blank({ width, height, scheme }: Viewport): Promise<Page> {
    const page = await this.context.newPage();
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: scheme });
    return page;
  }

  /** Opens a page; requests to what `allowed` does not match are complained of. */
  async visit(url: string, viewport: Viewport, allowed: RegExp): Promise<Opened> {
    const page = await this.blank(viewport);
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning")
        complaints.push(`console ${message.type()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => complaints.push(`page error: ${error.message}`));
    page.on("request", (request) => {
      if (!allowed.test(request.url())) complaints.push(`request: ${request.url()}`);
    });
    await page.goto(url);
    await page.waitForSelector("h1");
    // Charts are drawn by a resize observer, one frame after the layout.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    return { page, complaints };
  }

  /** Texts that the page has drawn on canvases up to now. */
  static async drawn(page: Page): Promise<Drawn[]> {
    return page.evaluate(() => (window as unknown as { drawnTexts: Drawn[] }).drawnTexts);
  }

  async close(): Promise<void> {
    await this.context.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}
