// Creates sessions of ten thousand messages. Importing a chat of another program is faster than sending that many
// messages.
import { greeting, header, jsonLines, userMessage } from "./sillytavern-folder.mjs";
import { waitUntil } from "./browser.mjs";

/** Every `every`-th reply has `count` versions. */
const VERSIONS = { every: 20, count: 5 };

/**
 * Creates a session with a branch of `size` messages below its first one. Some of them have other versions.
 * @param {import("./server.mjs").Clotho} clotho @param {number} size @param {(n: number) => string} [write] the text of each
 * @returns {Promise<string>} its address
 */
export async function createLongSession(clotho, size, write = (n) => `Step ${n} of a long way.`) {
  const all = Array.from({ length: size }, (_, i) => {
    const isReply = i % 2 === 1;
    const message = userMessage(write(i), i, { is_user: !isReply, name: isReply ? "Ivo" : "You" });
    if (!isReply || i % VERSIONS.every !== 1) return message;
    const swipes = Array.from({ length: VERSIONS.count }, (_, n) =>
      n === 0 ? write(i) : `Another step ${i}, the ${n}.`,
    );
    return { ...message, swipe_id: 0, swipes };
  });
  const headers = { Origin: clotho.base, "Content-Type": "application/zip" };
  const me = await (await fetch(`${clotho.base}/api/auth/me`)).json();
  if (me?.csrf) headers["X-CSRF-Token"] = me.csrf;
  const before = new Set((await clotho.api("GET", "/api/sessions?limit=500")).items.map(({ id }) => id));
  const answer = await fetch(`${clotho.base}/api/import?name=Long.jsonl`, {
    method: "POST",
    headers,
    body: jsonLines(header(), greeting, ...all),
  });
  if (!answer.ok) throw new Error(`it did not come in: ${answer.status} ${await answer.text()}`);
  const { jobId } = await answer.json();
  let job;
  await waitUntil(
    async () => !["queued", "running"].includes((job = await clotho.api("GET", `/api/jobs/${jobId}`)).state),
    "the story has come in",
    300_000,
  );
  const [story] = (await clotho.api("GET", "/api/sessions?limit=500")).items.filter(({ id }) => !before.has(id));
  if (!story) throw new Error(`nothing has come in: ${JSON.stringify(job)}`);
  return `/s/${story.id}`;
}
