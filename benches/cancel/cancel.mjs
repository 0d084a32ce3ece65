// How long a reply goes on after it was stopped while its prompt is built, as Markdown.
//   CLOTHO_BIN=target/release/clotho node benches/cancel/cancel.mjs 10
// The number is how often each prompt is stopped (10 by default), each time at another moment of the building. Each prompt
// is slow by another part of it. The limit is 200 ms.
import { startClotho, startModel } from "../../tests/ui/support/server.mjs";

const TIMES = Number(process.argv[2] ?? 10);
const LIMIT = 200;

const sentence = "The grey road goes on past the mill, and nobody has walked it since the flood. ";
const long = (bytes) => sentence.repeat(Math.ceil(bytes / sentence.length)).slice(0, bytes);
const entries = (count, key) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, uid) => [uid, { uid, key: [key(uid)], scanDepth: 60, content: `Entry ${uid}.` }]),
  );

/** Each slow prompt: its name, the card, and the lorebook. */
const PROMPTS = [
  ["lorebook of 10,000 keys", {}, { name: "Words", entries: entries(10_000, (n) => `road ${n} and no more`) }],
  ["lorebook of 9,000 regular expressions", {}, { name: "Patterns", entries: entries(9_000, (n) => `/(road|mill)[a-z ]*(${n}|past${n})/i`) }],
  ["card of 40,000 macros", { description: "{{random::a,b}}{{// no}}".repeat(20_000) }, null],
];

const model = await startModel();
const clotho = await startClotho(`[[providers]]\nid = "mock"\nkind = "openai"\nbase_url = "${model.url}"\n`);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function ended(chat, id) {
  for (;;) {
    const node = await clotho.api("GET", `${chat}/node/${id}`);
    if (node.status !== "generating") return node;
    await pause(2);
  }
}

/** A story whose prompts are slow: sixty messages of 8 kB, all of which are scanned. */
async function createStory([name, card, book]) {
  const character = await clotho.api("POST", "/api/characters", { name, firstMessage: "A road.", ...card });
  const lorebookIds = book ? [(await clotho.api("POST", "/api/lorebooks/import", book)).id] : [];
  const session = await clotho.api("POST", "/api/sessions", { characterIds: [character.id], model: "mock/m", lorebookIds });
  const chat = `/api/chat/${session.id}`;
  let head = session.activeLeafId;
  for (let n = 0; n < 60; n++) {
    const body = { parentId: head, content: long(8_000), generate: false };
    head = (await clotho.api("POST", `${chat}/message`, body)).node.id;
  }
  return { chat, head };
}

/** Asks for a reply, and stops it after `wait` milliseconds. Returns how long that took, or null: it was too late. */
async function stopAfter({ chat, head }, wait) {
  const before = model.requests.length;
  const sent = await clotho.api("POST", `${chat}/message`, { parentId: head, content: "On.", generate: true });
  const { id } = sent.generations[0];
  await pause(wait);
  const began = performance.now();
  await clotho.api("POST", `${chat}/node/${id}/cancel`, {}).catch(() => null);
  await ended(chat, id);
  const took = performance.now() - began;
  return model.requests.length > before ? null : took;
}

async function measure(prompt) {
  const story = await createStory(prompt);
  const asked = performance.now();
  const sent = await clotho.api("POST", `${story.chat}/message`, { parentId: story.head, content: "On.", generate: true });
  const node = await ended(story.chat, sent.generations[0].id);
  if (model.requests.length === 0) throw new Error(`${prompt[0]}: ${JSON.stringify(node.metadata.error)}`);
  const whole = performance.now() - asked;
  const times = [];
  for (let n = 0; n < TIMES; n++) {
    const took = await stopAfter(story, (whole * n) / TIMES);
    if (took !== null) times.push(took);
  }
  model.reset();
  times.sort((one, other) => one - other);
  const ms = (value) => (value === undefined ? "-" : `${Math.round(value)} ms`);
  return { row: [prompt[0], ms(whole), times.length, ms(times[times.length >> 1]), ms(times.at(-1))], slowest: times.at(-1) ?? 0 };
}

console.log("| prompt | time to build it | stopped meanwhile | median until the reply has ended | slowest |");
console.log("| --- | --- | --- | --- | --- |");
let slowest = 0;
for (const prompt of PROMPTS) {
  const found = await measure(prompt);
  slowest = Math.max(slowest, found.slowest);
  console.log(`| ${found.row.join(" | ")} |`);
}
await clotho.close();
await model.close();
process.exit(slowest <= LIMIT ? 0 : 1);
