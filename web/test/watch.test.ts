/** The live page of a real server, in a real browser, under a real load. NANDARIUM names the program. */
import assert from "node:assert/strict";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { violations } from "./access";
import { Browser, MISSING } from "./page";

const PROGRAM = process.env["NANDARIUM"] ?? "../target/debug/nandarium";
const LIGHT = { width: 1280, height: 900, scheme: "light" } as const;
/** A folder for pictures of the page, for people. */
const PICTURES = process.env["PICTURES"];

let folder = "";
let browser: Browser;
let port = 0;
let server: ChildProcess;

async function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

async function serve(): Promise<void> {
  const settings = ["drive.capacity=128MiB", "flash.pages_per_block=64", "drive.over_provisioning=40%"].flatMap((set) => ["--set", set]);
  server = spawn(PROGRAM, ["serve", "--quiet", ...settings, "--socket", join(folder, "s"), "--watch", `127.0.0.1:${port}`], { stdio: "inherit" });
  for (let turn = 0; turn < 200; turn += 1) {
    if (await fetch(url()).then(({ ok }) => ok, () => false)) return;
    await sleep(50);
  }
  throw new Error("the server does not begin");
}

async function end(): Promise<void> {
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill("SIGTERM");
  await ended;
}

const url = (): string => `http://127.0.0.1:${port}/`;

function ctl(...command: string[]): any {
  return JSON.parse(execFileSync(PROGRAM, ["ctl", join(folder, "s.ctl"), "--json", ...command], { encoding: "utf8" }));
}

async function load(seconds: number): Promise<void> {
  const job = ["--name=load", "--ioengine=nbd", `--uri=nbd+unix:///?socket=${join(folder, "s")}`, "--rw=randrw", "--rwmixread=30", "--bs=4k"];
  const more = ["--iodepth=16", "--size=100M", "--time_based", `--runtime=${seconds}`, "--output=/dev/null", `--aux-path=${folder}`];
  const fio = spawn("fio", [...job, ...more], { stdio: ["ignore", "ignore", "inherit"] });
  const code = await new Promise((resolve) => fio.once("exit", resolve));
  assert.equal(code, 0, "fio failed");
}

/** The raw value of a number of the page. */
async function value(page: Page, key: string): Promise<number | null> {
  const text = await page.getAttribute(`[data-key="${key}"]`, "data-value");
  return text ? Number(text) : null;
}

async function until(what: string, is: () => Promise<boolean>, seconds = 15): Promise<void> {
  for (let turn = 0; turn < seconds * 10; turn += 1) {
    if (await is()) return;
    await sleep(100);
  }
  throw new Error(`it never came to this: ${what}`);
}

const said = (page: Page, key: string): Promise<string> => page.innerText(`[data-key="${key}"]`);

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

before(async () => {
  assert.ok(!MISSING, String(MISSING));
  assert.ok(existsSync(PROGRAM), `${PROGRAM} is missing: build it, or set NANDARIUM`);
  if (PICTURES) await mkdir(PICTURES, { recursive: true });
  folder = await mkdtemp(join(tmpdir(), "nandarium-watch-"));
  port = await freePort();
  await serve();
  browser = await Browser.start();
});

after(async () => {
  server?.kill("SIGKILL");
  await browser?.close();
  await rm(folder, { recursive: true, force: true });
});

/** What a page may ask for. */
const HERE = /^(http:\/\/127\.0\.0\.1:\d+\/|data:)/;

/** Wear and free blocks stood below five screens of charts. */
test("wear and free blocks are on the first screen, and nothing that is not known is a zero", async () => {
  const { page } = await browser.visit(url(), LIGHT, HERE);
  await until("there are free blocks", async () => ((await value(page, "now.free_blocks")) ?? 0) > 0);
  for (const key of ["now.free_blocks", "now.percent_used", "now.most_erases"]) {
    const box = await page.locator(`[data-key="${key}"]`).boundingBox();
    assert.ok(box && box.y + box.height < LIGHT.height, `${key}: ${JSON.stringify(box)}`);
  }
  for (const key of ["now.read_p99", "now.write_p99", "waf"]) assert.equal(await said(page, key), "\u2013", `${key} before any request`);
  await page.close();
});

test("numbers move under a load, and afterwards are those of ctl stats", async () => {
  const { page, complaints } = await browser.visit(url(), LIGHT, HERE);
  const working = load(Number(process.env["LOAD_SECONDS"] ?? 6));
  await until("requests a second are shown", async () => ((await value(page, "now.iops")) ?? 0) > 100);
  await until("a p99 of the last seconds is shown", async () => ((await value(page, "now.write_p99")) ?? 0) > 0);
  await until("waiting is split by cause", async () => (await page.locator("#why .segment").count()) > 1);
  await until("there are maps", async () => (await page.locator("#maps canvas").count()) === 2);
  await sleep(3000);
  await picture(page, "light");
  assert.deepEqual(await violations(page), [], "no rule of WCAG 2 A and AA is broken");
  await page.emulateMedia({ colorScheme: "dark" });
  await picture(page, "dark");
  assert.deepEqual(await violations(page), [], "nor in the dark");
  await page.emulateMedia({ colorScheme: "light" });
  await working;
  const { since_start: stats, lifetime } = ctl("stats");
  const { smart_log: log } = ctl("live");
  await until("the last request is shown", async () => (await value(page, "requests.write.requests")) === stats.requests.write.requests);
  const wanted: Record<string, number> = {
    "waf": stats.waf,
    "smart.lifetime.most_erases": lifetime.most_erases,
    "smart.lifetime.least_erases": lifetime.least_erases,
    "smart_log.percent_used": log.percent_used,
    "outstanding": 0,
  };
  for (const op of ["read", "write"]) {
    for (const key of ["requests", "bytes", "failed"]) wanted[`requests.${op}.${key}`] = stats.requests[op][key];
    for (const key of ["mean", "p50", "p99", "p999", "max"]) wanted[`latency_ns.${op}.${key}`] = stats.latency_ns[op][key];
  }
  assert.ok(stats.requests.write.requests > 1000 && stats.requests.read.requests > 300 && stats.waf > 1);
  for (const [key, number] of Object.entries(wanted)) {
    const shown = await value(page, key);
    assert.ok(shown !== null && Math.abs(shown - number) <= Math.abs(number) * 1e-9, `${key}: the page says ${shown}, the drive ${number}`);
  }
  const chart = await page.getAttribute("#time .plot >> nth=0", "aria-label");
  assert.match(chart ?? "", /Requests a second over the last \d+ seconds\. Now: read /);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a phone needs no scrolling sideways", async () => {
  for (const scheme of ["light", "dark"] as const) {
    const { page, complaints } = await browser.visit(url(), { width: 400, height: 800, scheme }, HERE);
    await until("there are maps", async () => (await page.locator("#maps canvas").count()) === 2);
    await picture(page, `narrow-${scheme}`);
    await page.locator("details").evaluateAll((list) => list.forEach((item) => item.setAttribute("open", "")));
    await sleep(500);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 400, `the page is ${width} pixels wide`);
    assert.deepEqual(await violations(page), [], "no rule of WCAG 2 A and AA is broken");
    assert.deepEqual(complaints, []);
    await page.close();
  }
});

test("power is cut by keyboard, once it was asked, and what came of it is said", async () => {
  const { page, complaints } = await browser.visit(url(), LIGHT, HERE);
  await until("numbers come", async () => (await said(page, "power")) === "on");
  await page.getByRole("button", { name: "Cut power" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await picture(page, "dialog");
  // What can be lost is not what Enter does.
  await page.keyboard.press("Enter");
  assert.equal(await page.getByRole("dialog").count(), 0);
  assert.equal(ctl("smart").since_start.power_cuts, 0);
  await page.getByRole("button", { name: "Cut power" }).focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await until("it is said", async () => /cuts since the server began: 1/.test(await said(page, "said")));
  await until("the page counts it", async () => (await value(page, "power_cuts")) === 1);
  assert.equal(ctl("smart").since_start.power_cuts, 1);
  await page.getByLabel("fault", { exact: true }).selectOption("die");
  await page.getByLabel("number of the die").fill("999");
  await page.getByRole("button", { name: "Let it fail" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Let it fail" }).click();
  await until("why not is said", async () => /Not done: .*there is no die 999/.test(await said(page, "said")));
  await page.getByLabel("fault", { exact: true }).selectOption("lose");
  await page.getByLabel("requests and clauses").fill("writes share 3%");
  await page.getByRole("button", { name: "Let it fail" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Let it fail" }).click();
  await until("it is done", async () => /Done: lose writes share 3%/.test(await said(page, "said")));
  assert.deepEqual(ctl("faults").faults, [{ number: 1, fault: "lose share 3%", hits: 0 }]);
  // The refusal is the answer of the server, which a browser tells of as well.
  assert.deepEqual(complaints.filter((text) => !text.includes("400 (Bad Request)")), []);
  await page.close();
});

test("a server that went away is missed, and found again", async () => {
  const { page } = await browser.visit(url(), LIGHT, HERE);
  await until("numbers come", async () => (await said(page, "connection")).startsWith("Live"));
  await end();
  await until("it is missed", async () => (await said(page, "connection")).startsWith("No answer since"));
  await picture(page, "gone");
  await serve();
  await until("it is found again", async () => (await said(page, "connection")).startsWith("Live"), 20);
  await until("sums begin anew", async () => (await value(page, "power_cuts")) === 0);
  await page.close();
});

test("a run tells how far it is, and what it has measured", async () => {
  const watched = await freePort();
  const settings = ["drive.capacity=128MiB", "flash.pages_per_block=64", "drive.precondition=overwrite"].flatMap((set) => ["--set", set]);
  const run = spawn(PROGRAM, ["run", "--quiet", "--no-snapshots", "--workload", "mixed", "--requests", "100000000", ...settings, "--watch", `127.0.0.1:${watched}`], { stdio: "ignore" });
  try {
    const address = `http://127.0.0.1:${watched}/`;
    await until("it listens", () => fetch(address).then(({ ok }) => ok, () => false));
    const { page, complaints } = await browser.visit(address, { width: 400, height: 800, scheme: "light" }, HERE);
    await until("it measures", async () => (await said(page, "phase")) === "measuring");
    await until("what it measures is shown", async () => ((await value(page, "requests.write.requests")) ?? 0) > 0);
    const before = (await value(page, "done")) ?? 0;
    await until("it goes on", async () => ((await value(page, "done")) ?? 0) > before);
    assert.equal(await value(page, "all"), 100_000_000);
    assert.equal(await page.getByRole("button", { name: "Cut power" }).count(), 0);
    await sleep(2500);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 400, `the page is ${width} pixels wide`);
    await page.setViewportSize({ width: 1280, height: 900 });
    await sleep(300);
    await picture(page, "run");
    assert.deepEqual(complaints, []);
    await page.close();
  } finally {
    run.kill("SIGKILL");
  }
});

test("a sweep shows its table", async () => {
  const watched = await freePort();
  const plan = join(folder, "plan.toml");
  const lines = ['name = "spare space"', 'workloads = ["uniform-write"]', "repetitions = 300", "[set]", 'drive.capacity = "64MiB"', "flash.channels = 2"];
  const more = ["flash.dies_per_channel = 2", "flash.pages_per_block = 64", 'drive.precondition = "none"', "workload.requests = 20000", "[axes]"];
  await writeFile(plan, [...lines, ...more, 'drive.over_provisioning = ["20%", "30%", "50%"]', "workload.queue_depth = [1, 8]"].join("\n"));
  const sweep = spawn(PROGRAM, ["sweep", plan, "--quiet", "--out", join(folder, "sweep"), "--watch", `127.0.0.1:${watched}`], { stdio: "ignore" });
  try {
    const address = `http://127.0.0.1:${watched}/`;
    await until("it listens", () => fetch(address).then(({ ok }) => ok, () => false));
    const { page, complaints } = await browser.visit(address, LIGHT, HERE);
    await until("runs are done", async () => ((await value(page, "done")) ?? 0) > 5);
    await until("the table has a row for each combination", async () => (await page.locator("#sweep tbody tr").count()) === 6);
    await until("something is unbeaten", async () => (await page.innerText("#sweep")).includes("\tunbeaten"));
    await picture(page, "sweep");
    assert.deepEqual(complaints, []);
    await page.close();
  } finally {
    sweep.kill("SIGKILL");
  }
});
