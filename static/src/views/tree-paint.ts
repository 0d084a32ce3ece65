// Draws the visible part of a tree: cards with text at a high zoom, bars at a low one. It handles no pointers and no
// keys.
import { isWestern } from "../lib/text.ts";
import { firstInRow } from "../tree/layout.ts";
import { FLAG } from "../tree/outline.ts";
import type { Cards, Layout } from "../tree/layout.ts";
import type { Outline } from "../tree/outline.ts";

/** Sizes of a card and of its grid cell, at zoom 1. */
export const CARD = { wide: 200, tall: 52, stepX: 226, stepY: 80 };
/** Minimum zoom at which text is drawn. */
export const NEAR = 0.45;
const ROUND = 9;
const PAD = 11;
const LINE = 17;
/** Vertical offset of the lines to columns at the right: in the middle between two rows. */
const BUS = CARD.tall + (CARD.stepY - CARD.tall) / 2;
const BEND = 9;
export const BADGE = { tall: 20, up: 10, right: 10 };
const RUN_TALL = 28;

/** Colours and fonts of the current theme. */
export interface TreeTheme {
  page: string;
  raised: string;
  line: string;
  strong: string;
  text: string;
  muted: string;
  faint: string;
  accent: string;
  soft: string;
  onAccent: string;
  bad: string;
  sans: string;
  serif: string;
}

export interface TreeScene {
  outline: Outline;
  cards: Cards;
  layout: Layout;
  /** The card of HEAD. */
  head: number;
  /** The card of the keyboard cursor. */
  cursor: number;
  /** The card being moved; -1: none. */
  carried: number;
  /** For each card, whether it is selected. */
  selected: Uint8Array;
  /** The cards of the two compared messages, or none. */
  compared: number[];
  /** The target of the move, and whether it is allowed. */
  moveTarget: { card: number; isPlace: boolean } | null;
  /** Returns the start of a message. */
  words: (n: number) => string;
  /** Returns the label of a message, or "". */
  label: (n: number) => string;
  runText: (count: number) => string;
  /** The name of the root. */
  beginning: string;
}

/** The view. A point of the tree is drawn at `point * zoom + x` (or `y`). */
export interface Camera {
  x: number;
  y: number;
  zoom: number;
}

/** What a frame is drawn from; `pulse` is the phase of the pulse of running replies, from 0 to 1. */
interface TreeFrame {
  scene: TreeScene;
  look: TreeTheme;
  camera: Camera;
  wide: number;
  tall: number;
  pulse: number;
  fitted: Map<string, string[]>;
}

export const leftOf = ({ column }: Layout, card: number) => (column[card] ?? 0) * CARD.stepX;
export const topOf = ({ row }: Layout, card: number) => (row[card] ?? 0) * CARD.stepY;

/** Returns the visible rows and columns. */
function inView({ camera: { x, y, zoom }, wide, tall, scene: { layout } }: TreeFrame) {
  const from = (offset: number, step: number) => Math.floor(-offset / zoom / step) - 1;
  const to = (offset: number, size: number, step: number) => Math.floor((size - offset) / zoom / step) + 1;
  return {
    top: Math.max(0, from(y, CARD.stepY)),
    end: Math.min(layout.rows - 1, to(y, tall, CARD.stepY)),
    left: from(x, CARD.stepX),
    right: to(x, wide, CARD.stepX),
  };
}

/** Maximum number of cards in a row that is searched for lines which only cross the view. */
const MANY = 2_000;

/**
 * Draws a frame.
 * @param ratio device pixels per CSS pixel
 * @returns whether something in it is animated
 */
export function paint(ctx: CanvasRenderingContext2D, picture: TreeFrame, ratio: number): boolean {
  const { scene, camera, look } = picture;
  const { layout, cards } = scene;
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.clearRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  ctx.setTransform(ratio * camera.zoom, 0, 0, ratio * camera.zoom, ratio * camera.x, ratio * camera.y);
  const seen = inView(picture);
  // At a zoom where several rows fall on one line of pixels, only one of them is drawn.
  const skip = Math.max(1, Math.floor(1.5 / (CARD.stepY * camera.zoom)));
  const drawn: number[] = [];
  const linked: number[] = [];
  for (let row = seen.top - (seen.top % skip); row <= seen.end; row += skip) {
    const end = layout.rowStart[row + 1] ?? 0;
    const first = layout.rowStart[row] ?? 0;
    const near = firstInRow(layout, row, seen.left);
    for (let place = end - first > MANY ? near : first; place < end; place += 1) {
      const card = layout.inRows[place] ?? 0;
      if ((layout.column[card] ?? 0) > seen.right) break;
      if ((layout.reach[card] ?? 0) >= seen.left) linked.push(card);
      if (place >= near) drawn.push(card);
    }
  }
  drawLines(ctx, picture, linked, drawn, skip * CARD.stepY);
  if (camera.zoom < NEAR) drawBars(ctx, picture, drawn, skip * CARD.stepY);
  else for (const card of drawn) drawCard(ctx, picture, card);
  if (camera.zoom < NEAR) drawDistantRings(ctx, picture, look);
  for (const card of drawn) if (scene.selected[card] === 1) drawMarked(ctx, picture, card);
  scene.compared.forEach((card, i) => card >= 0 && drawCompared(ctx, picture, card, String(i + 1)));
  drawMoveTarget(ctx, picture);
  return drawn.some((card) => has(scene, card, FLAG.writing) && cards.count[card] === 1);
}

const has = ({ outline, cards }: TreeScene, card: number, flag: number) =>
  ((outline.flags[cards.node[card] ?? 0] ?? 0) & flag) !== 0;

// Lines

/**
 * Draws the lines between cards.
 * @param step distance to the next drawn row
 */
function drawLines(
  ctx: CanvasRenderingContext2D,
  { scene: { layout, cards }, look, camera }: TreeFrame,
  linked: number[],
  drawn: number[],
  step: number,
) {
  const [trunk, others] = [new Path2D(), new Path2D()];
  for (const card of linked) {
    const x = leftOf(layout, card) + CARD.wide / 2;
    const y = topOf(layout, card);
    const heir = layout.heir[card] ?? -1;
    if (heir < 0) continue;
    const path = cards.trunk[card] === 1 && cards.trunk[heir] === 1 ? trunk : others;
    path.moveTo(x, y + CARD.tall / 2);
    path.lineTo(x, y + step + CARD.tall / 2);
    if ((layout.reach[card] ?? 0) === layout.column[card]) continue;
    others.moveTo(x, y + BUS);
    others.lineTo((layout.reach[card] ?? 0) * CARD.stepX + CARD.wide / 2 - BEND, y + BUS);
  }
  for (const card of drawn) {
    const above = cards.parent[card] ?? -1;
    if (above < 0 || layout.column[above] === layout.column[card]) continue;
    const x = leftOf(layout, card) + CARD.wide / 2;
    const y = topOf(layout, card);
    others.moveTo(x - BEND, y - CARD.stepY + BUS);
    others.quadraticCurveTo(x, y - CARD.stepY + BUS, x, y - CARD.stepY + BUS + BEND);
    others.lineTo(x, y + CARD.tall / 2);
  }
  ctx.lineWidth = Math.max(1.5, 1 / camera.zoom);
  ctx.strokeStyle = look.strong;
  ctx.stroke(others);
  ctx.lineWidth = Math.max(2.5, 2 / camera.zoom);
  ctx.strokeStyle = look.accent;
  ctx.stroke(trunk);
}

// Low zoom

/** Draws cards as bars, with one path per colour. */
function drawBars(
  ctx: CanvasRenderingContext2D,
  { scene, look, camera, pulse }: TreeFrame,
  drawn: number[],
  step: number,
) {
  const { layout, cards } = scene;
  const [trunk, side, left, writing] = [new Path2D(), new Path2D(), new Path2D(), new Path2D()];
  const tall = step > CARD.stepY ? step : CARD.tall;
  for (const card of drawn) {
    const path = has(scene, card, FLAG.writing)
      ? writing
      : has(scene, card, FLAG.disabled)
        ? left
        : cards.trunk[card] === 1
          ? trunk
          : side;
    if (isRoot(scene, card))
      path.arc(
        leftOf(layout, card) + CARD.wide / 2,
        topOf(layout, card) + CARD.tall / 2,
        CARD.tall / 3,
        0,
        Math.PI * 2,
      );
    else path.rect(leftOf(layout, card), topOf(layout, card), CARD.wide, tall);
  }
  ctx.fillStyle = look.accent;
  ctx.fill(trunk);
  ctx.fillStyle = look.page;
  for (const path of [side, left, writing]) ctx.fill(path);
  ctx.fillStyle = look.strong;
  ctx.fill(side);
  ctx.globalAlpha = depth(pulse);
  ctx.fillStyle = look.accent;
  ctx.fill(writing);
  ctx.globalAlpha = 1;
  // Bars of disabled messages are hollow, so that they differ not only in colour.
  ctx.lineWidth = 1.5 / camera.zoom;
  ctx.strokeStyle = look.faint;
  ctx.stroke(left);
  ctx.strokeStyle = look.accent;
  ctx.stroke(writing);
}

/** Draws rings around HEAD and the cursor, so that they are visible at any zoom. */
function drawDistantRings(
  ctx: CanvasRenderingContext2D,
  { scene: { layout, head, cursor }, camera }: TreeFrame,
  look: TreeTheme,
) {
  const ring = (card: number, colour: string, away: number) => {
    if (card < 0) return;
    ctx.lineWidth = 2 / camera.zoom;
    ctx.strokeStyle = colour;
    ctx.strokeRect(
      leftOf(layout, card) - away / camera.zoom,
      topOf(layout, card) - away / camera.zoom,
      CARD.wide + (2 * away) / camera.zoom,
      CARD.tall + (2 * away) / camera.zoom,
    );
  };
  ring(head, look.text, 2);
  ring(cursor, look.accent, 5);
}

/** Draws the target of a move at any zoom. A target that is not allowed is crossed out. */
function drawMoveTarget(ctx: CanvasRenderingContext2D, { scene, look, camera }: TreeFrame) {
  const { moveTarget, carried } = scene;
  if (carried >= 0) {
    const { x, y, wide, tall } = boxOf(scene, carried);
    ctx.globalAlpha = 0.55;
    ctx.fillStyle = look.page;
    ctx.fillRect(x - 3, y - 3, wide + 6, tall + 6);
    ctx.globalAlpha = 1;
  }
  if (!moveTarget || moveTarget.card < 0) return;
  const { x, y, wide, tall } = boxOf(scene, moveTarget.card);
  const thick = Math.max(3, 3 / camera.zoom);
  ctx.strokeStyle = moveTarget.isPlace ? look.accent : look.bad;
  ctx.lineWidth = thick;
  ctx.beginPath();
  ctx.roundRect(x - 2 * thick, y - 2 * thick, wide + 4 * thick, tall + 4 * thick, ROUND + thick);
  if (moveTarget.isPlace) ctx.roundRect(x + wide / 4, y + tall + 4 * thick, wide / 2, thick, thick);
  else ctx.moveTo(x, y + tall), ctx.lineTo(x + wide, y);
  ctx.stroke();
}

/** Draws a frame and a tick on a selected card, so that it differs not only in colour. */
function drawMarked(ctx: CanvasRenderingContext2D, { scene, look, camera }: TreeFrame, card: number) {
  const { x, y, wide, tall } = boxOf(scene, card);
  ctx.lineWidth = Math.max(3, 2 / camera.zoom);
  ctx.strokeStyle = look.text;
  ctx.strokeRect(x - 2, y - 2, wide + 4, tall + 4);
  if (camera.zoom < NEAR) return;
  ctx.fillStyle = look.text;
  ctx.fillRect(x - 10, y - 10, 20, 20);
  ctx.strokeStyle = look.page;
  ctx.lineWidth = 2.5;
  ctx.beginPath();
  ctx.moveTo(x - 5, y);
  ctx.lineTo(x - 1, y + 4);
  ctx.lineTo(x + 5, y - 5);
  ctx.stroke();
}

/** Draws the number of a compared branch at its last card, readable at any zoom. */
function drawCompared(ctx: CanvasRenderingContext2D, { scene, look, camera }: TreeFrame, card: number, digit: string) {
  const { x, y, wide, tall } = boxOf(scene, card);
  const by = Math.max(1, NEAR / camera.zoom);
  ctx.strokeStyle = ctx.fillStyle = look.accent;
  ctx.lineWidth = 2.5 * by;
  ctx.beginPath();
  ctx.roundRect(x - 3 * by, y - 3 * by, wide + 6 * by, tall + 6 * by, ROUND + 3);
  ctx.stroke();
  ctx.beginPath();
  ctx.arc(x, y, 11 * by, 0, Math.PI * 2);
  ctx.fill();
  ctx.fillStyle = look.onAccent;
  ctx.font = `700 ${13 * by}px ${look.sans}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(digit, x, y + 0.5 * by);
  ctx.textAlign = "left";
}

/** Draws the selection box. */
export function paintBox(
  ctx: CanvasRenderingContext2D,
  look: TreeTheme,
  { x, y, wide, tall }: { x: number; y: number; wide: number; tall: number },
  ratio: number,
) {
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.globalAlpha = 0.12;
  ctx.fillStyle = look.accent;
  ctx.fillRect(x, y, wide, tall);
  ctx.globalAlpha = 1;
  ctx.strokeStyle = look.accent;
  ctx.lineWidth = 1.5;
  ctx.strokeRect(x, y, wide, tall);
}

const isRoot = ({ cards }: TreeScene, card: number) => cards.node[card] === 0;

// High zoom

function drawCard(ctx: CanvasRenderingContext2D, picture: TreeFrame, card: number) {
  const { scene } = picture;
  if (isRoot(scene, card)) drawRoot(ctx, picture, card);
  else if ((scene.cards.count[card] ?? 1) > 1) drawRun(ctx, picture, card);
  else drawMessage(ctx, picture, card);
  if (card === scene.cursor) drawRing(ctx, picture, card);
  drawBadge(ctx, picture, card);
}

/** Draws the ring of the keyboard cursor. */
function drawRing(ctx: CanvasRenderingContext2D, { scene, look }: TreeFrame, card: number) {
  const { x, y, wide, tall } = boxOf(scene, card);
  ctx.lineWidth = 2;
  ctx.strokeStyle = look.text;
  ctx.beginPath();
  ctx.roundRect(x - 4, y - 4, wide + 8, tall + 8, Math.min(ROUND + 4, tall / 2 + 4));
  ctx.stroke();
}

/** Returns the part of its grid cell that a card fills. */
export function boxOf({ layout, cards }: TreeScene, card: number) {
  const [x, y] = [leftOf(layout, card), topOf(layout, card)];
  if (cards.node[card] === 0) return { x: x + CARD.wide / 2 - 11, y: y + CARD.tall / 2 - 11, wide: 22, tall: 22 };
  if ((cards.count[card] ?? 1) > 1)
    return { x: x + 24, y: y + (CARD.tall - RUN_TALL) / 2, wide: CARD.wide - 48, tall: RUN_TALL };
  return { x, y, wide: CARD.wide, tall: CARD.tall };
}

/** Draws the root as a knot, where the trunk line begins. */
function drawRoot(ctx: CanvasRenderingContext2D, { scene, look }: TreeFrame, card: number) {
  const [x, y] = [leftOf(scene.layout, card) + CARD.wide / 2, topOf(scene.layout, card) + CARD.tall / 2];
  ctx.fillStyle = look.accent;
  ctx.beginPath();
  ctx.arc(x, y, 8, 0, Math.PI * 2);
  ctx.fill();
  ctx.fillStyle = look.muted;
  ctx.font = `12px ${look.sans}`;
  ctx.textBaseline = "middle";
  ctx.fillText(scene.beginning, x + 18, y + 0.5);
}

/** Draws a run of messages as one card. */
function drawRun(ctx: CanvasRenderingContext2D, { scene, look }: TreeFrame, card: number) {
  const { x, y, wide, tall } = boxOf(scene, card);
  const isTrunk = scene.cards.trunk[card] === 1;
  ctx.fillStyle = look.page;
  ctx.strokeStyle = isTrunk ? look.accent : look.strong;
  ctx.lineWidth = 1.25;
  ctx.beginPath();
  ctx.roundRect(x, y, wide, tall, tall / 2);
  ctx.fill();
  ctx.setLineDash([1, 4]);
  ctx.lineCap = "round";
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.lineCap = "butt";
  ctx.fillStyle = isTrunk ? look.accent : look.muted;
  ctx.font = `12px ${look.sans}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(scene.runText(scene.cards.count[card] ?? 1), x + wide / 2, y + tall / 2 + 0.5);
  ctx.textAlign = "left";
}

function coloursOf({ scene, look }: TreeFrame, card: number) {
  const isOut = has(scene, card, FLAG.disabled);
  const isMine = has(scene, card, FLAG.mine);
  if (card === scene.head) return { fill: look.accent, edge: look.accent, ink: look.onAccent, mark: look.onAccent };
  if (isOut) return { fill: look.page, edge: look.faint, ink: look.faint, mark: look.faint };
  const ink = isMine ? look.muted : look.text;
  if (has(scene, card, FLAG.failed)) return { fill: look.raised, edge: look.bad, ink, mark: look.bad };
  if (scene.cards.trunk[card] === 1) return { fill: look.soft, edge: look.accent, ink, mark: look.accent };
  return { fill: look.raised, edge: look.line, ink, mark: look.faint };
}

/** Dash pattern around a running reply. */
const WRITING = [10, 6] as const;

/** Draws a pulsing border around a card. The card covers its inner half, so it never lies under text. */
function drawPulse(ctx: CanvasRenderingContext2D, look: TreeTheme, beat: number) {
  const { strokeStyle, lineWidth } = ctx;
  ctx.globalAlpha = depth(beat);
  ctx.strokeStyle = look.accent;
  ctx.lineWidth = 12;
  ctx.stroke();
  ctx.globalAlpha = 1;
  ctx.strokeStyle = strokeStyle;
  ctx.lineWidth = lineWidth;
}

/** Returns the opacity of the pulse: from 0 up to 0.7 and back. */
const depth = (beat: number) => 0.7 * (0.5 - 0.5 * Math.cos(beat * 2 * Math.PI));

function drawMessage(ctx: CanvasRenderingContext2D, picture: TreeFrame, card: number) {
  const { scene, look, pulse } = picture;
  const { x, y, wide, tall } = boxOf(scene, card);
  const { fill, edge, ink, mark } = coloursOf(picture, card);
  const [isOut, isWriting] = [has(scene, card, FLAG.disabled), has(scene, card, FLAG.writing)];
  ctx.fillStyle = fill;
  ctx.strokeStyle = isWriting ? look.accent : edge;
  ctx.lineWidth = isWriting ? 2 : 1.25;
  ctx.beginPath();
  ctx.roundRect(x, y, wide, tall, ROUND);
  if (isWriting) drawPulse(ctx, look, pulse);
  ctx.fill();
  if (isOut) ctx.setLineDash([3, 4]);
  if (isWriting) ctx.setLineDash(WRITING);
  // The dashes advance by two per pulse, so that they end where they started.
  ctx.lineDashOffset = isWriting ? -pulse * 2 * (WRITING[0] + WRITING[1]) : 0;
  ctx.stroke();
  ctx.setLineDash([]);
  drawWords(ctx, picture, card, ink, mark);
  drawMarks(ctx, picture, card, mark);
  const name = scene.label(scene.cards.node[card] ?? 0);
  if (name) drawLabel(ctx, picture, card, name);
}

function drawWords(ctx: CanvasRenderingContext2D, picture: TreeFrame, card: number, ink: string, mark: string) {
  const { scene, look } = picture;
  const { x, y, wide, tall } = boxOf(scene, card);
  const isMine = has(scene, card, FLAG.mine);
  const n = scene.cards.node[card] ?? 0;
  ctx.font = isMine ? `13px ${look.sans}` : `14px ${look.serif}`;
  ctx.textBaseline = "middle";
  const inset = isMine || has(scene, card, FLAG.summary | FLAG.merge) ? 15 : 0;
  if (inset > 0) {
    ctx.fillStyle = mark;
    ctx.fillText(
      has(scene, card, FLAG.summary) ? "≡" : has(scene, card, FLAG.merge) ? "⋎" : "›",
      x + PAD,
      y + tall / 2 - (isMine ? 1 : 0),
    );
  }
  ctx.fillStyle = ink;
  const lines = fitted(ctx, picture, n, wide - 2 * PAD - inset - 4);
  lines.forEach((line, i) => {
    const at = y + tall / 2 + (i - (lines.length - 1) / 2) * LINE;
    ctx.fillText(line, x + PAD + inset, at);
    if (has(scene, card, FLAG.disabled)) ctx.fillRect(x + PAD + inset, at, ctx.measureText(line).width, 1);
  });
}

/** Returns the start of a message, on at most two lines. */
function fitted(ctx: CanvasRenderingContext2D, { scene, fitted: known }: TreeFrame, n: number, room: number) {
  const words = narrow(ctx, scene.words(n));
  const key = `${ctx.font}/${room}/${words}`;
  const found = known.get(key);
  if (found) return found;
  const first = longest(ctx, words, room, true);
  const rest = words.slice(first.length).trim();
  const second = longest(ctx, rest, room, false);
  const lines =
    rest === ""
      ? [first]
      : [
          first.trimEnd(),
          second === rest ? rest : `${longest(ctx, rest, room - ctx.measureText("…").width, false).trimEnd()}…`,
        ];
  if (known.size > 4_000) known.clear();
  known.set(key, lines);
  return lines;
}

/**
 * Replaces typographic quotation marks in Western text if the font is Chinese. There they are as wide as a letter, and
 * a canvas cannot request their narrow forms, unlike a style sheet.
 */
function narrow(ctx: CanvasRenderingContext2D, words: string) {
  if (!/[‘’“”]/.test(words) || !isWestern(words) || ctx.measureText("’").width < ctx.measureText("n").width)
    return words;
  return words.replace(/[‘’]/g, "'").replace(/[“”]/g, '"');
}

/**
 * Returns as much of a text as fits.
 * @param breaks break after a word, if the script separates words
 */
function longest(ctx: CanvasRenderingContext2D, text: string, room: number, breaks: boolean): string {
  if (ctx.measureText(text).width <= room) return text;
  const letters = [...text];
  let [low, high] = [1, letters.length] as [number, number];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (ctx.measureText(letters.slice(0, middle).join("")).width <= room) low = middle;
    else high = middle - 1;
  }
  const cut = letters.slice(0, low).join("");
  const space = cut.lastIndexOf(" ");
  return breaks && space > cut.length / 2 ? cut.slice(0, space + 1) : cut;
}

/**
 * Draws signs for a failed reply, an unread one and one with ignored effects, so that they differ not only in colour.
 */
function drawMarks(ctx: CanvasRenderingContext2D, { scene, look }: TreeFrame, card: number, colour: string) {
  const { x, y, wide, tall } = boxOf(scene, card);
  if (has(scene, card, FLAG.failed) || has(scene, card, FLAG.muted)) {
    ctx.font = `700 13px ${look.sans}`;
    ctx.fillStyle = colour;
    ctx.textAlign = "right";
    ctx.fillText(has(scene, card, FLAG.failed) ? "!" : "⊘", x + wide - 5, y + tall / 2);
    ctx.textAlign = "left";
  }
  if (!has(scene, card, FLAG.unread)) return;
  ctx.fillStyle = look.accent;
  ctx.strokeStyle = look.page;
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.arc(x + wide - 2, y + 2, 6, 0, Math.PI * 2);
  ctx.fill();
  ctx.stroke();
}

/** Draws the label of a message on the upper edge of its card. */
function drawLabel(ctx: CanvasRenderingContext2D, { scene, look }: TreeFrame, card: number, name: string) {
  const { x, y, wide } = boxOf(scene, card);
  ctx.font = `600 11px ${look.sans}`;
  const text = longest(ctx, name, wide - 40, false);
  const shown = text === name ? name : `${text}…`;
  pill(ctx, { x: x + 8, y: y - 9, wide: ctx.measureText(shown).width + 14, tall: 18 }, look.page, look.accent);
  ctx.fillStyle = look.accent;
  ctx.textBaseline = "middle";
  ctx.fillText(shown, x + 15, y + 0.5);
}

function pill(
  ctx: CanvasRenderingContext2D,
  { x, y, wide, tall }: { x: number; y: number; wide: number; tall: number },
  fill: string,
  edge: string,
) {
  ctx.fillStyle = fill;
  ctx.strokeStyle = edge;
  ctx.lineWidth = 1;
  ctx.beginPath();
  ctx.roundRect(x, y, wide, tall, tall / 2);
  ctx.fill();
  ctx.stroke();
}

/** Returns the text of a card's badge; "" if it has none. A branch that only continues needs no folding. */
export function badgeOf(
  { cards: { hidden, foldable }, layout: { reach, column } }: Pick<TreeScene, "cards" | "layout">,
  card: number,
) {
  if ((hidden[card] ?? 0) > 0) return `+${hidden[card]}`;
  return foldable[card] === 1 && reach[card] !== column[card] ? "−" : "";
}

/** Returns the box of a card's badge, at its lower right. */
export function badgeBox(scene: TreeScene, card: number) {
  const { x, y, wide, tall } = boxOf(scene, card);
  const own = badgeOf(scene, card).length * 7.5 + 13;
  return {
    x: x + wide - BADGE.right - (scene.cards.node[card] === 0 ? 0 : own),
    y: y + tall - BADGE.up,
    wide: own,
    tall: BADGE.tall,
  };
}

function drawBadge(ctx: CanvasRenderingContext2D, { scene, look }: TreeFrame, card: number) {
  const text = badgeOf(scene, card);
  if (text === "") return;
  const box = badgeBox(scene, card);
  const isFolded = text !== "−";
  pill(ctx, box, look.raised, isFolded ? look.text : look.strong);
  ctx.font = `${isFolded ? "600 " : ""}11.5px ${look.sans}`;
  ctx.fillStyle = isFolded ? look.text : look.muted;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(text, box.x + box.wide / 2, box.y + box.tall / 2 + 0.5);
  ctx.textAlign = "left";
}

// Minimap

/** Draws the whole tree. Each direction has its own scale, as a story is a hundred times as tall as it is wide. */
export function paintMap(
  ctx: CanvasRenderingContext2D,
  scene: TreeScene,
  look: TreeTheme,
  { wide, tall }: { wide: number; tall: number },
) {
  const { layout, cards } = scene;
  const [across, down] = [wide / layout.columns, tall / layout.rows];
  const [trunk, side, left] = [new Path2D(), new Path2D(), new Path2D()];
  for (let card = 0; card < cards.size; card += 1) {
    const path = cards.trunk[card] === 1 ? trunk : has(scene, card, FLAG.disabled) ? left : side;
    path.rect(
      (layout.column[card] ?? 0) * across,
      (layout.row[card] ?? 0) * down,
      Math.max(1, across * 0.8),
      Math.max(1, down * (down > 4 ? 0.75 : 1)),
    );
  }
  const fill = (path: Path2D, colour: string, alpha: number) => {
    ctx.globalAlpha = alpha;
    ctx.fillStyle = colour;
    ctx.fill(path);
  };
  fill(side, look.strong, 0.7);
  fill(left, look.strong, 0.3);
  fill(trunk, look.accent, 1);
  ctx.globalAlpha = 1;
}
