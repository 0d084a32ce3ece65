// The theme of the workshop's editor, in the colours of the page, and the texts of its panels in the user's language.
import { EditorView, HighlightStyle, syntaxHighlighting, tags } from "../../vendor/codemirror.js";
import { t } from "../lib/i18n.ts";
import type { Key } from "../lib/i18n.ts";

const theme = EditorView.theme({
  "&": {
    height: "min(26rem, 52dvh)",
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    fontSize: "0.8125rem",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--radius-small)",
    overflow: "hidden",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-soft) !important",
  },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--faint)", borderRight: "1px solid var(--border)" },
  ".cm-activeLine, .cm-activeLineGutter": {
    backgroundColor: "color-mix(in oklab, var(--surface), transparent 45%)",
    color: "inherit",
  },
  ".cm-activeLineGutter": { color: "var(--text)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--green-soft)", outline: "1px solid var(--good)" },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "var(--red-soft)" },
  ".cm-selectionMatch, .cm-searchMatch": {
    backgroundColor: "color-mix(in oklab, var(--accent-soft), transparent 30%)",
    outline: "1px solid var(--border)",
  },
  ".cm-searchMatch-selected": { backgroundColor: "var(--accent-soft)", outline: "1px solid var(--accent)" },
  ".cm-panels": { backgroundColor: "var(--surface)", color: "var(--text)", fontFamily: "var(--sans)" },
  ".cm-panels-top": { borderBottom: "1px solid var(--border)" },
  ".cm-textfield, .cm-button": {
    minHeight: "1.75rem",
    backgroundColor: "var(--raised)",
    backgroundImage: "none",
    color: "var(--text)",
    border: "1px solid var(--line-strong)",
    borderRadius: "4px",
    fontSize: "0.8125rem",
  },
  ".cm-button:active": { backgroundColor: "var(--accent-soft)", backgroundImage: "none" },
  ".cm-panel.cm-search label": { fontSize: "0.8125rem" },
  ".cm-panel.cm-search [name=close]": { minWidth: "1.5rem", minHeight: "1.5rem", color: "var(--text)" },
  ".cm-panel.cm-panel-lint ul [aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--text)" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--radius-small)",
    boxShadow: "var(--shadow)",
    maxWidth: "min(28rem, 90vw)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxWidth: "min(28rem, 90vw)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--text)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal" },
  ".cm-completionMatchedText": { color: "var(--accent)", textDecoration: "none", fontWeight: "600" },
  ".cm-completionInfo": { fontFamily: "var(--sans)", padding: "0.4rem 0.6rem" },
  ".cm-diagnostic": { fontFamily: "var(--sans)", color: "var(--text)", borderLeftColor: "var(--accent)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".told": { padding: "0.4rem 0.6rem" },
  ".told code": { fontFamily: "var(--mono)", overflowWrap: "anywhere" },
  ".told p": { margin: "0.2rem 0 0", fontFamily: "var(--sans)" },
  // A sibling of the editor in the same shadow root.
  "& + .hint": { margin: "0.3rem 0 0", color: "var(--muted)", fontSize: "0.8125rem", fontFamily: "var(--sans)" },
});

const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.heading], color: "var(--violet)" },
  { tag: tags.string, color: "var(--green)" },
  { tag: [tags.number, tags.atom], color: "var(--blue)" },
  { tag: tags.definition(tags.function(tags.variableName)), color: "var(--accent)", fontWeight: "600" },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.propertyName],
    color: "var(--teal)",
  },
  { tag: tags.special(tags.variableName), color: "var(--accent)" },
]);

export const codeTheme = [theme, syntaxHighlighting(colours)];

/** The texts of the panels: the library's English, and the key of our text. */
const PHRASES: [string, Key][] = [
  ["Find", "code.find"],
  ["Replace", "code.replace"],
  ["next", "code.next"],
  ["previous", "code.previous"],
  ["all", "code.all"],
  ["match case", "code.case"],
  ["by word", "code.word"],
  ["regexp", "code.regexp"],
  ["replace", "code.replaceOne"],
  ["replace all", "code.replaceAll"],
  ["close", "close"],
  ["current match", "code.current"],
  ["replaced $ matches", "code.replacedMany"],
  ["replaced match on line $", "code.replacedOne"],
  ["on line", "code.onLine"],
  ["Go to line", "code.line"],
  ["go", "code.go"],
  ["Completions", "code.completions"],
  ["Diagnostics", "workshop.faults"],
  ["No diagnostics", "code.none"],
  ["Selection deleted", "code.deleted"],
  ["Control character", "code.control"],
];

export const phrases = () => Object.fromEntries(PHRASES.map(([english, key]) => [english, t(key)]));
