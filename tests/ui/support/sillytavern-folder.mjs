// A sample data folder of SillyTavern.
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const date = (minute) => new Date(1_740_000_000_000 + minute * 60_000).toISOString();
export const header = (metadata = {}) => ({ chat_metadata: metadata, user_name: "unused", character_name: "unused" });
export const greeting = {
  name: "Ivo",
  is_user: false,
  is_system: false,
  send_date: date(0),
  mes: "Good evening.",
  extra: {},
};
export const userMessage = (mes, minute) => ({
  name: "Wren",
  is_user: true,
  is_system: false,
  send_date: date(minute),
  mes,
  extra: {},
});
export const replyMessage = (swipes, minute) => ({
  name: "Ivo",
  is_user: false,
  is_system: false,
  send_date: date(minute),
  mes: swipes[0],
  extra: {},
  swipes,
  swipe_id: 0,
  swipe_info: swipes.map(() => ({ send_date: date(minute), extra: {} })),
});
/** Joins the lines of a chat file. Texts are kept, other rows become JSON. */
export const jsonLines = (...rows) =>
  rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n");

/**
 * Returns the files of a folder: a chat with a branch, chats that share only the greeting, a broken line, and files that no session needs.
 * @returns {Record<string, string>}
 */
export function sampleFiles(greeted = 30) {
  const night = [greeting, userMessage("Who keeps the lamp?", 1), replyMessage(["I do.", "Nobody does."], 2)];
  return {
    "characters/Ivo.json": JSON.stringify({
      spec: "chara_card_v2",
      spec_version: "2.0",
      data: {
        name: "Ivo",
        description: "Keeps the lamps.",
        first_mes: "Good evening.",
        extensions: { regex_scripts: [{ scriptName: "dim", findRegex: "a", replaceString: "b" }] },
      },
    }),
    "chats/Ivo/Night.jsonl": jsonLines(header(), ...night, userMessage("Show me.", 3), replyMessage(["Come up."], 4)),
    "chats/Ivo/Night - Branch.jsonl": jsonLines(header({ main_chat: "Night" }), ...night, userMessage("Goodbye.", 3)),
    "chats/Ivo/Torn.jsonl": jsonLines(header(), greeting, "{ this is torn", userMessage("Torn?", 1)),
    ...Object.fromEntries(
      Array.from({ length: greeted }, (_, n) => [
        `chats/Ivo/Evening ${n}.jsonl`,
        jsonLines(header(), greeting, userMessage(`Evening ${n}.`, 1)),
      ]),
    ),
    "backgrounds/sea.jpg": "x".repeat(1000),
    "secrets.json": '{"api_key_openai": "never sent"}',
  };
}

/** Writes files into a new folder. @param {Record<string, string>} all @returns {Promise<string>} its path */
export async function writeFolder(all) {
  const top = join(await mkdtemp(join(tmpdir(), "clotho-root-")), "default-user");
  for (const [path, text] of Object.entries(all)) {
    await mkdir(dirname(join(top, path)), { recursive: true });
    await writeFile(join(top, path), text);
  }
  return top;
}
