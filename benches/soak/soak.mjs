// Whether memory stays flat while everything is used at once for a long time, as Markdown.
//   CLOTHO_BIN=target/release/clotho node benches/soak/soak.mjs 30 120
// The numbers are the minutes (30 by default) and the pause of a player between two actions in milliseconds (120).
// Players write, regenerate, continue, edit, stop, search, preview prompts, rewind, import and export; failed replies and
// refused requests are among it. Each player deletes its session after a while and begins a new one, so that the data do
// not grow for ever. Resident memory is read every ten seconds. After a fifth of the time as a warm-up, the mean of each
// of four parts is compared with the first of them. It ends with 1 if one is more than 10 % away. Linux only.
import { readFile } from "node:fs/promises";
import { startClotho, startModel } from "../../tests/ui/support/server.mjs";

const MINUTES = Number(process.argv[2] ?? 30);
const PLAYERS = 6;
/** Messages after which a player begins a new session. */
const MESSAGES = 60;
const PAUSE = Number(process.argv[3] ?? 120);

const model = await startModel();
const clotho = await startClotho(`[[providers]]\nid = "mock"\nkind = "openai"\nbase_url = "${model.url}"\n`);
const end = Date.now() + MINUTES * 60_000;
const counts = { actions: 0, refused: 0 };
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs one action. Refusals are part of the mix, and a broken connection is not. */
async function act(action) {
  counts.actions += 1;
  try {
    return await action();
  } catch (error) {
    if (!/: [45]\d\d /.test(String(error))) throw error;
    counts.refused += 1;
    return null;
  }
}

async function memory() {
  const status = await readFile(`/proc/${clotho.pid()}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}

/** Waits until a reply has ended. Returns its node. */
async function ended(chat, id) {
  for (;;) {
    const node = await clotho.api("GET", `${chat}/node/${id}`);
    if (node.status !== "generating") return node;
    await pause(15);
  }
}

/** Waits until all replies of an answer have ended. */
const endedAll = (chat, { generations = [] }) => Promise.all(generations.map(({ id }) => ended(chat, id)));

const words = (n) => `The ferry is late, and the gulls know it. Line ${n}. `.repeat(4);
const actions = [
  async ({ chat, head }, n) => {
    const body = { parentId: head, content: words(n), generate: true };
    return endedAll(chat, await clotho.api("POST", `${chat}/message`, body));
  },
  async ({ chat, head }) => endedAll(chat, await clotho.api("POST", `${chat}/node/${head}/reroll`, {})),
  async ({ chat, head }) => endedAll(chat, await clotho.api("POST", `${chat}/node/${head}/continue`, {})),
  async ({ chat, head }, n) => clotho.api("POST", `${chat}/node/${head}/edit`, { content: words(n) }),
  async ({ chat, head }) => clotho.api("POST", `${chat}/prompt`, { parentId: head, content: "Where is the ferry?" }),
  async ({ chat }) => clotho.api("GET", `${chat}/tree`),
  async ({ chat }) => clotho.api("POST", `${chat}/undo`, {}),
  async ({ id }) => clotho.api("GET", `/api/search?q=ferry&session=${id}`),
  async () => clotho.api("POST", "/api/lorebooks/test", { text: "gulls", lorebookIds: [] }),
  async () => clotho.api("POST", "/api/characters", { name: "" }),
  async ({ chat }) => clotho.api("GET", `${chat}/node/no-id`),
  async () => {
    const card = await clotho.api("POST", "/api/characters/import", {
      spec: "chara_card_v2",
      data: { name: "Visitor", description: words(1), extensions: { x: Array(2_000).fill(0) } },
    });
    const [item] = card.items ?? [card];
    return item?.id && clotho.api("DELETE", `/api/characters/${item.id}`);
  },
];

async function play(name) {
  const character = await clotho.api("POST", "/api/characters", { name, firstMessage: "The pier is empty." });
  while (Date.now() < end) {
    const session = await clotho.api("POST", "/api/sessions", {
      characterIds: [character.id],
      model: "mock/m",
    });
    const player = { id: session.id, chat: `/api/chat/${session.id}`, head: session.activeLeafId ?? null };
    for (let n = 0; n < MESSAGES && Date.now() < end; n++) {
      // Every second action is a message, and the others take turns.
      const action = n % 2 === 0 ? actions[0] : actions[1 + ((n >> 1) % (actions.length - 1))];
      if (n % 17 === 0) model.queueReply(["Half a "]);
      if (n % 23 === 0) model.queueReply([null]);
      await act(() => action(player, n));
      const now = await act(() => clotho.api("GET", `${player.chat}/projection?limit=1`));
      player.head = now?.items?.at(-1)?.id ?? player.head;
      await pause(PAUSE);
    }
    await act(() => clotho.api("DELETE", `/api/sessions/${session.id}`));
    await act(() => clotho.api("DELETE", `/api/trash/${session.id}`));
  }
}

const samples = [];
const watch = (async () => {
  while (Date.now() < end) {
    samples.push(await memory());
    await pause(10_000);
  }
})();
const began = Date.now();
await Promise.all(Array.from({ length: PLAYERS }, (_, n) => play(`Player ${n}`)));
await watch;
await clotho.close();
await model.close();

const warm = samples.slice(Math.floor(samples.length / 5));
const part = Math.max(1, Math.floor(warm.length / 4));
const means = [0, 1, 2, 3].map((n) => {
  const some = warm.slice(n * part, (n + 1) * part);
  return some.reduce((sum, value) => sum + value, 0) / Math.max(1, some.length);
});
console.log(`${Math.round((Date.now() - began) / 60_000)} minutes, ${counts.actions} actions, ${counts.refused} refused.`);
console.log("| part | memory | to the first |\n| --- | --- | --- |");
means.forEach((mean, n) => console.log(`| ${n + 1} | ${mean.toFixed(1)} MB | ${(mean / means[0]).toFixed(2)} |`));
process.exit(means.every((mean) => Math.abs(mean / means[0] - 1) <= 0.1) ? 0 : 1);
