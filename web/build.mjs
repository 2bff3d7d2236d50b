// Builds the files that crates embed, into those crates: report.js, report.css and template.html for reports, and the page that
// watches, watch.html, with the policy it is sent with, watch.csp.
// With --tests it bundles the test files into .build/ instead.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";

const REPORT = "../crates/front/cli/pages";
const WATCH = "../crates/wire/live/pages";
const PLACEHOLDERS = ["/*CSS*/", "/*JS*/", "<!--TITLE-->", "/*RESULTS*/"];

if (process.argv.includes("--tests")) {
  const files = (await readdir("test")).filter((name) => name.endsWith(".test.ts"));
  await build({
    entryPoints: files.map((name) => `test/${name}`),
    outdir: ".build",
    outExtension: { ".js": ".mjs" },
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
  });
} else {
  for (const folder of [REPORT, WATCH]) await mkdir(folder, { recursive: true });
  const bundle = { bundle: true, minify: true, write: false, legalComments: "none", charset: "ascii" };
  const script = await build({ ...bundle, entryPoints: ["src/main.ts"], format: "iife", target: "es2022" });
  const style = await build({ ...bundle, entryPoints: ["src/style/report.css"] });
  await writeIfChanged(`${REPORT}/report.js`, script.outputFiles[0].text);
  await writeIfChanged(`${REPORT}/report.css`, style.outputFiles[0].text);
  const template = await readFile("src/template.html", "utf8");
  for (const placeholder of PLACEHOLDERS) {
    if (template.split(placeholder).length !== 2) throw new Error(`template.html needs ${placeholder} exactly once`);
  }
  await writeIfChanged(`${REPORT}/template.html`, template);
  await assertEmbeddable(`${REPORT}/report.js`, /<\/script|<!--|\/\*(CSS|JS|RESULTS)\*\//i);
  await assertEmbeddable(`${REPORT}/report.css`, /<\/style|@import|url\((?!["']?data:)|\/\*(CSS|JS|RESULTS)\*\//i);
  await buildWatch(bundle);
}

/** The page that watches is one file as well; its policy allows its own style and script by their hashes, and nothing else. */
async function buildWatch(bundle) {
  const script = await build({ ...bundle, entryPoints: ["src/watch/main.ts"], format: "iife", target: "es2022" });
  const style = await build({ ...bundle, entryPoints: ["src/style/watch.css"] });
  const [js, css] = [script, style].map(({ outputFiles }) => outputFiles[0].text);
  const template = await readFile("src/watch.html", "utf8");
  for (const placeholder of ["/*CSS*/", "/*JS*/"]) {
    if (template.split(placeholder).length !== 2) throw new Error(`watch.html needs ${placeholder} exactly once`);
  }
  for (const [name, text, forbidden] of [["script", js, /<\/script|<!--/i], ["style", css, /<\/style|@import|url\((?!["']?data:)/i]]) {
    const found = forbidden.exec(text);
    if (found) throw new Error(`the ${name} of watch.html contains ${JSON.stringify(found[0])} and cannot be embedded`);
  }
  const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const policy = [
    "default-src 'none'",
    `script-src ${hash(js)}`,
    `style-src ${hash(css)}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  await writeIfChanged(`${WATCH}/watch.html`, template.replace("/*CSS*/", () => css).replace("/*JS*/", () => js));
  await writeIfChanged(`${WATCH}/watch.csp`, policy.join("; "));
}

/** The program that embeds the files is built anew whenever one is written. */
async function writeIfChanged(file, text) {
  const old = await readFile(file, "utf8").catch(() => undefined);
  if (old !== text) await writeFile(file, text);
}

/** A bundle that closes its own tag, holds a placeholder or points to another file would break the page only once embedded. */
async function assertEmbeddable(file, forbidden) {
  const found = forbidden.exec(await readFile(file, "utf8"));
  if (found) throw new Error(`${file} contains ${JSON.stringify(found[0])} and cannot be embedded`);
}
