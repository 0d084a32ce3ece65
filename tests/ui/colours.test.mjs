// Tests of the colours on the canvas of the tree, which axe cannot check. The page's own code draws a tree with every
// kind of message on a recording canvas, in the colours of the style sheet, light and dark.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { cardsOf, layOut } from "../../static/src/tree/layout.ts";
import { FLAG, trunkTo } from "../../static/src/tree/outline.ts";

const css = readFileSync(new URL("../../static/css/base.css", import.meta.url), "utf8");
/** The minimum contrast of text, and of other graphics. */
const ENOUGH = { text: 4.5, shape: 3 };
const ROLES = {
  page: "page",
  raised: "raised",
  line: "border",
  strong: "line-strong",
  text: "text",
  muted: "muted",
  faint: "faint",
  accent: "accent",
  soft: "accent-soft",
  onAccent: "on-accent",
  bad: "bad",
};

/** Returns a colour of the style sheet. @param {string} name @param {0 | 1} theme light, dark */
function token(name, theme) {
  const value = new RegExp(`--${name}: ([^;]+);`).exec(css)?.[1] ?? assert.fail(`no --${name}`);
  const role = /^var\(--([\w-]+)\)$/.exec(value)?.[1];
  return role
    ? token(role, theme)
    : (/light-dark\((#\w{6}), (#\w{6})\)/.exec(value)?.[1 + theme] ?? assert.fail(`--${name}: ${value}`));
}

const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
const blend = (colour, ground, alpha) => parts(colour).map((part, i) => part * alpha + parts(ground)[i] * (1 - alpha));
const luminance = (rgb) =>
  rgb
    .map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);

/** Returns the contrast of two colours by WCAG. */
function contrast(colour, ground, alpha = 1) {
  const [most, least] = [luminance(blend(colour, ground, alpha)), luminance(parts(ground))].sort((a, b) => b - a);
  return (most + 0.05) / (least + 0.05);
}

/** Returns the shapes of a path. */
class Shapes {
  boxes = [];
  roundRect(x, y, wide, tall) {
    this.boxes.push({ x, y, wide, tall });
  }
  rect = this.roundRect;
  arc(x, y, far) {
    this.boxes.push({ x: x - far, y: y - far, wide: 2 * far, tall: 2 * far });
  }
  moveTo() {}
  lineTo() {}
  quadraticCurveTo() {}
}
globalThis.Path2D = Shapes;

/** Creates a canvas that records each text with its background, and the line styles. */
class Paper extends Shapes {
  canvas = { width: 1, height: 1 };
  globalAlpha = 1;
  words = [];
  lines = [];
  bars = [];
  #filled = [];
  /** @param {string} ground what it lies on */
  constructor(ground) {
    super();
    this.ground = ground;
  }
  beginPath() {
    this.boxes = [];
  }
  fill(path = this) {
    if (path !== this && path.boxes.length > 0) this.bars.push({ colour: this.fillStyle, alpha: this.globalAlpha });
    for (const box of path.boxes) this.#filled.push({ ...box, colour: this.fillStyle });
  }
  fillRect(x, y, wide, tall) {
    this.#filled.push({ x, y, wide, tall, colour: this.fillStyle });
  }
  stroke() {
    this.lines.push({ colour: this.strokeStyle, alpha: this.globalAlpha });
  }
  strokeRect() {
    this.stroke();
  }
  fillText(text, x, y) {
    const ground =
      this.#filled.findLast((box) => x >= box.x && x <= box.x + box.wide && y >= box.y && y <= box.y + box.tall)
        ?.colour ?? this.ground;
    this.words.push({ text, colour: this.fillStyle, ground });
  }
  measureText(text) {
    return { width: text.length * 7 };
  }
  setTransform() {}
  clearRect() {}
  setLineDash() {}
}

/** Creates a tree with every kind of message, on the current branch and beside it. */
function treeWithEverything() {
  const kinds = [
    0,
    FLAG.mine,
    FLAG.disabled,
    FLAG.disabled | FLAG.mine,
    FLAG.failed,
    FLAG.failed | FLAG.mine,
    FLAG.muted,
    FLAG.unread,
    FLAG.summary,
    FLAG.merge,
    FLAG.writing,
  ];
  const flags = [0, ...kinds, ...kinds, 0, 0, 0, 0, 0, 0];
  const trunkEnd = kinds.length;
  // The current branch, another branch beside it, and a straight run below the first message.
  const parent = flags.map((_, n) => (n === trunkEnd + 1 || n === 2 * trunkEnd + 1 ? 1 : n - 1));
  const outline = {
    size: flags.length,
    ids: flags.map((_, n) => `n${n}`),
    parent: Int32Array.from(parent),
    flags: Uint8Array.from(flags),
    previews: [],
    at: new Map(),
    ends: new Map(),
  };
  const trunk = trunkTo(outline, trunkEnd);
  const cards = cardsOf(outline, {
    trunk,
    sides: false,
    flipped: new Set([4]),
    runs: true,
    openRuns: new Set(),
    keeps: (n) => n <= 2 * trunkEnd,
  });
  const layout = layOut(cards);
  const selected = new Uint8Array(cards.size);
  selected[4] = 1;
  return {
    outline,
    cards,
    layout,
    head: cards.cardOf[trunkEnd],
    cursor: 2,
    carried: -1,
    selected,
    compared: [3, 6],
    moveTarget: { card: 5, isPlace: false },
    words: (n) => `words ${n}`,
    label: (n) => (n % 5 === 1 ? "A place" : ""),
    runText: (n) => `${n} messages`,
    beginning: "Beginning",
  };
}

describe("the colours of the tree", async () => {
  const { paint } = await import("../../static/src/views/tree-paint.ts");
  for (const [theme, name] of /** @type {[0 | 1, string][]} */ ([
    [0, "light"],
    [1, "dark"],
  ])) {
    const look = {
      ...Object.fromEntries(Object.entries(ROLES).map(([role, of]) => [role, token(of, theme)])),
      sans: "sans",
      serif: "serif",
    };
    const surface = token("surface", theme);
    const draw = (zoom) => {
      const paper = new Paper(surface);
      paint(
        paper,
        {
          scene: treeWithEverything(),
          look,
          camera: { x: 0, y: 0, zoom },
          wide: 4_000,
          tall: 4_000,
          pulse: 0.5,
          fitted: new Map(),
        },
        1,
      );
      return paper;
    };

    test(`${name}: all text is readable`, () => {
      const { words } = draw(1);
      for (const text of [
        "Beginning",
        "4 messages",
        "A place",
        "words 1",
        "words 3",
        "1",
        "2",
        "!",
        "≡",
        "⋎",
        "›",
        "⊘",
      ])
        assert.ok(
          words.some((one) => one.text === text),
          `${text} is written`,
        );
      for (const { text, colour, ground } of words)
        assert.ok(
          contrast(colour, ground) >= ENOUGH.text,
          `“${text}” in ${colour} on ${ground}: ${contrast(colour, ground).toFixed(2)}`,
        );
    });

    test(`${name}: lines, frames and distant bars are visible`, () => {
      const [near, far] = [draw(1), draw(0.2)];
      assert.ok(far.bars.length >= 4 && near.lines.length > 20);
      // The frame of a plain card has no meaning of its own.
      const shapes = [...near.lines, ...far.lines, ...far.bars].filter(
        ({ colour }) => colour !== look.line && colour !== look.page,
      );
      for (const { colour, alpha } of shapes)
        assert.ok(
          contrast(colour, surface, alpha) >= ENOUGH.shape,
          `${colour} at ${alpha} on ${surface}: ${contrast(colour, surface, alpha).toFixed(2)}`,
        );
    });

    test(`${name}: the current branch stands out, not by its colour alone`, () => {
      assert.ok(contrast(look.accent, look.raised) >= ENOUGH.shape && contrast(look.accent, look.soft) >= ENOUGH.shape);
      assert.ok(contrast(look.text, look.soft) >= ENOUGH.text);
    });
  }
});
