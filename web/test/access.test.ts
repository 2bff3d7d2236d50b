/**
 * Pages for every reader: by screen reader, keyboard, on a phone, in the dark and on paper. PAGES names a folder of pages that the program
 * has written; without it the samples are rendered.
 */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { cutPictures, moving, numberControls, tooWide, unfold, violations, walk, weakTexts } from "./access";
import { CAUSES } from "../src/causes";
import { Browser, MISSING, writePage, type Viewport } from "./page";
import { emptySample, sample } from "./sample";

const PHONE = { width: 400, height: 800, scheme: "light" } as const;
const DESK = { width: 1400, height: 900, scheme: "light" } as const;
const VIEWPORTS: readonly Viewport[] = [DESK, { ...DESK, scheme: "dark" }, PHONE, { ...PHONE, scheme: "dark" }];
/** A portrait page of A4 within margins of 14 mm, pixels. */
const PAPER = { width: 688, height: 1016 };

async function files(folder: string): Promise<{ name: string; file: string }[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".html"));
  assert.ok(names.length > 0, `PAGES: ${folder} holds no page`);
  return names.sort().map((name) => ({ name, file: join(folder, name) }));
}

function samples(): { name: string; results: ReturnType<typeof sample>[] }[] {
  const page = sample({ stack: "page", seed: 7, pressure: 1 });
  const dftl = sample({ stack: "dftl", seed: 8, pressure: 0.5, status: "drive-full" });
  const causes = CAUSES.filter((cause) => cause !== "service");
  const each = sample({ stack: "page", seed: 9, pressure: 1 });
  (["all", "p99", "p999"] as const).forEach((slice, index) => {
    each.waiting_root[slice] = Object.fromEntries(causes.filter((_, place) => place % 3 === index).map((cause) => [cause, 1e6]));
  });
  return [
    { name: "one run", results: [page] },
    { name: "a run with every cause", results: [each] },
    { name: "a comparison", results: [page, dftl] },
    { name: "a run without a request", results: [emptySample()] },
    { name: "no result", results: [] },
  ];
}

describe("a page", { skip: MISSING }, async () => {
  let browser: Browser;
  before(async () => {
    browser = await Browser.start();
  });
  after(() => browser?.close());

  const { PAGES: folder } = process.env;
  const cases = folder
    ? (await files(folder)).map(({ name, file }) => ({ name, path: async () => file }))
    : samples().map(({ name, results }) => ({ name, path: () => writePage(browser.folder, `access-${name.replaceAll(" ", "-")}.html`, results) }));

  for (const { name, path } of cases) {
    for (const viewport of VIEWPORTS) {
      test(`${name}, ${viewport.width} px, ${viewport.scheme}: breaks no rule of WCAG 2 A and AA, folded and unfolded`, async () => {
        const { page, complaints } = await browser.open(await path(), viewport);
        assert.deepEqual(await violations(page), []);
        await unfold(page);
        assert.deepEqual(await violations(page), []);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= viewport.width, "nothing is reached sideways alone");
        assert.deepEqual(await moving(page), [], "nothing moves by itself");
        assert.deepEqual(complaints, []);
        if (viewport.width === DESK.width) {
          // Colours are the same at every width, and axe decides nothing of what lies beside the window.
          await page.setViewportSize({ ...viewport, width: 4000 });
          assert.deepEqual(await weakTexts(page), [], "every text has contrast");
        }
        await page.close();
      });
    }

    for (const viewport of [DESK, PHONE]) {
      test(`${name}, ${viewport.width} px: Tab reaches every control in the order in which it is seen`, async () => {
        const { page } = await browser.open(await path(), viewport);
        const controls = await numberControls(page);
        const forth = await walk(page, "Tab", controls.length);
        assert.deepEqual(forth.map(({ place }) => place), controls.map((_, place) => place), "all, in the order of the document");
        forth.forEach(({ box, name: control }, index) => {
          const next = forth[index + 1];
          if (!next) return;
          const isBack = viewport === PHONE ? next.box.bottom <= box.top : next.box.bottom <= box.top && next.box.left < box.right;
          assert.ok(!isBack, `from ${control} the focus goes back to ${next.name}`);
        });
        const back = await walk(page, "Shift+Tab", controls.length);
        assert.equal(back.length, controls.length);
        for (const { name: control, isMarked, isCovered } of [...forth, ...back]) {
          assert.ok(isMarked, `no mark where the focus is: ${control}`);
          assert.ok(!isCovered, `something covers the focus: ${control}`);
        }
        await page.close();
      });
    }

    for (const state of ["folded", "unfolded"]) {
      test(`${name}, ${state}: fits a sheet of A4`, async () => {
        const { page } = await browser.open(await path(), { ...DESK, scheme: "dark" });
        if (state === "unfolded") await unfold(page);
        await onPaper(page);
        assert.deepEqual(await tooWide(page), []);
        assert.deepEqual(await cutPictures(page, PAPER.height), [], "a picture stays on one sheet");
        assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
        assert.deepEqual(await violations(page), []);
        assert.deepEqual(await weakTexts(page), [], "paper has contrast as well");
        const pdf = await page.pdf({ format: "A4", preferCSSPageSize: true, printBackground: true });
        assert.ok(pdf.length > 5_000 && pdf.subarray(0, 5).toString() === "%PDF-");
        await page.close();
      });
    }
  }
});

async function onPaper(page: Page): Promise<void> {
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize(PAPER);
  await page.waitForTimeout(200);
}
