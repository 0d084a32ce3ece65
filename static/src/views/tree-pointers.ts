// Mouse and touch input on the tree: pan, pinch, click, and drag a message below another one.
import type { TreeCanvas } from "./tree-canvas.ts";

interface Place {
  x: number;
  y: number;
}

/** How far a pointer may move during a click, in pixels. */
export const MAX_CLICK_MOVE = { mouse: 5, touch: 9 };
/** How long a finger must rest before it can drag a card, in milliseconds. */
export const LONG_PRESS = 450;
/** During a drag near the edge the tree scrolls: distance from the edge and speed, in pixels and pixels per frame. */
const EDGE = { near: 44, step: 9 };

/**
 * The state of a press. It can still be a click (`press`), a resting finger (`held`), a selection `box`, or over
 * (`spent`).
 */
type PressState = "press" | "held" | "pan" | "carry" | "box" | "spent";

/** Returns what decides which card is at a point: where the tree is, and what it shows. */
const viewOf = ({ camera, scene }: TreeCanvas): readonly unknown[] => [camera.x, camera.y, camera.zoom, scene];

export class Pointers {
  canvas: TreeCanvas;

  #down: Map<number, Place> = new Map();
  #doing: PressState = "press";
  /** The message under the first press, which can be dragged. */
  #under: number | null = null;
  #from: Place = { x: 0, y: 0 };
  #timer = 0;
  /** Whether this press selects messages. */
  #marks = false;
  /** Whether the drag is outside the tree. */
  #isOff = false;
  /** What the target of the drag was last looked for in. */
  #view: readonly unknown[] = [];

  constructor(canvas: TreeCanvas) {
    this.canvas = canvas;
  }

  /** Whether a pointer is pressed. */
  get isBusy() {
    return this.#down.size > 0;
  }

  listen(field: HTMLElement, signal: AbortSignal) {
    field.addEventListener("pointerdown", (event) => this.#press(event, field), { signal });
    field.addEventListener("pointermove", (event) => this.#move(event, field), { signal });
    field.addEventListener("pointerup", (event) => this.#lift(event), { signal });
    field.addEventListener("pointercancel", (event) => (this.#down.delete(event.pointerId), this.#drop(false)), {
      signal,
    });
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
  }

  #press(event: PointerEvent, field: HTMLElement) {
    if (event.button > 0) return;
    const at = this.canvas.at(event);
    field.setPointerCapture(event.pointerId);
    this.#down.set(event.pointerId, at);
    clearTimeout(this.#timer);
    if (this.#down.size > 1) return this.#drop(false);
    const found = this.canvas.found(at);
    this.#under = found && !found.isBadge ? (this.canvas.scene?.cards.node[found.card] ?? null) : null;
    this.#from = at;
    this.#doing = "press";
    this.#marks = event.shiftKey || this.canvas.isMarking;
    if (event.pointerType !== "mouse" && !this.#marks && this.#under !== null)
      this.#timer = window.setTimeout(() => this.#hold(field), LONG_PRESS);
    delete field.dataset.doing;
  }

  /** Turns a press into `held` when the finger has rested long enough. */
  #hold(field: HTMLElement) {
    if (this.#doing !== "press") return;
    field.dataset.doing = this.#doing = "held";
    this.#show(this.#from);
    navigator.vibrate?.(10);
  }

  #move(event: PointerEvent, field: HTMLElement) {
    const { canvas } = this;
    const before = this.#down.get(event.pointerId);
    const now = canvas.at(event);
    if (!before) return void field.classList.toggle("over", canvas.found(now) !== null);
    const other = [...this.#down].find(([id]) => id !== event.pointerId)?.[1];
    const isMouse = event.pointerType === "mouse";
    const isStill = this.#doing === "press" || this.#doing === "held";
    if (
      isStill &&
      !other &&
      Math.hypot(now.x - this.#from.x, now.y - this.#from.y) < MAX_CLICK_MOVE[isMouse ? "mouse" : "touch"]
    )
      return;
    if (isStill) this.#begin(isMouse, now);
    this.#down.set(event.pointerId, now);
    if (other) return this.#pinch(before, now, other);
    if (this.#doing === "pan") canvas.pan(now.x - before.x, now.y - before.y);
    if (this.#doing === "carry") this.#carry(now);
    if (this.#doing === "box") this.#draw(now);
  }

  /** Starts the drag of a card, by mouse or after a rest of the finger. Any other movement pans the tree. */
  #begin(isMouse: boolean, at: Place) {
    clearTimeout(this.#timer);
    const { hooks } = this.canvas;
    if (this.#marks && this.#down.size === 1) return void (this.#doing = "box");
    const n = this.#down.size === 1 && (isMouse || this.#doing === "held") ? this.#under : null;
    this.#doing = n !== null && hooks?.take(n) ? "carry" : "pan";
    this.#show(this.#doing === "carry" ? at : null);
  }

  /** Shows the dragged message beside the pointer. */
  #show(at: Place | null) {
    const text = this.canvas.scene?.words(this.#under ?? -1) ?? "";
    this.canvas.carried = at && { ...at, text };
    this.canvas.redraw();
  }

  /** Continues a drag over the tree that started elsewhere on the page. */
  bring(at: Place, text: string) {
    this.#doing = "carry";
    this.canvas.carried = { ...at, text };
    this.#carry(at);
  }

  /** Ends such a drag. */
  letGo(isMeant: boolean) {
    this.#drop(isMeant);
  }

  #pinch(before: Place, now: Place, other: Place) {
    const apart = (at: Place) => Math.max(10, Math.hypot(at.x - other.x, at.y - other.y));
    this.canvas.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
    this.canvas.zoom(apart(now) / apart(before), (now.x + other.x) / 2, (now.y + other.y) / 2);
  }

  #carry(now: Place) {
    const { canvas } = this;
    if (canvas.carried) canvas.carried = { ...canvas.carried, ...now };
    const under = canvas.under(now);
    this.#isOff = !canvas.contains(under);
    const found = this.#isOff ? null : canvas.found(now);
    this.#view = viewOf(canvas);
    canvas.hooks?.stash(under?.closest("[data-takes=stash]") != null);
    canvas.hooks?.over(found ? (canvas.scene?.cards.node[found.card] ?? null) : null);
    canvas.redraw();
  }

  #draw(now: Place) {
    const [x, y] = [Math.min(now.x, this.#from.x), Math.min(now.y, this.#from.y)];
    this.canvas.box = { x, y, wide: Math.abs(now.x - this.#from.x), tall: Math.abs(now.y - this.#from.y) };
    this.canvas.redraw();
  }

  /**
   * Scrolls the tree in each frame while the drag is near an edge. Looks for the target again when the tree has moved
   * below a resting pointer, by this or by itself.
   */
  follow() {
    const { canvas } = this;
    const at = canvas.carried;
    if (this.#doing !== "carry" || !at || this.#isOff) return;
    const by = (place: number, size: number) =>
      place < EDGE.near ? EDGE.step : place > size - EDGE.near ? -EDGE.step : 0;
    const [dx, dy] = [by(at.x, canvas.wide), by(at.y, canvas.tall)];
    if (dx !== 0 || dy !== 0) canvas.pan(dx, dy);
    const view = viewOf(canvas);
    if (view.some((part, n) => part !== this.#view[n])) this.#carry(at);
  }

  #lift(event: PointerEvent) {
    if (!this.#down.delete(event.pointerId) || this.#down.size > 0) return;
    clearTimeout(this.#timer);
    const what = this.#doing === "press" ? "pick" : this.#doing === "held" ? "menu" : null;
    if (this.#doing === "box") return this.#choose();
    if (what === null) return this.#drop(true);
    this.rest();
    this.canvas.hit(event, what === "pick" && this.#marks ? "mark" : what);
  }

  /** Selects all messages that the box touches. */
  #choose() {
    const numbers = this.canvas.inBox();
    this.rest();
    this.canvas.hooks?.choose(numbers);
  }

  /** Drops the dragged message at its target, or cancels the drag. */
  #drop(isMeant: boolean) {
    const wasCarried = this.#doing === "carry";
    this.rest();
    if (!wasCarried) return;
    if (!isMeant) this.canvas.hooks?.stash(false), this.canvas.hooks?.over(null);
    this.canvas.hooks?.drop();
  }

  rest() {
    clearTimeout(this.#timer);
    this.#doing = this.#down.size > 1 ? "pan" : "spent";
    this.canvas.carried = this.canvas.box = null;
    this.canvas.redraw();
  }
}
