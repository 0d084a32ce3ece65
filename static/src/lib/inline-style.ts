// The style of a card's text. Of a `style`, only colours, spacing and emphasis are kept, in sizes that cannot break the
// page. The text of the style is never used itself. The browser parses it on an element of an inert document, and each
// parsed value is checked.

/** `textColour`: the colour of the text; `background`: whether its own background is light or dark. */
export interface InlineStyle {
  properties: [string, string][];
  textColour: string;
  background: "light" | "dark" | "";
}

const inert = document.implementation.createHTMLDocument("").createElement("i");

/** Maximum length of a style in characters. A longer one is ignored. */
const MAX = 4_000;

const COLOURS = "rgb|rgba|hsl|hsla|hwb|lab|lch|oklab|oklch|color|color-mix|light-dark";
const COLOUR = new RegExp(`^(?:${COLOURS})$`);
const COLOUR_FUNCTION = new RegExp(`^(?:${COLOURS}|(?:repeating-)?(?:linear|radial|conic)-gradient|calc)$`);
const SIZE = /^(?:calc|min|max|clamp)$/;

const calls = (value: string, may: RegExp) =>
  [...value.matchAll(/([\w-]*)\(/g)].every(([, name = ""]) => may.test(name));

/** Returns the value to use, or "" to drop it. */
type StyleRule = (value: string) => string;

const oneOf: (words: string) => StyleRule = (words) => (value) => (words.split(" ").includes(value) ? value : "");
const someOf: (words: string) => StyleRule = (words) => (value) =>
  value.split(" ").every((word) => words.split(" ").includes(word)) ? value : "";
const colour: StyleRule = (value) => (calls(value, COLOUR) ? value : "");
const between: (least: string, most: string, words?: string) => StyleRule =
  (least, most, words = "") =>
  (value) => {
    if (words.split(" ").includes(value)) return value;
    return /^[-+.\d]|\($/.test(value.replace(/\(.*$/s, "(")) && calls(value, SIZE)
      ? `clamp(${least}, ${value}, ${most})`
      : "";
  };
const number: (least: number, most: number) => StyleRule = (least, most) => (value) =>
  /^[\d.]+$/.test(value) ? `${Math.min(Math.max(Number(value), least), most)}` : "";
/** Shadows with short offsets only. */
const shadow: StyleRule = (value) => {
  const lengths = [...value.replaceAll(/\([^)]*\)/g, "").matchAll(/(-?[\d.]+)([a-z%]*)/g)];
  return colour(value) &&
    lengths.every(([, n, unit]) => Math.abs(Number(n)) <= (unit === "px" ? 32 : 2) && /^(px|em|rem|)$/.test(unit ?? ""))
    ? value
    : "";
};
const lineHeight: StyleRule = (value) => number(1, 3)(value) || between("1em", "3em", "normal")(value);
/** Each corner has one size or two. */
const corner: StyleRule = (value) => (/^[\d.]+(px|em|rem|%)?( [\d.]+(px|em|rem|%)?)?$/.test(value) ? value : "");

const PLACES =
  "normal start end center left right flex-start flex-end stretch baseline space-between space-around space-evenly";
const SIDE = "(?:top|right|bottom|left|(?:inline|block)-(?:start|end))";

const RULES: [RegExp, StyleRule][] = [
  [/^background-color$/, colour],
  [/^background-image$/, (value) => (/gradient\(/.test(value) && calls(value, COLOUR_FUNCTION) ? value : "")],
  [new RegExp(`^border-${SIDE}-color$`), colour],
  [new RegExp(`^border-${SIDE}-style$`), oneOf("none solid dashed dotted double groove ridge inset outset")],
  [new RegExp(`^border-${SIDE}-width$`), between("0px", "0.5rem", "thin medium thick")],
  [/^border-(top|bottom|start|end)-(left|right|start|end)-radius$/, corner],
  // The percentage leaves room for the text in nested boxes.
  [new RegExp(`^(padding|margin)-${SIDE}$`), between("0px", "min(3rem, 12%)", "auto")],
  [/^(width|max-width|flex-basis)$/, between("0px", "100%", "auto none fit-content")],
  [/^height$/, between("0px", "30rem", "auto fit-content")],
  [/^text-align$/, oneOf("left right center justify start end")],
  [/^text-decoration-line$/, someOf("none underline overline line-through")],
  [/^text-decoration-style$/, oneOf("solid double dotted dashed wavy")],
  [/^text-decoration-color$/, colour],
  [/^text-transform$/, oneOf("none uppercase lowercase capitalize")],
  [/^(text|box)-shadow$/, shadow],
  [/^font-weight$/, (value) => oneOf("normal bold bolder lighter")(value) || number(100, 900)(value)],
  [/^font-style$/, oneOf("normal italic oblique")],
  [/^font-size$/, between("0.7rem", "2.5rem", "x-small small medium large x-large xx-large")],
  [/^letter-spacing$/, between("-0.05em", "0.5em", "normal")],
  [/^line-height$/, lineHeight],
  [/^opacity$/, number(0.5, 1)],
  [/^display$/, oneOf("block inline inline-block flex inline-flex")],
  [/^flex-(grow|shrink)$/, number(0, 99)],
  [/^flex-direction$/, oneOf("row column")],
  [/^flex-wrap$/, oneOf("wrap nowrap")],
  [/^(justify-content|align-(items|self|content))$/, oneOf(PLACES)],
  [/^(row|column)-gap$/, between("0px", "3rem", "normal")],
];

/**
 * Reads the style of an element; `null` if nothing of it is kept.
 * @param style the attribute `style`
 * @param font the attribute `color` of a `font` element
 */
export function parseStyle(style: string, font: string): InlineStyle | null {
  inert.style.cssText = style.length > MAX ? "" : style;
  if (font && !inert.style.color) inert.style.color = font;
  const properties: [string, string][] = [];
  for (const name of inert.style) {
    const value = inert.style.getPropertyValue(name);
    const rule = RULES.find(([of]) => of.test(name))?.[1];
    const allowed = value && rule ? rule(value) : "";
    if (allowed) properties.push([name, allowed]);
  }
  const ink = colour(inert.style.color);
  const given = colourParts(ink);
  // Nearly transparent text only makes sense on a picture, or is meant to be invisible.
  const isInk = given !== null && given[3] >= 0.4;
  if (properties.length === 0 && !isInk) return null;
  return { properties, textColour: isInk ? ink : "", background: backgroundOf(new Map(properties)) };
}

/** Applies a style to a new element of the page. Its ancestors must have their styles already. */
export function applyStyle(element: HTMLElement, { properties, textColour, background }: InlineStyle) {
  for (const [name, value] of properties) element.style.setProperty(name, value);
  if (background) element.dataset.ground = background;
  if (!textColour) return;
  element.dataset.ink = "";
  // On the card's own background its colour stays. On ours it is adjusted until it is readable in light and dark mode.
  element.style.setProperty(
    "color",
    element.closest("[data-ground]")
      ? textColour
      : `light-dark(${readableColour(textColour, DAY)}, ${readableColour(textColour, NIGHT)})`,
  );
}

// Light and dark

/** Red, green and blue from 0 to 255, and alpha from 0 to 1. */
type ColourParts = [number, number, number, number];

const context = new OffscreenCanvas(1, 1).getContext("2d");

/** Returns the components of a colour; `null` if they are unknown. */
function colourParts(value: string): ColourParts | null {
  if (!context || !/^([a-z]+|rgba?\(.*\)|hsla?\(.*\))$/i.test(value) || /^currentcolor$/i.test(value)) return null;
  context.fillStyle = "#000";
  context.fillStyle = value;
  const [, r = "", g = "", b = ""] = /^#(..)(..)(..)$/.exec(context.fillStyle) ?? [];
  if (r) return [parseInt(r, 16), parseInt(g, 16), parseInt(b, 16), 1];
  const [red = 0, green = 0, blue = 0, solid = 0] = (context.fillStyle.match(/[\d.]+/g) ?? []).map(Number);
  return [red, green, blue, solid];
}

/**
 * Returns the relative luminance by WCAG.
 * @param colour red, green and blue
 */
function brightness(colour: number[]): number {
  const [r = 0, g = 0, b = 0] = colour.map((part) =>
    part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** The luminance at which light and dark text are equally readable. */
const MIDDLE_LUMINANCE = 0.187;

function backgroundOf(look: Map<string, string>) {
  const painted = (look.get("background-image") ?? "").match(/rgba?\([^)]*\)|[a-z]+(?![\w-]*\()/gi) ?? [];
  const stops = painted.filter((word) => CSS.supports("color", word)).map(colourParts);
  const solid = [...stops, colourParts(look.get("background-color") ?? "")].filter(
    (one) => one !== null && one[3] > 0.5,
  );
  // A gradient is drawn over the background colour.
  const seen = solid.length > 1 && stops.length > 0 ? solid.slice(0, stops.length) : solid;
  if (seen.length === 0) return "";
  const mean = seen.reduce((sum, one) => sum + brightness(one ?? []), 0) / seen.length;
  return mean > MIDDLE_LUMINANCE ? "light" : "dark";
}

/** The least readable background of the page in light and dark mode, and the colour towards which text is moved. */
const DAY = { page: 0.86, to: 0 };
const NIGHT = { page: 0.013, to: 255 };

function readableColour(ink: string, { page, to }: typeof DAY) {
  const given = colourParts(ink) ?? [to, to, to, 1];
  const colour = given.slice(0, 3);
  for (let step = 0; step <= 20; step += 1) {
    const moved = colour.map((part) => Math.round(part + ((to - part) * step) / 20));
    const [high, low] = [brightness(moved), page].sort((a, b) => b - a);
    if (((high ?? 0) + 0.05) / ((low ?? 0) + 0.05) >= 4.6) return `rgb(${moved.join(" ")})`;
  }
  return `rgb(${to} ${to} ${to})`;
}
