// Every command of the page, registered once: what it is called, which keys run it, when it can run.
import { drawn, focusedMessage, isFocusLost } from "../lib/focus.js";
import { t } from "../lib/i18n.js";
import { hasOwnUndo, isTyping, pressed } from "../lib/keys.js";
import { mayRearrange, tell } from "../model/page.js";
import { focusField, focusOn } from "../model/story.js";
import { isLinear, shown } from "../tree/line.js";

/** @import { Key } from "../lib/i18n.js" */
/** @import { ChatNode } from "../lib/wire.d.ts" */

/**
 * @typedef {object} Context
 * @property {ChatNode | null} node the message the command is for: the focused one, or the one whose button was used
 * @property {string} [key] which of its keys was pressed
 *
 * @typedef {object} Command
 * @property {string} id
 * @property {Key} label
 * @property {string} icon a symbol of icons.svg
 * @property {string[]} [keys]
 * @property {"page" | "message"} scope keys of message commands work while a message is focused
 * @property {(context: Context) => boolean} [enabled]
 * @property {(context: Context) => boolean} [waits] it cannot run, but soon can again: its button stays, dimmed
 * @property {boolean} [rearranges] a server can refuse that altogether
 * @property {(context: Context) => boolean} [inTree] whether only one line being shown is why it cannot run
 * @property {boolean} [leavesTyping] its keys mean something else in a field, and there they keep that meaning, unless the field is empty and has nothing to take back
 * @property {(context: Context) => unknown} run
 */

/** @type {Map<string, Command>} */
const commands = new Map();

/** @param {Command} command */
export function register(command) {
  commands.set(command.id, command);
}

/** @param {Command["scope"]} scope */
export const commandsOf = (scope) => [...commands.values()].filter((command) => command.scope === scope);

/** @param {string} id @returns {Command} */
export function command(id) {
  const found = commands.get(id);
  if (!found) throw new Error(`no such command: ${id}`);
  return found;
}

/** @param {string} id @param {ChatNode | null} [node] */
export function canRun(id, node = null) {
  const { rearranges, enabled } = command(id);
  return (!rearranges || mayRearrange.value) && (enabled?.({ node }) ?? true);
}

/** Whether a command that cannot run now only waits for something. @param {string} id @param {ChatNode | null} [node] */
export function isWaiting(id, node = null) {
  return command(id).waits?.({ node }) ?? false;
}

/** @param {string} id @param {ChatNode | null} [node] @param {string} [key] */
export function run(id, node = null, key = "") {
  if (canRun(id, node)) void perform(command(id), { node, key });
}

/** Where the reader last used a command: the message, and the line at that time. @type {{place: string, line: readonly string[]}} */
let used = { place: "", line: [] };

/**
 * Runs a command. Who used a button that is no longer there finds the message it belonged to, the nearest one above, or the
 * field. Of several commands under way it is the last one used that says where.
 * @param {Command} what @param {Context} context
 */
async function perform(what, context) {
  const hadFocus = !isFocusLost();
  if (hadFocus) used = { place: focusedMessage() ?? context.node?.id ?? "", line: shown.peek() };
  await what.run(context);
  await drawn();
  if (!hadFocus || !isFocusLost()) return;
  const { place, line } = used;
  const near = line.slice(0, line.indexOf(place) + 1).findLast((id) => shown.peek().includes(id));
  if (near) focusOn(near);
  else focusField();
}

/**
 * Runs the command whose keys were pressed, if any.
 * @param {KeyboardEvent} event
 * @param {ChatNode | null} node the focused message
 * @returns {boolean} whether the keys meant something
 */
export function runKeys(event, node) {
  if (event.defaultPrevented) return true;
  // Escape closes an open menu, and nothing else.
  if (event.key === "Escape" && document.querySelector(":popover-open")) return true;
  let isHidden = false;
  // What is registered later is nearer to what the reader is doing: Escape ends that before it closes what the page says.
  for (const { id, keys = [], scope, leavesTyping, inTree } of [...commands.values()].reverse()) {
    const hit = keys.find((shortcut) => pressed(event, shortcut));
    if (!hit || (scope === "message" && !node)) continue;
    if (leavesTyping ? hasOwnUndo(event.target) : isTyping(event.target) && !hit.startsWith("mod+") && hit !== "Escape") continue;
    if (!canRun(id, node)) {
      isHidden ||= isLinear.peek() && (inTree?.({ node }) ?? false);
      continue;
    }
    event.preventDefault();
    run(id, node, hit);
    return true;
  }
  if (!isHidden) return false;
  event.preventDefault();
  tell({ tone: "quiet", text: t("notice.oneLine"), act: { label: "command.tree", run: () => run("session.tree") } });
  return true;
}

/** Of a command that is about other lines than the one on screen, whatever its message. */
export const always = () => true;
