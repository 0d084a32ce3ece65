// Builds static/vendor/*.js, static/vendor/LICENSES.txt and static/icons.svg from the packages pinned in
// package-lock.json, and static/built from the page's own modules and styles. `node build.mjs` writes them; `node
// build.mjs
// --check` compares byte for byte with what is committed and fails on a difference. Nothing here runs when the server
//   runs.
import { build } from "esbuild";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { leftBehind, pageFiles } from "./page.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../../static");

/** Output file -> the packages inside it, for its head line and the licence file. */
const bundles = {
  "preact.js": ["preact", "@preact/signals", "@preact/signals-core"],
  "marked.js": ["marked"],
  "purify.js": ["dompurify"],
  "uplot.js": ["uplot"],
  "codemirror.js": [
    ...["autocomplete", "commands", "language", "lint", "search", "state", "view"].map((name) => `@codemirror/${name}`),
    ...[
      "@codemirror/streamparser",
      "@lezer/common",
      "@lezer/highlight",
      "@marijn/find-cluster-break",
      "crelt",
      "style-mod",
      "w3c-keyname",
    ],
  ],
};

/** The symbols of icons.svg: our name -> lucide's name. To add one, add a line and run `npm run build`. */
const icons = {
  back: "arrow-left",
  between: "unfold-vertical",
  book: "book-open",
  bookmark: "bookmark",
  branch: "git-fork",
  branches: "git-branch",
  chart: "chart-line",
  chat: "message-circle",
  check: "check",
  close: "x",
  compare: "columns-2",
  copy: "copy",
  copyTo: "copy-plus",
  dice: "dices",
  down: "arrow-down",
  download: "download",
  draft: "feather",
  edit: "pencil",
  eye: "eye",
  eyeOff: "eye-off",
  fit: "maximize",
  folder: "folder",
  help: "circle-help",
  here: "map-pin",
  language: "languages",
  left: "chevron-left",
  line: "minus",
  link: "link",
  lore: "scroll-text",
  menu: "ellipsis-vertical",
  merge: "git-merge",
  moon: "moon",
  more: "ellipsis",
  move: "corner-down-right",
  onward: "step-forward",
  phone: "smartphone",
  picture: "image",
  pin: "pin",
  play: "play",
  plug: "plug",
  plus: "plus",
  preset: "sliders-horizontal",
  redo: "redo-2",
  reroll: "refresh-cw",
  right: "chevron-right",
  rewind: "history",
  search: "search",
  send: "arrow-up",
  star: "star",
  stash: "archive",
  stop: "square",
  summarise: "fold-vertical",
  sun: "sun",
  tag: "tag",
  shred: "shredder",
  sides: "fold-horizontal",
  trash: "trash-2",
  tree: "network",
  undo: "undo-2",
  upload: "upload",
  user: "user-round",
  warning: "triangle-alert",
  why: "message-circle-question-mark",
  world: "globe",
  worldOff: "globe-off",
};

const read = (/** @type {string} */ path) => readFile(join(here, "node_modules", path), "utf8");
const about = async (/** @type {string} */ name) => JSON.parse(await read(`${name}/package.json`));

async function bundle(/** @type {string} */ file) {
  const parts = await Promise.all(bundles[file].map(about));
  const names = parts.map((p) => `${p.name} ${p.version}`).join(", ");
  const result = await build({
    entryPoints: [join(here, "entry", file)],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    banner: { js: `/* ${names}. Licences: LICENSES.txt. Built by tools/vendor, do not edit. */` },
    write: false,
    metafile: true,
  });
  const inside = new Set(
    Object.keys(result.metafile.inputs).flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
  );
  const unnamed = [...inside].filter((name) => !bundles[file].includes(name));
  const idle = bundles[file].filter((name) => !inside.has(name));
  if (unnamed.length + idle.length > 0) throw new Error(`${file} holds ${unnamed} unnamed, and not ${idle}`);
  return result.outputFiles[0].text;
}

/** Apache-2.0 is chosen where a package offers a choice; the packages' own files carry every text. */
async function licences() {
  const sections = [];
  for (const name of [...Object.values(bundles).flat(), "lucide-static"]) {
    const { version, license } = await about(name);
    const text = (await read(`${name}/LICENSE`)).trim();
    sections.push(`${name} ${version} (${license})\n${"=".repeat(72)}\n\n${text}\n`);
  }
  return `Software in this folder and in icons.svg, and its licences.\n\n${sections.join("\n\n")}`;
}

async function sprite() {
  const symbols = [];
  for (const [name, source] of Object.entries(icons).sort()) {
    const svg = await read(`lucide-static/icons/${source}.svg`);
    const shapes = svg.replace(/^[\s\S]*?<svg[^>]*>|<\/svg>\s*$/g, "").replace(/\s*\n\s*/g, "");
    symbols.push(`<symbol id="${name}" viewBox="0 0 24 24">${shapes}</symbol>`);
  }
  return `<svg xmlns="http://www.w3.org/2000/svg">\n${symbols.join("\n")}\n</svg>\n`;
}

/** @type {Record<string, string>} */
const outputs = { "icons.svg": await sprite(), "vendor/LICENSES.txt": await licences() };
for (const file of Object.keys(bundles)) outputs[`vendor/${file}`] = await bundle(file);
Object.assign(outputs, await pageFiles(target));

const isCheck = process.argv.includes("--check");
const differing = [];
for (const file of await leftBehind(target, outputs)) {
  if (isCheck) differing.push(file);
  else await rm(join(target, file));
}
for (const [file, text] of Object.entries(outputs)) {
  const path = join(target, file);
  if (isCheck) {
    if ((await readFile(path, "utf8").catch(() => "")) !== text) differing.push(file);
  } else {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}
if (differing.length > 0) {
  console.error(`static/ differs from a fresh build in: ${differing.join(", ")}. Run: npm run build`);
  process.exit(1);
}
console.log(`${Object.keys(outputs).length} files ${isCheck ? "match" : "written"}`);
