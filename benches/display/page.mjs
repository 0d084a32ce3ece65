// What the bench `display` measures of the server's scripts, for the page's own: the same scripts on the same texts, in
// V8.
//   (cd tools/vendor && npm ci) && node --import ./tests/ui/support/typescript.mjs benches/display/page.mjs
// One thread, as the page has one worker for them. Times are CPU time of the process, with what V8 compiles beside it.
import { readFileSync } from "node:fs";
import { made } from "../../static/src/lib/scripts.ts";

const ROUNDS = 31;
const LONG_ROUNDS = 3;
/** Words a second of a stream. */
const RATE = 50;
/** How often the scripts run at most, in times a second. 33 is how often the page draws a text that arrives. */
const RUNS = [RATE, 33, 10, 4, 1];
const SIZES = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [2_000, 8_000];
const [USER, REPLY] = [1, 2];

const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));
const texts = read("texts.json");
/** The scripts as the server tells the page of them. */
const items = read("scripts.json").map((raw) => ({
  scope: "preset",
  characterId: null,
  name: raw.scriptName,
  find: raw.findRegex,
  replace: raw.replaceString,
  trim: raw.trimStrings,
  placements: raw.placement,
  isForDisplay: raw.markdownOnly,
  isForPrompts: raw.promptOnly,
  isOnEdit: raw.runOnEdit,
  macros: { 1: "raw", 2: "escaped" }[raw.substituteRegex] ?? "plain",
  minDepth: raw.minDepth,
  maxDepth: raw.maxDepth,
}));
const values = Array.from({ length: 50 }, (_, n) => [`value_${n}`, n]);
const setup = {
  items,
  casts: [{ characterId: null, values: { user: "Ada", char: "Rin" } }],
  local: { ...Object.fromEntries(values), gold: 12, day: 3 },
  globals: {},
};

const show = (text, placement, depth) =>
  made(setup, text, { placement, came: "written", depth, character: null, speaker: null }).text;
/** Milliseconds of CPU time. */
const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
};
const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
const head = (title, columns) =>
  console.log(`\n## ${title}\n\n| ${columns.join(" | ")} |\n|${" --- |".repeat(columns.length)}`);
const row = (...cells) => console.log(`| ${cells.join(" | ")} |`);

function reply(size) {
  let text = texts.opening;
  for (let n = 0; ; n += 1) {
    text += texts.paragraphs[n % texts.paragraphs.length];
    if (text.length + texts.ending.length >= size) return text + texts.ending;
    text += "\n\n";
  }
}

/** Plays a reply word by word. Returns the CPU time and how often the scripts ran. */
function stream(text, runs) {
  const words = text.split(/(?<= )/);
  let [soFar, credit, count] = ["", RATE, 0];
  const before = cpu();
  for (const word of words) {
    soFar += word;
    const isDue = credit >= RATE;
    credit = (credit % RATE) + runs;
    if (!isDue && soFar.length < text.length) continue;
    show(soFar, REPLY, 0);
    count += 1;
  }
  return { time: cpu() - before, count, seconds: words.length / RATE };
}

head("The page: a whole reply, once", ["characters", "shown", "the first time", "then"]);
for (const size of SIZES) {
  const text = reply(size);
  const first = cpu();
  const shown = show(text, REPLY, 0);
  const cold = cpu() - first;
  const all = Array.from({ length: ROUNDS }, () => {
    const before = cpu();
    for (let n = 0; n < 20; n += 1) show(text, REPLY, 0);
    return (cpu() - before) / 20;
  });
  row(text.length, shown.length, `${(cold * 1e3).toFixed(0)} us`, `${(median(all) * 1e3).toFixed(0)} us`);
}

head(`The page: a reply of ${RATE} words a second`, ["characters", "runs a second", "a run", "in cores"]);
for (const size of SIZES)
  for (const runs of RUNS) {
    const all = Array.from({ length: LONG_ROUNDS }, () => stream(reply(size), runs));
    const { count, seconds } = all[0];
    const time = median(all.map((one) => one.time));
    row(size, runs, `${((time * 1e3) / count).toFixed(0)} us`, (time / 1e3 / seconds).toFixed(3));
  }

head("The page: all messages of a chat that is opened", ["messages", "characters of a reply", "scripts"]);
for (const size of SIZES)
  for (const count of [60, 500]) {
    const text = reply(size);
    const all = Array.from({ length: LONG_ROUNDS }, () => {
      const before = cpu();
      for (let depth = 0; depth < count; depth += 1)
        if ((count - 1 - depth) % 2 === 0) show(texts.message, USER, depth);
        else show(text, REPLY, depth);
      return cpu() - before;
    });
    row(count, size, `${median(all).toFixed(2)} ms`);
  }
