// Markdown to elements. Everything a model, a card or another reader wrote goes through `prose`, and only through it:
// render, then sanitise by allow-list, then hand out elements. The page has no other way from text to markup.
import { Marked } from "../../vendor/marked.js";
import DOMPurify from "../../vendor/purify.js";

/** @import { TokenizerAndRendererExtension, Tokens } from "../../vendor/marked.js" */

const TAGS =
  "p br hr em strong del s sub sup q blockquote ul ol li h1 h2 h3 h4 h5 h6 code pre kbd table thead tbody tr th td a ruby rt rp";
const RULES = {
  ALLOWED_TAGS: TAGS.split(" "),
  ALLOWED_ATTR: ["href", "title", "start", "align", "lang", "dir"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
  RETURN_TRUSTED_TYPE: true,
};

// Spoken words, so that the style sheet can tint them: "…", “…”, «…», 「…」, 『…』 within one line.
const SPEECH = /^(?:"([^"\n]+)"|“([^“”\n]+)”|«([^«»\n]+)»|「([^「」\n]+)」|『([^『』\n]+)』)/;

/** @param {string} text */
const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

/** @type {TokenizerAndRendererExtension} */
const speech = {
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
    const speech = /** @type {Tokens.Generic} */ (token);
    const escape = (/** @type {string} */ mark) => (mark === '"' ? "&quot;" : mark);
    return `<q>${escape(speech.open)}${this.parser.parseInline(speech.tokens ?? [])}${escape(speech.close)}</q>`;
  },
};

const marked = new Marked({ gfm: true, breaks: true, async: false, extensions: [speech] });
marked.use({ renderer: { image: ({ text }) => escaped(text) } });

// For what a reader typed: Markdown as elsewhere, but nothing of it is taken for markup, and nothing of it vanishes.
const literal = new Marked({ gfm: true, breaks: true, async: false, extensions: [speech] });
literal.use({
  tokenizer: { html: () => undefined, tag: () => undefined, def: () => undefined },
  renderer: {
    image: ({ raw }) => escaped(raw),
    text(token) {
      return "tokens" in token && token.tokens ? this.parser.parseInline(token.tokens) : escaped(token.text);
    },
  },
});

DOMPurify.addHook("afterSanitizeAttributes", (element) => {
  if (element.nodeName !== "A") return;
  if (!/^(https?:|mailto:)/i.test(element.getAttribute("href") ?? "")) element.removeAttribute("href");
  element.setAttribute("target", "_blank");
  element.setAttribute("rel", "noopener noreferrer nofollow");
});

/** @type {Map<string, DocumentFragment>} */
const recent = new Map();
const RECENT = 240;

/** @param {string} html @returns {DocumentFragment} */
function sanitise(html) {
  return /** @type {DocumentFragment} */ (/** @type {unknown} */ (DOMPurify.sanitize(html, RULES)));
}

/** @param {string} text Markdown that another wrote @returns {DocumentFragment} fresh elements, safe to put into the page */
export const prose = (text) => rendered(marked, "other", text);

/** @param {string} text Markdown that the reader typed @returns {DocumentFragment} fresh elements that show every character of it */
export const typed = (text) => rendered(literal, "own", text);

/** @param {Marked} by @param {string} kind @param {string} text */
function rendered(by, kind, text) {
  const key = `${kind} ${text}`;
  const known = recent.get(key) ?? sanitise(/** @type {string} */ (by.parse(text)));
  recent.delete(key);
  recent.set(key, known);
  if (recent.size > RECENT) recent.delete(/** @type {string} */ (recent.keys().next().value));
  return /** @type {DocumentFragment} */ (known.cloneNode(true));
}

/**
 * Renders a text that grows. Blocks that can no longer change stay as they are; only the last two are made anew, so
 * the cost of a piece does not grow with the reply. Reference links reach across blocks: at the end of the stream the
 * caller renders the whole text once with `prose`.
 */
export class LiveProse {
  /** @param {HTMLElement} host */
  constructor(host) {
    this.host = host;
    this.frozen = 0;
    /** @type {ChildNode[]} */
    this.tail = [];
  }

  /** @param {string} text the whole text so far */
  show(text) {
    const source = text.replaceAll("\r", "");
    const blocks = marked.lexer(source.slice(this.frozen));
    const settled = blocks.slice(0, -2).reduce((sum, block) => sum + block.raw.length, 0);
    for (const node of this.tail) node.remove();
    if (settled > 0) {
      this.host.append(this.#render(source.slice(this.frozen, this.frozen + settled)));
      this.frozen += settled;
    }
    const fresh = this.#render(source.slice(this.frozen));
    this.tail = [...fresh.childNodes];
    this.host.append(fresh);
  }

  /** @param {string} part @returns {DocumentFragment} */
  #render(part) {
    return sanitise(/** @type {string} */ (marked.parse(part)));
  }
}
