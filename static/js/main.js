import { html, h, signal } from "../vendor/preact.js";
import { Marked } from "../vendor/marked.js";
import DOMPurify from "../vendor/purify.js";
/** @param {{n: number}} p */
const A = (p) => html`<b>${p.n}</b>`;
h(A, { n: "3" });
const s = signal(1); s.value = "x";
new Marked().parse(4);
DOMPurify.sanitize("x", {RETURN_TRUSTED_TYPE: true}).foo;
