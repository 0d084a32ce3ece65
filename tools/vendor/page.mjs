// Puts the modules and styles of static/ together into few files (static/built). Browsers run no TypeScript, and one
// that asks for a hundred and fifty files waits longer for their number than for their bytes. The files lie as deep as
// the modules do, so that what a module finds beside itself (icons, the worker of scripts) is where it looks for it.
//
// - page.css: all styles.
// - main.js: begins the page. first.js: what the first page shows. story.js: a story and where one writes. tools.js:
//   what stands beside a story, its menus and dialogs, which come after its first picture.
// - offline.js: the service worker.
// - shared.js: what several of the others need. Every other file is a part that loads when somebody opens it.
import { build, transform } from "esbuild";
import { readdir } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import { rollup } from "rollup";

/** Parts that load as one, in the order in which they do: the modules they begin with. */
const PARTS = {
  first: ["main.tsx"],
  story: ["views/session-page.tsx"],
  tools: [
    "views/world.tsx",
    "views/turn-bar.tsx",
    "views/session-menu.tsx",
    "views/message-items.tsx",
    "views/dialogs.tsx",
  ],
};

/**
 * What the bundler knows of the modules.
 * @typedef {object} Graph
 * @property {(id: string) => {importedIds: readonly string[], dynamicallyImportedIds: readonly string[]} | null} getModuleInfo
 * @property {() => IterableIterator<string>} getModuleIds
 */

/**
 * All that a module imports at once, itself among it.
 * @param {string} id
 * @param {Graph} graph
 * @param {Set<string>} [seen]
 */
function closure(id, graph, seen = new Set()) {
  if (seen.has(id)) return seen;
  seen.add(id);
  for (const next of graph.getModuleInfo(id)?.importedIds ?? []) closure(next, graph, seen);
  return seen;
}

/**
 * Which file each module goes to; those of one part that loads by itself are left to the bundler.
 * @param {string} root
 * @param {Graph} graph
 */
function places(root, graph) {
  /** @type {Map<string, string>} */
  const files = new Map();
  for (const [file, begins] of Object.entries(PARTS)) {
    const all = begins.flatMap((module) => [...closure(join(root, module), graph)]);
    for (const id of all) if (!files.has(id)) files.set(id, file);
  }
  /** @type {Map<string, number>} */
  const users = new Map();
  const opened = new Set(
    [...graph.getModuleIds()].flatMap((id) => graph.getModuleInfo(id)?.dynamicallyImportedIds ?? []),
  );
  for (const part of opened) for (const id of closure(part, graph)) users.set(id, (users.get(id) ?? 0) + 1);
  for (const [id, n] of users) if (n > 1 && !files.has(id) && !opened.has(id)) files.set(id, "shared");
  // What begins the page waits there for answers: nobody else may wait for it.
  files.delete(join(root, "main.tsx"));
  return files;
}

const HEAD = "/* Built of static/ by tools/vendor, do not edit. */\n";

/**
 * The files of static/built, by their path below static. `isDraft`: for work on the page, readable and with source maps.
 * @param {string} root static
 * @param {boolean} [isDraft]
 * @returns {Promise<Record<string, string>>}
 */
export const pageFiles = async (root, isDraft = false) => ({
  ...(await scripts(join(root, "src"), isDraft)),
  "built/offline.js": await offline(join(root, "src/offline.ts"), isDraft),
  "built/css/page.css": await styles(join(root, "css/page.css")),
});

/**
 * Files in static/built/js that no build makes any more.
 * @param {string} root static
 * @param {Record<string, string>} outputs
 */
export async function leftBehind(root, outputs) {
  const files = await readdir(join(root, "built/js")).catch(() => []);
  return files.map((file) => `built/js/${file}`).filter((file) => !(file in outputs));
}

/** @param {string} first the file that names the others */
async function styles(first) {
  const { outputFiles } = await build({
    entryPoints: [first],
    bundle: true,
    minify: true,
    charset: "utf8",
    write: false,
  });
  return `${HEAD}${outputFiles[0]?.text}`;
}

const TARGET = "es2022";

/**
 * The service worker imports nothing, and browsers take it for a classic script.
 * @param {string} file
 * @param {boolean} isDraft
 */
async function offline(file, isDraft) {
  const { outputFiles } = await build({
    entryPoints: [file],
    bundle: true,
    format: "iife",
    target: TARGET,
    charset: "utf8",
    minify: !isDraft,
    sourcemap: isDraft && "inline",
    write: false,
  });
  return `${HEAD}${outputFiles[0]?.text}`;
}

/** How TypeScript becomes JavaScript; JSX becomes calls of `h`. The types are the checker's work (`npm run types`). */
const typescript = {
  name: "typescript",
  /** @param {string} code @param {string} id */
  async transform(code, id) {
    const loader = extname(id).slice(1);
    if (loader !== "ts" && loader !== "tsx") return null;
    return transform(code, {
      loader,
      sourcefile: id,
      sourcemap: true,
      target: TARGET,
      charset: "utf8",
      jsx: "transform",
      jsxFactory: "h",
      jsxFragment: "Fragment",
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    });
  },
};

/**
 * What the last draft read, so that the next one reads only what has changed.
 * @type {import("rollup").RollupCache | undefined}
 */
let drafted;

/** @param {string} root static/src @param {boolean} isDraft @returns {Promise<Record<string, string>>} */
async function scripts(root, isDraft) {
  /** @type {Map<string, string> | null} */
  let files = null;
  const page = await rollup({
    input: { main: join(root, "main.tsx"), "script-worker": join(root, "lib/script-worker.ts") },
    external: (id) => id.includes("/vendor/"),
    plugins: [typescript],
    cache: isDraft ? drafted : false,
    onwarn: (warning) => {
      throw new Error(warning.message);
    },
  });
  if (isDraft) drafted = page.cache;
  const { output } = await page.generate({
    format: "es",
    paths: (id) => `../../vendor/${basename(id)}`,
    entryFileNames: "[name].js",
    chunkFileNames: "[name].js",
    onlyExplicitManualChunks: true,
    sourcemap: isDraft ? "inline" : false,
    manualChunks: (id, graph) => (files ??= places(root, graph)).get(id),
  });
  /** @type {Record<string, string>} */
  const texts = {};
  for (const file of output) {
    if (file.type !== "chunk") throw new Error(`${file.fileName} is no script`);
    texts[`built/js/${file.fileName}`] = isDraft ? file.code : await minified(file.code);
  }
  return texts;
}

/** @param {string} code */
async function minified(code) {
  const made = await transform(code, { minify: true, target: TARGET, charset: "utf8", legalComments: "none" });
  return `${HEAD}${made.code}`;
}
