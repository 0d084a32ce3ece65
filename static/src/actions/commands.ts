// Every command of the page, registered once: what it is called, which keys run it, when it can run.
import { drawn, focusedMessage, isFocusLost } from "../lib/focus.ts";
import { t } from "../lib/i18n.ts";
import { hasOwnUndo, isTyping, pressed } from "../lib/keys.ts";
import { mayRearrange, tell } from "../model/page.ts";
import { focusField, focusOn } from "../model/story.ts";
import { isLinear, shown } from "../tree/line.ts";
import type { Key } from "../lib/i18n.ts";
import type { ChatNode } from "../lib/wire.d.ts";

interface Context {
  /** the message the command is for: the focused one, or the one whose button was used */
  node: ChatNode | null;
  /** which of its keys was pressed */
  key?: string;
}

export interface Command {
  id: string;
  label: Key;
  /** a symbol of icons.svg */
  icon: string;
  keys?: string[];
  /** keys of message commands work while a message is focused */
  scope: "page" | "message";
  enabled?: (context: Context) => boolean;
  /** it cannot run, but soon can again: its button stays, dimmed */
  waits?: (context: Context) => boolean;
  /** a server can refuse that altogether */
  rearranges?: boolean;
  /** whether only one line being shown is why it cannot run */
  inTree?: (context: Context) => boolean;
  /**
   * its keys mean something else in a field, and there they keep that meaning, unless the field is empty and has
   * nothing to take back
   */
  leavesTyping?: boolean;
  run: (context: Context) => unknown;
}

const commands: Map<string, Command> = new Map();

export function register(command: Command) {
  commands.set(command.id, command);
}

export const commandsOf = (scope: Command["scope"]) =>
  [...commands.values()].filter((command) => command.scope === scope);

export function command(id: string): Command {
  const found = commands.get(id);
  if (!found) throw new Error(`no such command: ${id}`);
  return found;
}

export function canRun(id: string, node: ChatNode | null = null) {
  const { rearranges, enabled } = command(id);
  return (!rearranges || mayRearrange.value) && (enabled?.({ node }) ?? true);
}

/** Whether a command that cannot run now only waits for something. */
export function isWaiting(id: string, node: ChatNode | null = null) {
  return command(id).waits?.({ node }) ?? false;
}

export function run(id: string, node: ChatNode | null = null, key: string = "") {
  if (canRun(id, node)) void perform(command(id), { node, key });
}

/** Where the reader last used a command: the message, and the line at that time. */
let used: { place: string; line: readonly string[] } = { place: "", line: [] };

/**
 * Runs a command. Who used a button that is no longer there finds the message it belonged to, the nearest one above,
 * or the field. Of several commands under way it is the last one used that says where.
 */
async function perform(what: Command, context: Context) {
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
 * @param node the focused message
 * @returns whether the keys meant something
 */
export function runKeys(event: KeyboardEvent, node: ChatNode | null): boolean {
  if (event.defaultPrevented) return true;
  // Escape closes an open menu, and nothing else.
  if (event.key === "Escape" && document.querySelector(":popover-open")) return true;
  let isHidden = false;
  // What is registered later is nearer to what the reader is doing: Escape ends that before it closes what the page
  // says.
  for (const { id, keys = [], scope, leavesTyping, inTree } of [...commands.values()].reverse()) {
    const hit = keys.find((shortcut) => pressed(event, shortcut));
    if (!hit || (scope === "message" && !node)) continue;
    if (leavesTyping ? hasOwnUndo(event.target) : isTyping(event.target) && !hit.startsWith("mod+") && hit !== "Escape")
      continue;
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
