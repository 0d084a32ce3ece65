// Doing something with several messages at once; taking a line along as a file.
import { choose, chosen, moving } from "../model/arrangement.js";
import * as story from "../model/story.js";
import { stepped } from "../model/trail.js";
import * as api from "../net/arrange.js";
import { shown } from "../tree/line.js";
import { canArrange } from "./arrange.js";
import { always, register } from "./commands.js";
import { attempt } from "./failure.js";
import { refresh, sid } from "./follow.js";

/** @import { Id } from "../lib/wire.d.ts" */

/** The message that was chosen last: where a range begins. @type {Id | null} */
let from = null;

/** Chooses a message or lets go of it; with `range`, all between the last one and this one as well. @param {Id} id @param {boolean} range */
export function pick(id, range) {
  const now = chosen.peek() ?? [];
  const line = shown.peek().filter((one) => canArrange(story.peekNode(one)));
  const [one, two] = [line.indexOf(from ?? ""), line.indexOf(id)].sort((a, b) => a - b);
  if (range && one !== undefined && one >= 0) choose([...new Set([...now, ...line.slice(one, (two ?? one) + 1)])]);
  else choose(now.includes(id) ? now.filter((other) => other !== id) : [...now, id]);
  from = id;
}

/** @param {boolean} isEnabled whether later prompts have them */
async function setChosen(isEnabled) {
  const ids = (chosen.peek() ?? []).filter((id) => (story.peekNode(id)?.isEnabled ?? true) !== isEnabled);
  const made = ids.length > 0 ? await attempt(() => api.setStates(sid(), ids, isEnabled)) : { op: 0 };
  if (!made) return;
  stepped(made.op);
  choose(null);
  await refresh();
}

register({
  id: "message.choose",
  label: "command.choose",
  icon: "check",
  scope: "message",
  keys: ["s"],
  inTree: always,
  enabled: ({ node }) => canArrange(node) && moving.value === null,
  run: ({ node }) => node && pick(node.id, false),
});

for (const [id, symbol, isEnabled] of /** @type {const} */ ([["leaveOut", "eyeOff", false], ["putBack", "eye", true]])) {
  register({
    id: `chosen.${id}`,
    label: `command.${id}`,
    icon: symbol,
    scope: "page",
    enabled: () => (chosen.value?.length ?? 0) > 0,
    run: () => setChosen(isEnabled),
  });
}

register({
  id: "chosen.none",
  label: "cancel",
  icon: "close",
  scope: "page",
  keys: ["Escape"],
  enabled: () => chosen.value !== null,
  run: () => choose(null),
});

register({
  id: "session.file",
  label: "command.file",
  icon: "down",
  scope: "page",
  enabled: () => story.session.value !== null && (story.peek.value ?? story.head.value) !== null,
  run: () => {
    const leaf = story.peek.peek() ?? story.head.peek();
    const link = document.createElement("a");
    link.href = leaf ? api.lineFile(sid(), leaf) : "";
    link.download = "";
    link.click();
  },
});
