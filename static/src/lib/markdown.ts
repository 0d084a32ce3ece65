// Markdown to elements. Every text of a model, a card or another user goes through `renderMarkdown`: it is rendered, then
// sanitised by an allow-list. The page has no other way from text to markup.
import { Marked } from "../../vendor/marked.js";
import DOMPurify from "../../vendor/purify.js";
import { t } from "./i18n.ts";
import { applyStyle, parseStyle } from "./inline-style.ts";
import { lexWithinBudget } from "./markdown-budget.ts";
import type { TokenizerAndRendererExtension, Token, Tokens } from "../../vendor/marked.js";
import type { InlineStyle } from "./inline-style.ts";

const TAGS =
  "p br hr em strong b i u small del s sub sup q mark font center blockquote ul ol li h1 h2 h3 h4 h5 h6 code pre " +
  "kbd div span details summary " +
  "table caption colgroup col thead tbody tfoot tr th td a ruby rt rp img";
const RULES = {
  ALLOWED_TAGS: TAGS.split(" "),
  ALLOWED_ATTR: ["href", "title", "start", "align", "lang", "dir", "open", "colspan", "rowspan"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
  RETURN_TRUSTED_TYPE: true,
};

// Speech, so that the style sheet can colour it: "…", “…”, «…», 「…」, 『…』 within one line.
const SPEECH = /^(?:"([^"\n]+)"|“([^“”\n]+)”|«([^«»\n]+)»|「([^「」\n]+)」|『([^『』\n]+)』)/;

const escaped = (text: string) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

const speech: TokenizerAndRendererExtension = {
  name: "speech",
  level: "inline",
  start: (src) => {
    const at = src.search(/["“«「『]/);
    return at < 0 ? undefined : at;
  },
  tokenizer(src) {
    const match = SPEECH.exec(src);
    if (!match) return undefined;
    const raw = match[0];
    const tokens = this.lexer.inlineTokens(raw.slice(1, -1));
    return { type: "speech", raw, open: raw.charAt(0), close: raw.slice(-1), tokens };
  },
  renderer(token) {
    const speech = token as Tokens.Generic;
    const quoted = (mark: string) => (mark === '"' ? "&quot;" : mark);
    return `<q>${quoted(speech.open)}${this.parser.parseInline(speech.tokens ?? [])}${quoted(speech.close)}</q>`;
  },
};

const hooks = { provideLexer: () => lexWithinBudget };
const marked = new Marked({ gfm: true, breaks: true, async: false, extensions: [speech], hooks });
marked.use({ renderer: { image: ({ href, text }) => `<img src="${escaped(href)}" alt="${escaped(text)}">` } });

// For texts that the user typed: Markdown, but HTML tags stay visible as text, so nothing disappears.
const literal = new Marked({ gfm: true, breaks: true, async: false, extensions: [speech], hooks });
literal.use({
  tokenizer: { html: () => undefined, tag: () => undefined, def: () => undefined },
  renderer: {
    image: ({ raw }) => escaped(raw),
    text(token) {
      return "tokens" in token && token.tokens ? this.parser.parseInline(token.tokens) : escaped(token.text);
    },
  },
});

/** Marks an element with a style until it is on the page. Sanitised HTML never has a `style`. */
const LOOK = "data-look";
/** Marks a picture. Sanitised HTML never has a `src`. */
const PICTURE = "data-picture";

/** A picture as the text names it. */
interface Picture {
  src: string;
  alt: string;
}

/** The styles and pictures of the text being sanitised, and the style of the current element. */
const asideOf = { looks: [] as InlineStyle[], pictures: [] as Picture[], look: null as InlineStyle | null };

DOMPurify.addHook("beforeSanitizeAttributes", (element) => {
  if (element.nodeName === "IMG")
    asideOf.pictures.push({ src: element.getAttribute("src") ?? "", alt: element.getAttribute("alt") ?? "" });
  const [style, font] = [
    element.getAttribute?.("style"),
    element.nodeName === "FONT" ? element.getAttribute("color") : null,
  ];
  asideOf.look = style || font ? parseStyle(style ?? "", font ?? "") : null;
});

DOMPurify.addHook("afterSanitizeAttributes", (element) => {
  if (asideOf.look) element.setAttribute(LOOK, `${asideOf.looks.push(asideOf.look) - 1}`);
  asideOf.look = null;
  if (element.nodeName === "IMG") element.setAttribute(PICTURE, `${asideOf.pictures.length - 1}`);
  if (element.nodeName !== "A") return;
  if (!/^(https?:|mailto:)/i.test(element.getAttribute("href") ?? "")) element.removeAttribute("href");
  element.setAttribute("target", "_blank");
  element.setAttribute("rel", "noopener noreferrer nofollow");
});

/** Sanitised elements that are not on the page yet, with their styles and pictures. */
interface SanitisedHtml {
  fragment: DocumentFragment;
  looks: InlineStyle[];
  pictures: Picture[];
}

const cache: Map<string, SanitisedHtml> = new Map();
const MAX_CACHED = 240;

function sanitise(html: string): SanitisedHtml {
  [asideOf.looks, asideOf.pictures] = [[], []];
  const fragment = DOMPurify.sanitize(html, RULES) as unknown as DocumentFragment;
  return { fragment, looks: asideOf.looks, pictures: asideOf.pictures };
}

/** Returns new elements for the page. */
function elementsOf({ fragment, looks, pictures }: SanitisedHtml): DocumentFragment {
  const fresh = document.importNode(fragment, true);
  for (const element of fresh.querySelectorAll(`[${LOOK}]`) as NodeListOf<HTMLElement>) {
    const look = looks[Number(element.getAttribute(LOOK))];
    element.removeAttribute(LOOK);
    if (look) applyStyle(element, look);
  }
  for (const element of fresh.querySelectorAll("img")) {
    const picture = pictures[Number(element.getAttribute(PICTURE) ?? -1)];
    element.replaceWith(picture ? pictureOf(picture) : "");
  }
  return fresh;
}

/** A picture inside the text, of at most 256 kB. */
const EMBEDDED_PICTURE = /^data:image\/(?:png|jpeg|webp|gif);base64,[a-z\d+/=]+$/i;
const MAX_EMBEDDED = (256 * 1024 * 4) / 3 + 64;
const LONGEST_ADDRESS = 2_000;

/** The alternative text of each picture, by its placeholder. */
const words: WeakMap<Element, string> = new WeakMap();

/**
 * Returns the alternative text of a picture.
 * @param place its placeholder, for a picture on another server
 */
export const wordsOf = (place: Element): string => words.get(place) ?? "";

/** Returns the replacement of a picture. Nothing is requested, because the other server would learn about the user. */
function pictureOf({ src, alt }: Picture): Node {
  if (src.length <= MAX_EMBEDDED && EMBEDDED_PICTURE.test(src)) {
    const image = new Image();
    [image.alt, image.src] = [alt, src];
    return image;
  }
  const from = src.length <= LONGEST_ADDRESS && /^https?:/i.test(src) && URL.canParse(src) ? new URL(src) : null;
  if (!from) return new Text(alt);
  const place = document.createElement("span");
  place.dataset.outside = from.href;
  words.set(place, alt);
  place.textContent = alt ? t("outside.named", { host: from.host, alt }) : t("outside.from", { host: from.host });
  return place;
}

/**
 * Renders Markdown.
 * @param text written by others
 * @returns new elements that are safe for the page
 */
export const renderMarkdown = (text: string): DocumentFragment => renderCached(marked, "other", text);

/**
 * Renders Markdown that the user typed.
 * @returns new elements that show every character of it
 */
export const renderTyped = (text: string): DocumentFragment => renderCached(literal, "own", text);

/** Renders a text as HTML that is not sanitised yet. A text that cannot be rendered is shown as it is, which it says. */
function htmlOf(by: Marked, text: string): string {
  try {
    return by.parse(text) as string;
  } catch {
    return `<p>${escaped(text).replaceAll("\n", "<br>")}</p><p><small>${escaped(t("message.plain"))}</small></p>`;
  }
}

function renderCached(by: Marked, kind: string, text: string) {
  const key = `${kind} ${text}`;
  const known = cache.get(key) ?? sanitise(htmlOf(by, text));
  cache.delete(key);
  cache.set(key, known);
  if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value as string);
  return elementsOf(known);
}

/** Returns which collapsible parts of a text are open. */
export const openDetails = (host: ParentNode) => [...host.querySelectorAll("details")].map((part) => part.open);

/** Restores which parts are open. Parts that are new since then stay as they are. */
export function restoreDetails(host: ParentNode, was: boolean[]) {
  for (const [i, part] of host.querySelectorAll("details").entries()) part.open = was[i] ?? part.open;
}

const VOID = /^(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/;
/** Elements that end by themselves where the next of their kind begins. */
const LOOSE = /^(?:p|li|td|th|tr|rt|rp)$/;
/** Elements that continue after the end of the element around them. */
const LASTING = /^(?:a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)$/;

/**
 * Returns the elements that are open after a block of text.
 * @param open those that are open before it
 */
function openElementsAfter(block: Token, open: string[]) {
  marked.walkTokens([block], (token) => {
    if (token.type !== "html") return;
    for (const [, closes, tag = ""] of token.raw.matchAll(/<(\/?)([a-z][\w-]*)/gi)) {
      const name = tag.toLowerCase();
      if (VOID.test(name) || LOOSE.test(name)) continue;
      const at = closes ? open.lastIndexOf(name) : open.push(name);
      if (closes && at >= 0)
        open.push(
          ...open
            .splice(at)
            .slice(1)
            .filter((one) => LASTING.test(name) || LASTING.test(one)),
        );
    }
  });
  return open;
}

/** Returns the blocks of a text; none if it cannot be split. */
function blocksOf(text: string): Token[] {
  try {
    return lexWithinBudget(text, marked.defaults);
  } catch {
    return [];
  }
}

/**
 * Returns how many characters can no longer change: all blocks but the last two, up to the last place without open
 * elements.
 */
function finishedLength(blocks: Token[]) {
  let [seen, settled] = [0, 0];
  let open: string[] = [];
  for (const block of blocks.slice(0, -2)) {
    seen += block.raw.length;
    open = openElementsAfter(block, open);
    if (open.length === 0) settled = seen;
  }
  return settled;
}

/**
 * Renders a text that grows. Finished blocks stay as they are. Only the last two blocks are rendered again, and what a
 * card left open. So the cost of a piece does not grow with the reply. Reference links reach across blocks, so the
 * caller renders the whole text once with `renderMarkdown` at the end.
 */
export class LiveMarkdown {
  host: HTMLElement;
  frozen = 0;
  /** The source text of the finished blocks. */
  settled = "";
  tail: ChildNode[] = [];

  constructor(host: HTMLElement) {
    this.host = host;
  }

  /** @param text the whole text so far; if its start has changed, all of it is rendered again */
  show(text: string) {
    const source = text.replaceAll("\r", "");
    if (!source.startsWith(this.settled)) this.#forget();
    const settled = finishedLength(blocksOf(source.slice(this.frozen)));
    const open = openDetails(this.host);
    for (const node of this.tail) node.remove();
    if (settled > 0) {
      this.host.append(this.#render(source.slice(this.frozen, this.frozen + settled)));
      this.frozen += settled;
      this.settled = source.slice(0, this.frozen);
    }
    const fresh = this.#render(source.slice(this.frozen));
    this.tail = [...fresh.childNodes];
    this.host.append(fresh);
    restoreDetails(this.host, open);
  }

  #forget() {
    this.host.replaceChildren();
    [this.frozen, this.settled, this.tail] = [0, "", []];
  }

  #render(part: string): DocumentFragment {
    return elementsOf(sanitise(htmlOf(marked, part)));
  }
}
