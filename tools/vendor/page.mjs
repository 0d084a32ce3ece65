// Puts the modules and styles of static/ together into few files (static/built): a browser that asks for a hundred and
// fifty of them waits longer for their number than for their bytes. The files lie as deep as the modules do, so that what a
// module finds beside itself (icons, the worker of scripts) is where it looks for it.
//
// - page.css: all styles.
// - main.js: begins the page. first.js: what the first page shows. story.js: a story and where one writes. tools.js: what
//   stands beside a story, its menus and dialogs, which come after its first picture.
// - shared.js: what several of the others need. Every other file is a part that loads when somebody opens it.
import { build, transform } from "esbuild";
import { basename, join } from "node:path";
import { rollup } from "rollup";

/** Parts that load as one, in the order in which they do: the modules they begin with. */
const PARTS = {
  first: ["main.js"],
  story: ["views/story.js"],
  tools: ["views/world.js", "views/way.js", "views/story-menu.js", "views/message-items.js", "views/dialogs.js"],
};

/** @typedef {{getModuleInfo: (id: string) => {importedIds: readonly string[], dynamicallyImportedIds: readonly string[]} | null, getModuleIds: () => IterableIterator<string>}} Graph */

/** All that a module imports at once, itself among it. @param {string} id @param {Graph} graph @param {Set<string>} [seen] */
function closure(id, graph, seen = new Set()) {
  if (seen.has(id)) return seen;
  seen.add(id);
  for (const next of graph.getModuleInfo(id)?.importedIds ?? []) closure(next, graph, seen);
  return seen;
}

/** Which file each module goes to; those of one part that loads by itself are left to the bundler. @param {string} root @param {Graph} graph */
function places(root, graph) {
  /** @type {Map<string, string>} */
  const files = new Map();
  for (const [file, begins] of Object.entries(PARTS)) {
    const all = begins.flatMap((module) => [...closure(join(root, module), graph)]);
    for (const id of all) if (!files.has(id)) files.set(id, file);
  }
  /** @type {Map<string, number>} */
  const users = new Map();
  const opened = new Set([...graph.getModuleIds()].flatMap((id) => graph.getModuleInfo(id)?.dynamicallyImportedIds ?? []));
  for (const part of opened) for (const id of closure(part, graph)) users.set(id, (users.get(id) ?? 0) + 1);
  for (const [id, n] of users) if (n > 1 && !files.has(id) && !opened.has(id)) files.set(id, "shared");
  // What begins the page waits there for answers: nobody else may wait for it.
  files.delete(join(root, "main.js"));
  return files;
}

const HEAD = "/* Built of static/ by tools/vendor, do not edit. */\n";

/** The files of static/built, by their path below static. @param {string} root static @returns {Promise<Record<string, string>>} */
export const pageFiles = async (root) => ({ ...(await scripts(join(root, "js"))), "built/css/page.css": await styles(join(root, "css/page.css")) });

/** @param {string} first the file that names the others */
async function styles(first) {
  const { outputFiles } = await build({ entryPoints: [first], bundle: true, minify: true, charset: "utf8", write: false });
  return `${HEAD}${outputFiles[0]?.text}`;
}

/** @param {string} root static/js @returns {Promise<Record<string, string>>} */
async function scripts(root) {
  /** @type {Map<string, string> | null} */
  let files = null;
  const page = await rollup({
    input: { main: join(root, "main.js"), "script-worker": join(root, "lib/script-worker.js") },
    external: (id) => id.includes("/vendor/"),
    onwarn: (warning) => {
      throw new Error(warning.message);
    },
  });
  const { output } = await page.generate({
    format: "es",
    paths: (id) => `../../vendor/${basename(id)}`,
    entryFileNames: "[name].js",
    chunkFileNames: "[name].js",
    onlyExplicitManualChunks: true,
    manualChunks: (id, graph) => (files ??= places(root, graph)).get(id),
  });
  /** @type {Record<string, string>} */
  const texts = {};
  for (const file of output) {
    if (file.type !== "chunk") throw new Error(`${file.fileName} is no script`);
    const { code } = await transform(file.code, { minify: true, target: "es2022", charset: "utf8", legalComments: "none" });
    texts[`built/js/${file.fileName}`] = `${HEAD}${code}`;
  }
  return texts;
}
