// Coming to the whole tree of a story and going back. What it shows is loaded with the first use.
import { isFocusLost } from "../lib/focus.ts";
import { chosen } from "../model/arrangement.ts";
import { inTree, openDialog } from "../model/page.ts";
import * as story from "../model/story.ts";
import { isLinear } from "../tree/line.ts";
import { register } from "./commands.ts";
import { sid } from "./follow.ts";
import { navigate } from "./travel.ts";

/** What had the keyboard before the tree came. */
let before: Element | null = null;

/** The chat stays as it is beneath, with what is typed in it and where it is scrolled to. */
function open() {
  before = document.activeElement;
  openDialog(null);
  navigate(`/s/${sid()}/tree`);
  history.replaceState({ isBelow: true }, "");
}

/** Back to what was read before. */
export function leaveTree() {
  if (history.state?.isBelow) history.back();
  else navigate(`/s/${sid()}`, true);
}

/** Gives the keyboard back to what had it, or to the field, unless something has it by now. */
export function giveBackFocus() {
  if (!isFocusLost()) return;
  if (before instanceof HTMLElement && before.isConnected) before.focus();
  if (isFocusLost()) story.focusField();
}

register({
  id: "page.tree",
  label: "command.overview",
  icon: "tree",
  scope: "page",
  keys: ["mod+b", "t"],
  enabled: () => story.session.value !== null && !isLinear.value && chosen.value === null,
  run: () => (inTree.peek() ? leaveTree() : open()),
});
