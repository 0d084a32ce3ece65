// What a file or a request costs in memory and time at each place where strangers hand something in, as Markdown.
//   CLOTHO_BIN=target/release/clotho node benches/doors/doors.mjs            all places
//   CLOTHO_BIN=… node benches/doors/doors.mjs card preset                    some of them
// Each place gets a new server, which imports a small chat first. Memory is the highest resident size during the request minus the size before it, and minus
// the input. The inputs are as large as the place allows, or of as many small values; they harm nothing. Linux only.
import { readFile, writeFile } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { startClotho } from "../../tests/ui/support/server.mjs";

const MB = 1 << 20;
const WANTED = process.argv.slice(2);
/** Requests at once while `/healthz` is asked. */
const AT_ONCE = 20;

/** As many values as a document of that size may have. */
const MOST_VALUES = 165_000;

/** A JSON text of `count` small values. */
const smallValues = (count) => `[${"0,".repeat(count - 1)}0]`;
const words = (bytes) => "A grey road goes on. ".repeat(Math.ceil(bytes / 21)).slice(0, bytes);

const card = (fields) => JSON.stringify({ spec: "chara_card_v2", spec_version: "2.0", data: { name: "Ann", ...fields } });
const bookEntries = (count) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, uid) => [uid, { uid, key: [`key ${uid}`], content: `Entry ${uid}.` }]),
  );
const chatLines = (count) =>
  [
    { user_name: "You", character_name: "Ann", create_date: "2025-01-01@00h00m00s", chat_metadata: {} },
    ...Array.from({ length: count }, (_, n) => ({
      name: n % 2 ? "You" : "Ann",
      is_user: n % 2 === 1,
      mes: `Message ${n}. ${words(200)}`,
    })),
  ]
    .map((line) => JSON.stringify(line))
    .join("\n");

const JSON_TYPE = "application/json";
/** Each place: its name, its route, and what is handed in. */
const DOORS = [
  ["card", "/api/characters/import", JSON_TYPE, () => card({ description: words(MB - 4_000) })],
  ["card of small values", "/api/characters/import", JSON_TYPE, () => card({ extensions: { x: JSON.parse(smallValues(MOST_VALUES)) } })],
  ["lorebook", "/api/lorebooks/import", JSON_TYPE, () => JSON.stringify({ name: "Atlas", entries: bookEntries(5_000) })],
  ["lorebook of small values", "/api/lorebooks/import", JSON_TYPE, () => `{"entries": {"0": {"uid": 0, "key": ["a"], "content": "b", "x": ${smallValues(MOST_VALUES)}}}}`],
  ["preset", "/api/presets/import?kind=openai", JSON_TYPE, () => JSON.stringify({ prompts: [{ identifier: "main", role: "system", content: words(4 * MB - 4_000) }], prompt_order: [] })],
  ["preset of small values", "/api/presets/import?kind=openai", JSON_TYPE, () => `{"prompts": [], "prompt_order": [], "x": ${smallValues(MOST_VALUES)}}`],
  ["chat", "/api/import?name=Ann.jsonl", JSON_TYPE, () => chatLines(20_000)],
  ["request", "/api/documents", JSON_TYPE, () => JSON.stringify({ collection: "Maps", content: words(60_000) })],
  ["request of small values", "/api/characters", JSON_TYPE, () => `{"name": "Ann", "metadata": {"x": ${smallValues(MOST_VALUES)}}}`],
];

/** Handed in first: what the server keeps for all requests, such as the writer of its search index, counts for none. */
const WARM_UP = ["warm-up", "/api/import?name=Bea.jsonl", JSON_TYPE];

async function memory(pid, field) {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1024;
}

async function headersFor(clotho, type) {
  const me = await (await fetch(`${clotho.base}/api/auth/me`)).json();
  return { Origin: clotho.base, "Content-Type": type, ...(me?.csrf && { "X-CSRF-Token": me.csrf }) };
}

/** Hands something in, and waits for its job if it has one. Returns the status code. */
async function handIn(clotho, [, path, type], body, headers) {
  const answer = await fetch(clotho.base + path, { method: "POST", headers: { ...headers, "Content-Type": type }, body });
  const said = await answer.json().catch(() => ({}));
  let job = said.jobId ? { state: "queued" } : null;
  while (job && ["queued", "running"].includes(job.state)) {
    job = await clotho.api("GET", `/api/jobs/${said.jobId}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return job ? job.state : answer.status;
}

async function measure(door) {
  const clotho = await startClotho();
  try {
    const body = door[3]();
    const headers = await headersFor(clotho, door[2]);
    await handIn(clotho, WARM_UP, chatLines(50), headers);
    // One request alone.
    const before = await memory(clotho.pid(), "VmRSS");
    await writeFile(`/proc/${clotho.pid()}/clear_refs`, "5");
    const began = performance.now();
    const status = await handIn(clotho, door, body, headers);
    const took = performance.now() - began;
    const grown = (await memory(clotho.pid(), "VmHWM")) - before;
    // Twenty at once, while somebody asks whether the server is well.
    const watch = await watchHealth(clotho.base);
    await Promise.all(Array.from({ length: AT_ONCE }, () => handIn(clotho, door, body, headers)));
    const slowest = await watch.end();
    const above = Math.max(0, grown - body.length);
    return [door[0], size(body.length), status, size(above), `${Math.round(took)} ms`, `${Math.round(slowest)} ms`];
  } finally {
    await clotho.close();
  }
}

/** Asks `/healthz` again and again, on a thread of its own: this one is busy with the answers. */
async function watchHealth(base) {
  const code = `
    const { parentPort, workerData } = require("node:worker_threads");
    let isOver = false;
    parentPort.once("message", () => (isOver = true));
    const ask = async () => {
      const asked = performance.now();
      await (await fetch(workerData + "/healthz")).text();
      return performance.now() - asked;
    };
    (async () => {
      await ask();
      parentPort.postMessage("ready");
      let slowest = 0;
      while (!isOver) {
        slowest = Math.max(slowest, await ask());
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      parentPort.postMessage(slowest);
      process.exit(0);
    })();`;
  const worker = new Worker(code, { eval: true, workerData: base });
  const next = () => new Promise((resolve) => worker.once("message", resolve));
  await next();
  return {
    end: () => {
      const slowest = next();
      worker.postMessage("end");
      return slowest;
    },
  };
}

const size = (bytes) => (bytes < MB ? `${Math.round(bytes / 1024)} kB` : `${(bytes / MB).toFixed(1)} MB`);

console.log("| place | input | answer | memory above the input | time | slowest `/healthz` beside twenty |");
console.log("| --- | --- | --- | --- | --- | --- |");
for (const door of DOORS.filter(([name]) => WANTED.length === 0 || WANTED.includes(name)))
  console.log(`| ${(await measure(door)).join(" | ")} |`);
process.exit(0);
