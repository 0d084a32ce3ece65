// Drives the real SillyTavern for sillytavern-roundtrip.sh:
//   prepare PACKAGE ROOT            fills a data root through SillyTavern's HTTP API and keeps what it then reads
//   compare PACKAGE ROOT OTHER      reads the data root OTHER and compares it with what was kept for ROOT
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

/** Starts SillyTavern on a free port of 127.0.0.1. `call` sends a request to its API as its page does. */
async function startSillyTavern(programFolder, root, skipContentCheck) {
  await mkdir(root, { recursive: true });
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  const log = await open(`${root}.log`, "a");
  const options = { port, dataRoot: root, configPath: `${root}.yaml`, listen: false, browserLaunchEnabled: false };
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, `${value}`]);
  const env = { ...process.env, SILLYTAVERN_SKIPCONTENTCHECK: `${skipContentCheck}` };
  const stdio = ["ignore", log.fd, log.fd];
  const child = spawn(process.execPath, [join(programFolder, "server.js"), ...words], { stdio, env });
  const ended = once(child, "exit");
  process.once("exit", () => child.kill("SIGKILL"));
  const base = `http://127.0.0.1:${port}`;
  let token;
  for (const until = Date.now() + 180_000; token === undefined; await new Promise((resume) => setTimeout(resume, 300))) {
    if (child.exitCode !== null || Date.now() > until) throw new Error(`SillyTavern did not start: see ${root}.log`);
    token = await fetch(`${base}/csrf-token`).catch(() => undefined);
  }
  const headers = { cookie: token.headers.getSetCookie().map((line) => line.split(";")[0]).join("; ") };
  headers["x-csrf-token"] = (await token.json()).token;
  const answer = async (path, init) => {
    const got = await fetch(base + path, { ...init, headers: { ...headers, ...init?.headers } });
    if (!got.ok) throw new Error(`${path}: ${got.status} ${await got.text()}`);
    return got;
  };
  return {
    async call(path, body = {}) {
      const form = body instanceof FormData;
      const init = form ? { body } : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
      const text = await (await answer(path, { method: "POST", ...init })).text();
      return text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text;
    },
    /** Reads the chunks of a PNG file that hold its picture, so not its texts. */
    async picture(path) {
      const file = Buffer.from(await (await answer(path)).arrayBuffer());
      const kept = [];
      for (let at = 8; at + 12 <= file.length; at += 12 + file.readUInt32BE(at)) {
        const chunk = file.subarray(at + 4, at + 8 + file.readUInt32BE(at));
        if (chunk.subarray(0, 4).toString() !== "tEXt") kept.push(chunk.toString("base64"));
      }
      return kept;
    },
    async stop() {
      child.kill("SIGKILL");
      await ended;
      await log.close();
    },
  };
}

const date = (minute) => new Date(1_760_000_000_000 + minute * 60_000).toISOString();
const facts = (minute, model) => ({
  ...{ send_date: date(minute), gen_started: date(minute), gen_finished: date(minute) },
  extra: { api: "openai", model, reasoning: `Thought of ${model}.`, reasoning_duration: 1200, token_count: 7 },
});
const user = (mes, minute, extra = {}) => ({
  ...{ name: "Wren", is_user: true, is_system: false, send_date: date(minute), mes, extra },
  force_avatar: "/thumbnail?type=persona&file=wren.png",
});
const reply = (swipes, shown, minute, more = {}) => ({
  ...{ name: "Ivo", is_user: false, is_system: false, mes: swipes[shown], swipe_id: shown, swipes },
  ...{ ...facts(minute + shown, `m${shown}`), swipe_info: swipes.map((_, n) => facts(minute + n, `m${n}`)), ...more },
});
const header = (chat_metadata) => ({ chat_metadata, user_name: "unused", character_name: "unused" });
const persona = "wren.png";
const note = { note_prompt: "Keep it dark.", note_interval: 2, note_position: 1, note_depth: 3, note_role: 1 };

/** The chats of one character: swipes, branches, a checkpoint, hidden and narrated lines, variables, several scripts. */
function chatsOfIvo() {
  const night = [
    reply(["Good evening.", "Who is there?"], 1, 0),
    user("Who keeps the lamp?\n\n*She waits.*", 3),
    reply(["I do.", "Nobody does. “Why?”", "灯塔无人看守。🕯️"], 1, 4, { variables: [{ a: 1 }, { a: 2 }, { a: 3 }] }),
  ];
  const on = [user("Show me.", 9, { bookmark_link: "Checkpoint #1" }), reply(["Come up.  \nMind the step."], 0, 10)];
  const hidden = { ...user("A hidden line.", 11), is_system: true };
  const narrated = { ...reply(["The wind rises."], 0, 12), name: "Narrator", extra: { type: "narrator" } };
  narrated.swipe_info[0].extra = narrated.extra;
  const dawn = [reply(["Good morning."], 0, 30), user("Up?", 31)];
  const dusk = [reply(["It is late."], 0, 40), user("How late?", 41), user("Hm.", 42)];
  const metadata = { integrity: "11111111-1111-4111-8111-111111111111", persona, variables: { oil: "7" } };
  const linked = { ...metadata, main_chat: "Night" };
  const long = Array.from({ length: 400 }, (_, n) =>
    n % 2 ? reply([`Answer ${n}.`, `Другой ответ ${n}.`], n % 4 === 1 ? 0 : 1, n * 3) : user(`Line ${n}.`, n * 3),
  );
  return {
    // The branch goes on from another swipe than the one with which the main chat ends.
    Dawn: [header({ persona }), ...dawn, reply(["No.", "Yes."], 1, 32)],
    "Dawn - Branch #1": [header({ persona, main_chat: "Dawn" }), ...dawn, reply(["No."], 0, 32), user("Then sleep.", 34)],
    // The branch is longer than the main chat, and neither names a persona.
    Dusk: [header({}), ...dusk],
    "Dusk - Branch #1": [header({ main_chat: "Dusk" }), ...dusk.slice(0, 2), user("Now?", 43), reply(["Now."], 0, 44)],
    Night: [header({ ...metadata, ...note, world_info: "Atlas" }), ...night, ...on, hidden, narrated],
    "Night - Branch #1": [header({ ...linked, ...note, tainted: true }), ...night, user("Goodbye.", 20), reply(["Stay."], 0, 21)],
    "Checkpoint #1": [header({ ...linked, ...note }), ...night, user("Show me.", 9)],
    "Ivo - 2026-01-02@03h04m05s": [header({ persona }), reply(["Good evening."], 0, 0), ...long],
  };
}

const entry = (uid, key, more = {}) => ({
  ...{ uid, key, keysecondary: [], comment: `Entry ${uid}`, content: `Text of ${key[0]}.`, constant: false, vectorized: false },
  ...{ selective: true, selectiveLogic: 0, addMemo: true, order: 100, position: 0, disable: false, ignoreBudget: false },
  ...{ excludeRecursion: false, preventRecursion: false, delayUntilRecursion: false, probability: 100, useProbability: true },
  ...{ depth: 4, outletName: "", group: "", groupOverride: false, groupWeight: 100, scanDepth: null, caseSensitive: null },
  ...{ matchWholeWords: null, useGroupScoring: null, automationId: "", role: null, sticky: 0, cooldown: 0, delay: 0 },
  ...{ characterFilter: { isExclude: false, names: [], tags: [] }, triggers: [], displayIndex: uid, ...more },
});
const worlds = {
  Atlas: [
    entry(0, ["lamp", "/li(gh)?t/i"], { keysecondary: ["night"], selectiveLogic: 3, sticky: 2, cooldown: 1, delay: 4 }),
    entry(1, ["灯"], { position: 4, role: 1, depth: 2, group: "g", groupWeight: 40, probability: 33, scanDepth: 6 }),
    entry(2, ["tower"], { constant: true, disable: true, characterFilter: { isExclude: true, names: ["Ivo"], tags: [] } }),
  ],
  "Sea of glass": [entry(0, ["sea"], { vectorized: true, automationId: "wave", delayUntilRecursion: 2, triggers: ["swipe"] })],
};

/** Fills a running SillyTavern through its API. */
async function fill({ call }, programFolder) {
  const picture = new Blob([await readFile(join(programFolder, "default/content/user-default.png"))], { type: "image/png" });
  const send = (path, fields) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) for (const one of [value].flat()) form.append(name, one);
    return call(path, form);
  };
  for (const [name, entries] of Object.entries(worlds)) {
    await call("/api/worldinfo/edit", { name, data: { entries: Object.fromEntries(entries.map((one) => [one.uid, one])) } });
  }
  const about = { description: "{{char}} keeps the lamps.", personality: "Calm", scenario: "A tower.", creator: "Somebody" };
  const deep = { depth_prompt_prompt: "Be brief.", depth_prompt_depth: 2, depth_prompt_role: "user", talkativeness: 0.3 };
  const prompts = { system_prompt: "{{original}} Slow.", post_history_instructions: "No lists.", creator_notes: "# Notes" };
  const greetings = { first_mes: "Good evening.", alternate_greetings: ["Who is there?", "晚上好。"], mes_example: "<START>\nA" };
  const regex = { id: "r1", scriptName: "dim", findRegex: "/a/g", replaceString: "b", placement: [2], disabled: false };
  const ivo = { ch_name: "Ivo", ...about, ...deep, ...prompts, ...greetings, tags: "sea, night", world: "Atlas", fav: "true" };
  const extensions = JSON.stringify({ regex_scripts: [regex], unknown_program: { kept: [1, { deep: null }] } });
  await send("/api/characters/create", { ...ivo, extensions, character_version: "1.2", avatar: picture });
  await send("/api/characters/create", { ch_name: "Mara Löwe", ...about, ...greetings, avatar: picture });
  const mara = [header({ persona }), { ...reply(["Hm.", "Hm?"], 0, 0), name: "Mara Löwe" }, user("Yes.", 1)];
  for (const [ch_name, open, chats] of [["Ivo", "Night", chatsOfIvo()], ["Mara Löwe", "Mara - first", { "Mara - first": mara }]]) {
    const avatar_url = `${ch_name}.png`;
    for (const [file_name, chat] of Object.entries(chats)) await call("/api/chats/save", { avatar_url, file_name, chat });
    await call("/api/characters/edit-attribute", { avatar_url, ch_name, field: "chat", value: open });
  }
  const group = { name: "Both", members: ["Ivo.png", "Mara Löwe.png"], chat_id: "g1", chats: ["g1"], activation_strategy: 1 };
  await call("/api/groups/create", { ...group, disabled_members: ["Ivo.png"], allow_self_responses: true, fav: false });
  const speaks = (who, ...rest) => ({ ...reply(...rest), name: who, original_avatar: `${who}.png`, force_avatar: `/c/${who}` });
  const together = [user("Both of you?", 2), speaks("Ivo", ["Yes.", "No."], 1, 3), speaks("Mara Löwe", ["So."], 0, 6)];
  await call("/api/chats/group/save", { id: "g1", chat: [header({ persona, ...note }), ...together] });
  for (const overwrite_name of ["wren.png", "second.png"]) await send("/api/avatars/upload", { overwrite_name, avatar: picture });

  const read = await call("/api/settings/get");
  const preset = { ...JSON.parse(read.openai_settings[0]), temperature: 0.73, unknown_field: { x: 1 } };
  await call("/api/presets/save", { apiId: "openai", name: "Mine / 1", preset });
  for (const apiId of ["textgenerationwebui", "kobold", "novel", "instruct", "context", "sysprompt", "reasoning"]) {
    await call("/api/presets/save", { apiId, name: `Mine ${apiId}`, preset: { name: `Mine ${apiId}`, temp: 0.5, content: "灯" } });
  }
  await call("/api/quick-replies/save", { version: 2, name: "Mine", qrList: [{ id: 1, label: "Go", message: "/echo 1" }] });
  await call("/api/themes/save", { name: "Mine", blur_strength: 3 });
  const settings = JSON.parse(read.settings);
  const aboutPersona = { position: 0, depth: 2, role: 0, lorebook: "", title: "", connections: [] };
  const connections = [{ type: "character", id: "Ivo.png" }];
  Object.assign(settings.power_user, {
    personas: { "wren.png": "Wren", "second.png": "Second self" },
    persona_descriptions: {
      "wren.png": { ...aboutPersona, description: "Walks at night.", lorebook: "Sea of glass", title: "by day" },
      "second.png": { ...aboutPersona, description: "第二。", position: 4, depth: 5, role: 1, connections },
    },
    default_persona: persona,
  });
  settings.tags.push({ id: "t1", name: "keeper", color: "", color2: "", folder_type: "NONE", sort_order: 2, create_date: 1 });
  settings.tag_map["Ivo.png"] = ["t1"];
  const world_info = { globalSelect: ["Sea of glass"], charLore: [{ name: "Ivo", extraBooks: ["Sea of glass"] }] };
  const scan = { world_info_depth: 5, world_info_recursive: false, world_info_budget: 40 };
  Object.assign(settings.world_info_settings, { world_info, ...scan });
  const noteOfCard = { name: "Ivo", prompt: "Softly.", position: 1, useChara: true };
  const variables = { global: { gold: "7" } };
  Object.assign(settings.extension_settings, { regex: [{ ...regex, id: "r2" }], variables });
  settings.extension_settings.note.chara = [noteOfCard];
  await call("/api/settings/save", settings);
}

/** Reads all that is compared: `{part: {name: value}}`. Dates and sizes of files are left out. */
async function readAll({ call, picture }) {
  const parts = {};
  const put = (part, name, value) => ((parts[part] ??= {})[name] = value);
  const chat = (name, rows) => {
    const [first, ...messages] = Array.isArray(rows) ? rows : [{}];
    put("chat headers", name, first);
    const without = ({ swipes: _, swipe_id: __, swipe_info: ___, variables: ____, mes: _____, ...rest }) => rest;
    put("messages: texts", name, messages.map((row) => row.mes));
    put("messages: swipes and which is shown", name, messages.map((row) => [row.swipes, row.swipe_id]));
    put("messages: facts and variables of swipes", name, messages.map((row) => [row.swipe_info, row.variables]));
    put("messages: all other fields", name, messages.map(without));
  };
  for (const card of await call("/api/characters/all")) {
    put("characters", card.avatar, JSON.parse(card.json_data));
    put("characters: pictures", card.avatar, await picture(`/characters/${encodeURIComponent(card.avatar)}`));
    const list = await call("/api/characters/chats", { avatar_url: card.avatar });
    for (const { file_name } of Array.isArray(list) ? list : []) {
      const body = { avatar_url: card.avatar, file_name: file_name.replace(/\.jsonl$/, "") };
      chat(`${card.avatar}: ${file_name}`, await call("/api/chats/get", body));
    }
  }
  for (const { create_date, date_added, date_last_chat, chat_size, ...group } of await call("/api/groups/all")) {
    put("groups", group.id, group);
    for (const id of group.chats) chat(`group: ${id}`, await call("/api/chats/group/get", { id }));
  }
  for (const name of await call("/api/avatars/get")) put("personas: pictures", name, await picture(`/User%20Avatars/${name}`));
  const { settings: text, world_names, ...rest } = await call("/api/settings/get");
  for (const name of world_names) put("lorebooks", name, await call("/api/worldinfo/get", { name }));
  for (const kind of ["koboldai", "novelai", "openai", "textgenerationwebui"]) {
    const files = rest[`${kind}_settings`] ?? rest[`${kind}_presets`];
    const names = rest[`${kind}_setting_names`] ?? rest[`${kind}_preset_names`];
    names.forEach((name, n) => put(`presets: ${kind}`, name, JSON.parse(files[n])));
  }
  for (const kind of ["instruct", "context", "sysprompt", "reasoning", "quickReplyPresets", "themes", "movingUIPresets"]) {
    for (const one of rest[kind]) put(`presets: ${kind}`, one.name, one);
  }
  const settings = JSON.parse(text);
  const { personas = {}, persona_descriptions: described = {}, default_persona } = settings.power_user ?? {};
  for (const id of Object.keys(personas)) put("personas", id, [personas[id], described[id], id === default_persona]);
  for (const [card, ids] of Object.entries(settings.tag_map)) {
    put("tags given to characters", card, settings.tags.filter((tag) => ids.includes(tag.id)).map((tag) => tag.name).sort());
  }
  for (const { name, id: _, ...tag } of settings.tags) put("tags: colours, folders and order", name, tag);
  put("World Info settings", "settings.json", settings.world_info_settings);
  for (const part of ["regex", "note", "variables"]) put("settings of extensions", part, settings.extension_settings?.[part]);
  return JSON.parse(JSON.stringify(parts));
}

/** The known differences, as docs/export.md lists them. Anything else is a fault. */
const KNOWN = [
  [/: (The Lantern Keep|守灯堡)\.png: missing/, "Clotho's own characters are in the folder too"],
  [/^tags: .*: (adventure|dice|no model needed|冒险|骰子|不用模型): missing/, "Clotho's own characters are in the folder too"],
  [/\/tags\/\d+: missing|^tags: .*: (sea|night): missing|^tags given .*: Ivo/, "tags of the card and of SillyTavern are one list"],
  [/^tags: /, "colours, folders and order of tags are not kept"],
  [/\/character_book\/.*(missing -> (false|""|\[\]|\{\})|(false|0) -> null)$/, "a card's copy of its lorebook is made anew"],
  [/\/character_book\/.*clotho: missing|\/data\/sillytavern: missing/, "a card also has its note, more lorebooks and filters"],
  [/^characters.*\/chat: /, "the open chat is that of the story with the newest message"],
  [/\.png\/(create_date: |creator: missing)/, "fields of the oldest kind of card are filled in"],
  [/^chat headers: .*\/persona: missing/, "a chat without a persona names the one that plays it"],
  [/Checkpoint #1\.jsonl\/\d+\/extra\/bookmark_link: missing/, "a message in several chats has the facts of the longest one"],
  [/: Dawn - Branch #1\.jsonl\/2\/.*: missing/, "a message in several chats has the swipes of all of them"],
  [/^personas: pictures: user-default/, "pictures that no persona has are not kept"],
  [/^lorebooks: .*\/name: missing/, "a lorebook has its name inside"],
  [/^presets: movingUI/, "positions of panels are not kept"],
  [/^World Info settings: .*(: missing -> |overflow_alert)/, "World Info settings are written in full, without the alert"],
  [/: note\/(default|wiAddition): /, "only the notes of characters are kept"],
];

/** Lists the places where two values differ, as `path: first -> second`. */
function differences(first, second, path = "") {
  if (isDeepStrictEqual(first, second)) return [];
  const isMap = (value) => typeof value === "object" && value !== null;
  if (!isMap(first) || !isMap(second)) return [`${path}: ${show(first)} -> ${show(second)}`];
  const keys = new Set([...Object.keys(first), ...Object.keys(second)]);
  return [...keys].flatMap((key) => differences(first[key], second[key], `${path}/${key}`));
}
const show = (value) => (value === undefined ? "missing" : JSON.stringify(value).slice(0, 160));

/** Prints the table and returns how many differences are not known. */
function compare(first, second) {
  const [reasons, faults] = [new Map(), []];
  console.log("| what | in the first folder | equal | known differences | faults |\n| --- | --: | --: | --: | --: |");
  for (const part of new Set([...Object.keys(first), ...Object.keys(second)])) {
    const [one, other] = [first[part] ?? {}, second[part] ?? {}];
    const counts = { equal: 0, known: 0, fault: 0 };
    for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
      const found = differences(one[name], other[name]).map((text) => `${part}: ${name}${text}`);
      const unknown = found.filter((text) => {
        const reason = KNOWN.find(([pattern]) => pattern.test(text))?.[1];
        if (reason) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
        return !reason;
      });
      counts[unknown.length > 0 ? "fault" : found.length > 0 ? "known" : "equal"] += 1;
      faults.push(...unknown);
    }
    console.log(`| ${part} | ${Object.keys(one).length} | ${Object.values(counts).join(" | ")} |`);
  }
  console.log("\nKnown differences:");
  for (const [reason, count] of reasons) console.log(`- ${reason} (${count})`);
  console.log(faults.length === 0 ? "\nNothing else differs." : `\nFaults:\n${faults.slice(0, 100).join("\n")}`);
  return faults.length;
}

const [command, programFolder, root, other] = process.argv.slice(2);
const app = await startSillyTavern(programFolder, command === "prepare" ? root : other, command !== "prepare");
try {
  if (command === "prepare") {
    await fill(app, programFolder);
    await writeFile(`${root}.json`, JSON.stringify(await readAll(app)));
  } else {
    const { version } = JSON.parse(await readFile(join(programFolder, "package.json"), "utf8"));
    console.log(`SillyTavern ${version}, node ${process.version}\n`);
    const first = JSON.parse(await readFile(`${root}.json`, "utf8"));
    if (compare(first, await readAll(app)) > 0) process.exitCode = 1;
  }
} finally {
  await app.stop();
}
