// Moving by hand: what is taken by its handle is let go on the message it is put below, or on a button. Whatever can be done so
// can be done by menus and keys too.
import { canArrange } from "../actions/arrange.js";
import { canRun, run } from "../actions/commands.js";
import { leaveThere, place, takeUp } from "../actions/move.js";
import { textOf } from "../actions/turn.js";
import { mayRearrange } from "../model/page.js";

/** @import { ChatNode, Id } from "../lib/wire.d.ts" */

/**
 * @param {string} text what other programs and fields get
 * @param {() => void} begin what was taken up is shown only after the browser has made its picture of it
 */
const draggable = (text, begin) => ({
  draggable: true,
  onDragStart: (/** @type {DragEvent} */ event) => {
    if (!event.dataTransfer) return;
    event.dataTransfer.effectAllowed = "copyMove";
    event.dataTransfer.setData("text/plain", text);
    setTimeout(begin);
  },
});

/** The handle of a message, where it can be moved. @param {ChatNode} node */
export const handleOf = (node) => (mayRearrange.value && canArrange(node) ? { ...draggable(textOf(node), () => takeUp(node, false)), onDragEnd: leaveThere } : {});

/** A fragment in the stash: the stash closes, and shows the story to choose a place in. @param {Id} fragmentId @param {string} name */
export const handleOfFragment = (fragmentId, name) => draggable(name, () => place(fragmentId, name, false));

/** Something that runs a command when what is being moved is let go on it. @param {string} id @param {ChatNode | null} [node] */
export const dropOn = (id, node = null) => ({
  onDragOver: (/** @type {DragEvent} */ event) => {
    if (!canRun(id, node)) return;
    event.preventDefault();
    mark(event, true);
  },
  onDragLeave: (/** @type {DragEvent} */ event) => mark(event, false),
  onDrop: (/** @type {DragEvent} */ event) => {
    mark(event, false);
    if (!canRun(id, node)) return;
    event.preventDefault();
    run(id, node);
  },
});

/** @param {DragEvent} event @param {boolean} is */
const mark = ({ currentTarget }, is) => currentTarget instanceof HTMLElement && currentTarget.classList.toggle("drop-here", is);
