// All commands of the page, each registered once: its label, its keys, and when it can run.
import { afterRender, focusedMessage, isFocusLost } from "../lib/focus.ts";
import { t } from "../lib/i18n.ts";
import { hasOwnUndo, isTyping, isPressed } from "../lib/shortcuts.ts";
import { mayRearrange, notify } from "../model/page.ts";
import { requestFieldFocus, setFocusNext } from "../model/session-store.ts";
import { isLinear, shownIds } from "../tree/shown-branch.ts";
import type { Key } from "../lib/i18n.ts";
import type { ChatNode } from "../lib/wire.d.ts";

interface Context {
  /** The message of the command: the focused one, or the one whose button was used. */
  node: ChatNode | null;
  /** The key that was pressed. */
  key?: string;
}

export interface Command {
  id: string;
  label: Key;
  /** Name of a symbol in icons.svg. */
  icon: string;
  keys?: string[];
  /** Keys of message commands work while a message is focused. */
  scope: "page" | "message";
  enabled?: (context: Context) => boolean;
  /** Whether the command cannot run now but soon can again. Its button stays, dimmed. */
  waits?: (context: Context) => boolean;
  /** Whether a server can disallow this command altogether. */
  rearranges?: boolean;
  /** Whether the command cannot run only because the page shows one branch without alternatives. */
  inTree?: (context: Context) => boolean;
  /**
   * Whether its keys have another meaning in a field. The field keeps that meaning, unless it is empty and has nothing
   * to undo.
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

/** Returns whether a command that cannot run now can soon run again. */
export function isWaiting(id: string, node: ChatNode | null = null) {
  return command(id).waits?.({ node }) ?? false;
}

export function run(id: string, node: ChatNode | null = null, key: string = "") {
  if (canRun(id, node)) void execute(command(id), { node, key });
}

/** Where the user last ran a command: the message, and the branch at that time. */
let lastUsed: { place: string; line: readonly string[] } = { place: "", line: [] };

/**
 * Runs a command. If its button then disappears, focus goes to its message, else the nearest one above, else the text
 * field. If several commands are running, the one used last decides.
 */
async function execute(what: Command, context: Context) {
  const hadFocus = !isFocusLost();
  if (hadFocus) lastUsed = { place: focusedMessage() ?? context.node?.id ?? "", line: shownIds.peek() };
  await what.run(context);
  await afterRender();
  if (!hadFocus || !isFocusLost()) return;
  const { place, line } = lastUsed;
  const near = line.slice(0, line.indexOf(place) + 1).findLast((id) => shownIds.peek().includes(id));
  if (near) setFocusNext(near);
  else requestFieldFocus();
}

/**
 * Runs the command for the pressed keys, if there is one.
 * @param node the focused message
 * @returns whether the keys have a meaning
 */
export function runKeys(event: KeyboardEvent, node: ChatNode | null): boolean {
  if (event.defaultPrevented) return true;
  // Escape closes an open menu and does nothing else.
  if (event.key === "Escape" && document.querySelector(":popover-open")) return true;
  let isHidden = false;
  // Commands registered later are closer to what the user is doing. So Escape ends that before it closes notices.
  for (const { id, keys = [], scope, leavesTyping, inTree } of [...commands.values()].reverse()) {
    const hit = keys.find((shortcut) => isPressed(event, shortcut));
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
  notify({
    tone: "quiet",
    text: t("notice.oneLine"),
    action: { label: "command.tree", run: () => run("session.tree") },
  });
  return true;
}

/** The value of `inTree` for commands that always need other branches than the one on screen. */
export const always = () => true;
