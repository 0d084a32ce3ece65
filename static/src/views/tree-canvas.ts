// `<tree-canvas>`: a whole tree on a canvas, with a minimap beside it. It pans, zooms and reports what was clicked; its
// owner decides what that means. It draws only after a change. It is hidden from screen readers, which get an
// accessible tree instead (tree-walk.tsx).
import { cardAt } from "../tree/layout.ts";
import { Pointers } from "./tree-pointers.ts";
import { CARD, badgeBox, badgeOf, boxOf, leftOf, paint, paintBox, paintMap, topOf } from "./tree-paint.ts";
import type { Camera, TreeTheme, TreeScene } from "./tree-paint.ts";
import type { HTMLAttributes } from "../../vendor/preact.js";

/**
 * Callbacks of the owner, most of them called with a message. `take` returns whether the message can be moved. During a
 * move, `over` and `stash` report what the pointer is over: a message, nothing, or the stash.
 */
interface Hooks {
  pick: (n: number) => void;
  go: (n: number) => void;
  fold: (n: number) => void;
  menu: (n: number) => void;
  take: (n: number) => boolean;
  over: (n: number | null) => void;
  stash: (isOver: boolean) => void;
  drop: () => void;
  mark: (n: number) => void;
  choose: (all: number[]) => void;
}

const ZOOM = { least: 0.01, most: 2.5, step: 1.25 };
const EDGE = 28;
/** Part of the tree that always stays in view, in pixels. */
const KEPT = 60;
const MAP = { wide: 110, column: 9, margin: 12 };
/** Margin by which a badge is larger for pointers, as thumbs must hit it too. */
const BADGE_MARGIN = 4;
const REVEAL_MARGIN = 24;
/** Period in which a running reply pulses once, in milliseconds. */
const PULSE_PERIOD = 1_600;

const COLOURS = {
  page: "--page",
  raised: "--raised",
  line: "--border",
  strong: "--line-strong",
  text: "--text",
  muted: "--muted",
  faint: "--faint",
  accent: "--accent",
  soft: "--accent-soft",
  onAccent: "--on-accent",
  bad: "--bad",
} as const;
const still = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");

/**
 * Returns the colours and fonts of the style sheets. A custom property does not show the result of `light-dark()`, but
 * a computed colour does.
 */
function themeOf(host: HTMLElement): TreeTheme {
  const probe = host.appendChild(document.createElement("i"));
  const read = (what: "color" | "fontFamily", name: string) => {
    probe.style[what] = `var(${name})`;
    return getComputedStyle(probe)[what];
  };
  const colours = Object.fromEntries(Object.entries(COLOURS).map(([role, name]) => [role, read("color", name)]));
  const look = { ...colours, sans: read("fontFamily", "--sans"), serif: read("fontFamily", "--serif") } as TreeTheme;
  probe.remove();
  return look;
}

const between = (value: number, low: number, high: number) => Math.min(Math.max(value, low), Math.max(low, high));

export class TreeCanvas extends HTMLElement {
  scene: TreeScene | null = null;
  hooks: Hooks | null = null;
  camera: Camera = { x: 0, y: 0, zoom: 1 };
  /** Number of frames drawn so far; it stays the same while nothing changes. */
  frames = 0;
  wide = 0;
  tall = 0;
  /** The text drawn beside the pointer during a move. */
  carried: { x: number; y: number; text: string } | null = null;
  /** The selection box. */
  box: { x: number; y: number; wide: number; tall: number } | null = null;
  /** Whether a click selects, and dragging draws a selection box. */
  isMarking = false;
  #waiting = 0;
  /** A view change that waits until the element has a size. */
  #wish: (() => void) | null = null;
  #look: TreeTheme | null = null;
  #fitted: Map<string, string[]> = new Map();
  #field = document.createElement("canvas");
  #map = document.createElement("canvas");
  /** The tree of the minimap, drawn again when the tree or its size changes. */
  #small: HTMLCanvasElement | null = null;
  /** The moved text beside the pointer; it is also shown outside the tree. */
  #ghost = document.createElement("div");
  hands = new Pointers(this);
  #ends = new AbortController();

  connectedCallback() {
    this.#ends = new AbortController();
    const { signal } = this.#ends;
    this.#map.className = "tree-map";
    this.#ghost.className = "tree-carried";
    this.#ghost.hidden = true;
    this.replaceChildren(this.#field, this.#map, this.#ghost);
    const field = this.#field;
    this.hands.listen(field, signal);
    field.addEventListener("dblclick", (event) => this.hit(event, "go"), { signal });
    // A long press starts a move, so its menu appears only if the finger is lifted without moving.
    field.addEventListener(
      "contextmenu",
      (event) => (event.preventDefault(), this.hands.isBusy || this.hit(event, "menu")),
      { signal },
    );
    field.addEventListener("wheel", (event) => this.#wheel(event), { signal, passive: false });
    for (const type of ["pointerdown", "pointermove"] as const)
      this.#map.addEventListener(type, (event) => this.#aim(event), { signal });
    const sizes = new ResizeObserver(() => this.#resize());
    sizes.observe(this);
    const themes = new MutationObserver(() => this.#restyle());
    themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "lang"] });
    dark.addEventListener("change", () => this.#restyle(), { signal });
    still.addEventListener("change", () => this.redraw(), { signal });
    void document.fonts.ready.then(() => this.#restyle());
    signal.addEventListener("abort", () => (sizes.disconnect(), themes.disconnect()));
    this.#resize();
  }

  disconnectedCallback() {
    this.#ends.abort();
    cancelAnimationFrame(this.#waiting);
    this.#waiting = 0;
  }

  /** Shows a tree. The message `hold` keeps its place on the screen. */
  show(scene: TreeScene, hold: number) {
    const old = this.scene;
    const isSameTree = old?.layout === scene.layout;
    const [was, is] = [old?.cards.cardOf[hold] ?? -1, scene.cards.cardOf[hold] ?? -1];
    if (old && !isSameTree && was >= 0 && is >= 0) {
      this.camera.x += (leftOf(old.layout, was) - leftOf(scene.layout, is)) * this.camera.zoom;
      this.camera.y += (topOf(old.layout, was) - topOf(scene.layout, is)) * this.camera.zoom;
    }
    this.scene = scene;
    if (!isSameTree || old?.outline !== scene.outline) this.#small = null;
    this.redraw();
  }

  /** Returns the messages whose cards the selection box touches. */
  inBox() {
    const { scene, box, camera } = this;
    if (!scene || !box) return [];
    const [left, top] = [(box.x - camera.x) / camera.zoom, (box.y - camera.y) / camera.zoom];
    const [right, end] = [left + box.wide / camera.zoom, top + box.tall / camera.zoom];
    const all = [];
    for (let card = 0; card < scene.cards.size; card += 1) {
      const { x, y, wide, tall } = boxOf(scene, card);
      if (x <= right && x + wide >= left && y <= end && y + tall >= top) all.push(scene.cards.node[card] ?? 0);
    }
    return all;
  }

  /** Ends a drag, wherever the pointer is. */
  rest() {
    this.hands.rest();
  }

  redraw() {
    if (this.#waiting === 0 && this.isConnected) this.#waiting = requestAnimationFrame((now) => this.#draw(now));
  }

  // View

  /** Returns the size of the whole tree at zoom 1. */
  #extent() {
    const { columns = 1, rows = 1 } = this.scene?.layout ?? {};
    return {
      wide: columns * CARD.stepX - (CARD.stepX - CARD.wide),
      tall: rows * CARD.stepY - (CARD.stepY - CARD.tall),
    };
  }

  #put({ x, y, zoom }: Camera) {
    const { wide, tall } = this.#extent();
    const inView = (at: number, size: number, room: number) => between(at, KEPT - size * zoom, room - KEPT);
    this.camera = { zoom, x: inView(x, wide, this.wide), y: inView(y, tall, this.tall) };
    this.redraw();
  }

  pan(dx: number, dy: number) {
    const { x, y, zoom } = this.camera;
    this.#put({ x: x + dx, y: y + dy, zoom });
  }

  /** Zooms around a point; by default around the middle. */
  zoom(factor: number, x: number = this.wide / 2, y: number = this.tall / 2) {
    const { camera } = this;
    const zoom = between(camera.zoom * factor, ZOOM.least, ZOOM.most);
    const turn = zoom / camera.zoom;
    this.#put({ zoom, x: x - (x - camera.x) * turn, y: y - (y - camera.y) * turn });
  }

  closer = () => this.zoom(ZOOM.step);
  farther = () => this.zoom(1 / ZOOM.step);

  /** Fits the whole tree into the view. */
  fit() {
    this.#soon(() => {
      const { wide, tall } = this.#extent();
      const zoom = between(Math.min((this.wide - 2 * EDGE) / wide, (this.tall - 2 * EDGE) / tall), ZOOM.least, 1);
      this.#put({ zoom, x: (this.wide - wide * zoom) / 2, y: (this.tall - tall * zoom) / 2 });
    });
  }

  /** Centers a message, at a zoom at which it can be read. */
  center(n: number) {
    this.#soon(() => {
      const card = this.scene?.cards.cardOf[n] ?? -1;
      if (!this.scene || card < 0) return;
      const zoom = this.camera.zoom < 0.7 ? 1 : this.camera.zoom;
      const { wide } = this.#extent();
      const { x, y } = boxOf(this.scene, card);
      const fits = wide * zoom <= this.wide - 2 * EDGE;
      this.#put({
        zoom,
        x: fits ? (this.wide - wide * zoom) / 2 : this.wide * 0.4 - (x + CARD.wide / 2) * zoom,
        y: this.tall * 0.6 - (y + CARD.tall / 2) * zoom,
      });
    });
  }

  /** Moves a message into view, by as little as possible. */
  reveal(n: number) {
    this.#soon(() => {
      const box = this.boxOf(n);
      if (!box) return;
      const by = (at: number, size: number, room: number) =>
        at < REVEAL_MARGIN
          ? REVEAL_MARGIN - at
          : at + size > room - REVEAL_MARGIN
            ? Math.max(room - REVEAL_MARGIN - at - size, REVEAL_MARGIN - at)
            : 0;
      const [dx, dy] = [by(box.x, box.wide, this.wide), by(box.y, box.tall, this.tall)];
      if (dx !== 0 || dy !== 0) this.pan(dx, dy);
    });
  }

  /** Moves several messages into view together, and zooms out as far as necessary. */
  frame(numbers: number[]) {
    this.#soon(() => {
      const { scene } = this;
      const boxes = scene ? numbers.map((n) => boxOf(scene, scene.cards.cardOf[n] ?? 0)) : [];
      const [left, top] = [Math.min(...boxes.map(({ x }) => x)), Math.min(...boxes.map(({ y }) => y))];
      const [wide, tall] = [
        Math.max(...boxes.map(({ x, wide }) => x + wide)) - left,
        Math.max(...boxes.map(({ y, tall }) => y + tall)) - top,
      ];
      const zoom = between(
        Math.min((this.wide - 2 * EDGE) / wide, (this.tall - 2 * EDGE) / tall, this.camera.zoom),
        ZOOM.least,
        ZOOM.most,
      );
      if (zoom < this.camera.zoom)
        this.#put({
          zoom,
          x: (this.wide - wide * zoom) / 2 - left * zoom,
          y: (this.tall - tall * zoom) / 2 - top * zoom,
        });
      numbers.forEach((n) => this.reveal(n));
    });
  }

  /** Returns the box of a message's card, or of its badge, in coordinates of this element. */
  boxOf(n: number, badge: boolean = false) {
    const card = this.scene?.cards.cardOf[n] ?? -1;
    if (!this.scene || card < 0 || (badge && badgeOf(this.scene, card) === "")) return null;
    const { x, y, wide, tall } = (badge ? badgeBox : boxOf)(this.scene, card);
    const { zoom, x: left, y: top } = this.camera;
    return { x: x * zoom + left, y: y * zoom + top, wide: wide * zoom, tall: tall * zoom };
  }

  #soon(act: () => void) {
    if (this.wide > 0 && this.scene) act();
    else this.#wish = act;
  }

  #resize() {
    const { clientWidth: wide, clientHeight: tall } = this;
    if (wide === 0 || tall === 0) return;
    const { x, y, zoom } = this.camera;
    // The middle of the view stays in the middle.
    if (this.wide > 0) this.camera = { zoom, x: x + (wide - this.wide) / 2, y: y + (tall - this.tall) / 2 };
    [this.wide, this.tall] = [wide, tall];
    this.#small = null;
    this.redraw();
  }

  #restyle() {
    this.#look = this.#small = null;
    this.#fitted.clear();
    this.redraw();
  }

  // Drawing

  /**
   * Draws a frame.
   * @param now in milliseconds
   */
  #draw(now: number) {
    this.#waiting = 0;
    if (!this.scene || this.wide === 0 || this.scene.cards.size === 0) return;
    const pending = this.#wish;
    this.#wish = null;
    pending?.();
    cancelAnimationFrame(this.#waiting);
    this.#waiting = 0;
    const ratio = Math.min(devicePixelRatio || 1, 3);
    const ctx = sized(this.#field, this.wide, this.tall, ratio);
    this.#look ??= themeOf(this);
    if (!ctx) return;
    this.frames += 1;
    const { scene, wide, tall } = this;
    const beat = still.matches ? 0 : (now % PULSE_PERIOD) / PULSE_PERIOD;
    this.hands.follow();
    const moves = paint(
      ctx,
      { scene, look: this.#look, camera: this.camera, wide, tall, pulse: beat, fitted: this.#fitted },
      ratio,
    );
    if (this.box) paintBox(ctx, this.#look, this.box, ratio);
    this.#showCarried();
    this.#drawMap(ratio);
    if (moves && !still.matches) this.redraw();
  }

  #showCarried() {
    const { carried } = this;
    this.#ghost.hidden = carried === null;
    if (!carried) return;
    const { left, top } = this.#field.getBoundingClientRect();
    if (this.#ghost.textContent !== carried.text) this.#ghost.textContent = carried.text;
    this.#ghost.style.transform = `translate(${left + carried.x + 12}px, ${top + carried.y + 12}px)`;
  }

  /**
   * Returns the size of the minimap. Its width depends on the number of columns, its height on the view and the rows.
   */
  #mapSize({ layout }: TreeScene) {
    const tall = Math.min(this.tall - 2 * MAP.margin, layout.rows * CARD.stepY * 0.2);
    return { wide: between(layout.columns * MAP.column, MAP.column, MAP.wide), tall: Math.max(tall, MAP.column) };
  }

  #drawMap(ratio: number) {
    const { scene, camera } = this;
    const all = this.#extent();
    const isWhole = all.wide * camera.zoom <= this.wide && all.tall * camera.zoom <= this.tall;
    this.#map.hidden = isWhole || this.wide < 480;
    if (this.#map.hidden || !scene || !this.#look) return;
    const size = this.#mapSize(scene);
    const ctx = sized(this.#map, size.wide, size.tall, ratio);
    if (!ctx) return;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, this.#map.width, this.#map.height);
    ctx.drawImage((this.#small ??= smallMap(scene, this.#look, size, ratio)), 0, 0);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [across, down] = [
      size.wide / (scene.layout.columns * CARD.stepX * camera.zoom),
      size.tall / (scene.layout.rows * CARD.stepY * camera.zoom),
    ];
    const [x, y] = [between(-camera.x * across, 0, size.wide - 4), between(-camera.y * down, 0, size.tall - 4)];
    const [right, end] = [
      between((this.wide - camera.x) * across, x + 4, size.wide),
      between((this.tall - camera.y) * down, y + 4, size.tall),
    ];
    ctx.strokeStyle = this.#look.text;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(x + 0.75, y + 0.75, right - x - 1.5, end - y - 1.5);
  }

  // Pointers

  at(event: MouseEvent) {
    const { left, top } = this.#field.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  }

  /** Returns the topmost element of the page at a point, in coordinates of this element. */
  under({ x, y }: { x: number; y: number }) {
    const { left, top } = this.#field.getBoundingClientRect();
    return document.elementFromPoint(left + x, top + y);
  }

  /** Returns the card at a point, and whether the point is on its badge. */
  found({ x: px, y: py }: { x: number; y: number }) {
    const { scene, camera } = this;
    if (!scene) return null;
    const [x, y] = [(px - camera.x) / camera.zoom, (py - camera.y) / camera.zoom];
    const column = Math.floor(x / CARD.stepX);
    const card = cardAt(scene.layout, Math.floor(y / CARD.stepY), column);
    if (card < 0) return null;
    if (badgeOf(scene, card) !== "" && isIn(badgeBox(scene, card), x, y, BADGE_MARGIN)) return { card, isBadge: true };
    return isIn(boxOf(scene, card), x, y, 0) ? { card, isBadge: false } : null;
  }

  hit(event: MouseEvent, what: "pick" | "go" | "menu" | "mark") {
    const found = this.found(this.at(event));
    const n = found && this.scene?.cards.node[found.card];
    if (!found || n == null) return;
    if (!found.isBadge) this.hooks?.[what](n);
    else if (what === "pick") this.hooks?.fold(n);
  }

  #wheel(event: WheelEvent) {
    event.preventDefault();
    const unit =
      event.deltaMode === WheelEvent.DOM_DELTA_LINE
        ? 20
        : event.deltaMode === WheelEvent.DOM_DELTA_PAGE
          ? this.tall
          : 1;
    const [dx, dy] = event.shiftKey && event.deltaX === 0 ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
    if (!event.ctrlKey) return this.pan(-dx * unit, -dy * unit);
    const { x, y } = this.at(event);
    this.zoom(Math.exp(-between(dy * unit, -60, 60) * 0.006), x, y);
  }

  /** Centers the view on the point that is pressed on the minimap. */
  #aim(event: PointerEvent) {
    if (event.type === "pointerdown") this.#map.setPointerCapture(event.pointerId);
    else if (!this.#map.hasPointerCapture(event.pointerId)) return;
    if (!this.scene) return;
    const { left, top, width, height } = this.#map.getBoundingClientRect();
    const { columns, rows } = this.scene.layout;
    const { zoom } = this.camera;
    const x = ((event.clientX - left) / width) * columns * CARD.stepX * zoom;
    const y = ((event.clientY - top) / height) * rows * CARD.stepY * zoom;
    const isNarrow = this.#extent().wide * zoom <= this.wide;
    this.#put({ zoom, x: isNarrow ? this.camera.x : this.wide / 2 - x, y: this.tall / 2 - y });
  }
}

const isIn = (box: { x: number; y: number; wide: number; tall: number }, x: number, y: number, more: number) =>
  x >= box.x - more && x <= box.x + box.wide + more && y >= box.y - more && y <= box.y + box.tall + more;

function smallMap(scene: TreeScene, look: TreeTheme, size: { wide: number; tall: number }, ratio: number) {
  const canvas = document.createElement("canvas");
  const ctx = sized(canvas, size.wide, size.tall, ratio);
  ctx?.setTransform(ratio, 0, 0, ratio, 0, 0);
  if (ctx) paintMap(ctx, scene, look, size);
  return canvas;
}

/** Sizes a canvas for the pixel ratio of the screen. */
function sized(canvas: HTMLCanvasElement, wide: number, tall: number, ratio: number) {
  const [width, height] = [Math.round(wide * ratio), Math.round(tall * ratio)];
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  canvas.style.width = `${wide}px`;
  canvas.style.height = `${tall}px`;
  return canvas.getContext("2d");
}

customElements.define("tree-canvas", TreeCanvas);

declare module "preact" {
  namespace JSX {
    interface IntrinsicElements {
      "tree-canvas": HTMLAttributes<TreeCanvas>;
    }
  }
}
