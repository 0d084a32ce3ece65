// While one works on the page: builds static/built after each change in static/src and static/css, readable and with
// source maps. A server with `CLOTHO_SERVER__STATIC_DIR=static` serves it, and a reload shows it. What is committed,
// `npm run build` makes.
import { watch } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { leftBehind, pageFiles } from "./page.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../static");
/** An editor writes a file in several steps: so long it waits for the last one, in milliseconds. */
const SETTLED = 80;

async function make() {
  const began = performance.now();
  const outputs = await pageFiles(root, true);
  for (const file of await leftBehind(root, outputs)) await rm(join(root, file));
  for (const [file, text] of Object.entries(outputs)) {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), text);
  }
  console.log(`built in ${Math.round(performance.now() - began)} ms`);
}

/** One build at a time; what fails is told, and the next change tries again. */
let last = Promise.resolve();
const soon = () => (last = last.then(make).catch((error) => console.error(String(error.message ?? error))));

/** @type {NodeJS.Timeout | undefined} */
let timer;
for (const folder of ["src", "css"]) {
  watch(join(root, folder), { recursive: true }, () => {
    clearTimeout(timer);
    timer = setTimeout(soon, SETTLED);
  });
}
soon();
