// The page's TypeScript, for Node and for browsers that are to call single modules of it.
//
// Node: `node --import ./support/typescript.mjs --test lib.test.mjs` runs modules as they are written. Node 20 does not
// know types; the esbuild of tools/vendor takes them out, as it does for the page (`page.mjs` there).
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire, register } from "node:module";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";

const STATIC = fileURLToPath(new URL("../../../static", import.meta.url));
const TOOLS = new URL("../../../tools/vendor/package.json", import.meta.url);

// Node runs `load` in a thread of its own, which reads this file again.
if (isMainThread && process.execArgv.some((argument) => argument.includes("typescript.mjs"))) register(import.meta.url);

/** How the types are taken out, and JSX becomes calls of `h`. */
const OPTIONS = {
  sourcemap: /** @type {const} */ ("inline"),
  charset: /** @type {const} */ ("utf8"),
  jsxFactory: "h",
  jsxFragment: "Fragment",
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
};

/** A hook of Node. @param {string} url @param {object} context @param {(url: string, context: object) => Promise<object>} next */
export async function load(url, context, next) {
  if (!/^file:.*\.tsx?$/.test(url)) return next(url, context);
  const path = fileURLToPath(url);
  const { transform } = createRequire(TOOLS)("esbuild");
  const { code } = await transform(await readFile(path, "utf8"), {
    ...OPTIONS,
    loader: extname(path).slice(1),
    sourcefile: path,
  });
  return { format: "module", source: code, shortCircuit: true };
}

/**
 * Makes a folder with the page in which each module is a file of its own, as the program has put them together: for tests
 * that call a module that runs, by its place below `js/`. It goes with the process. At once, as servers are started by then.
 * @returns {string} for `server.static_dir`
 */
export function pageOfModules() {
  const folder = mkdtempSync(join(tmpdir(), "clotho-page-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  cpSync(STATIC, folder, {
    recursive: true,
    filter: (path) => !/^(?:src|built\/(?:js|css))$/.test(path.slice(STATIC.length + 1)),
  });
  const modules = readdirSync(join(STATIC, "src"), { recursive: true }).filter((path) => /(?<!\.d)\.tsx?$/.test(path));
  const { outputFiles } = createRequire(TOOLS)("esbuild").buildSync({
    ...OPTIONS,
    entryPoints: modules.map((path) => join(STATIC, "src", path)),
    outbase: join(STATIC, "src"),
    outdir: join(folder, "js"),
    write: false,
  });
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text.replace(/((?:from|import)\s*\(?\s*"\.[^"]+)\.tsx?"/g, '$1.js"'));
  }
  const page = join(folder, "index.html");
  writeFileSync(page, readFileSync(page, "utf8").replaceAll("/built/", "/").replace("{{ahead}}", ""));
  return folder;
}
