// What a reader may see of texts that rules, tools and prompts have written: what the world hides may stand in them.
import { computed } from "../../vendor/preact.js";
import { isAbout, secretsOf, tells, without } from "../lib/secrets.js";
import { everyDelta } from "./deltas.js";
import { seesAll } from "./page.js";
import { known } from "./world.js";

/** @import { Json, Problem } from "../lib/wire.d.ts" */

/** @type {import("../lib/secrets.js").Secrets} */
const NONE = { own: new Map(), said: new Map(), texts: [] };

const at = computed(() => (known.value && !seesAll.value ? known.value.at : null));
/** What is hidden now. */
const hidden = computed(() => (at.value ? secretsOf(at.value, []) : NONE));
/** With what it was before, as far as the page knows. */
const secrets = computed(() => (at.value ? secretsOf(at.value, everyDelta()) : NONE));

/** Whether a text may be shown to this reader. @param {string} text */
export const maySee = (text) => !tells(secrets.value, text) && !isAbout(hidden.value, text);

/** What of a value that a plugin heard or said may be shown to this reader. @param {string} plugin @param {Json} value */
export const seenIn = (plugin, value) => without(secrets.value, plugin, value);

/** What went wrong, but for what did at a hidden place; that a rule failed is told in any case. @template {Pick<Problem, "message">} P @param {P[]} problems @returns {P[]} */
export const seenProblems = (problems) => problems.filter(({ message }) => !isAbout(hidden.value, message)).map((one) => (tells(hidden.value, one.message) ? { ...one, message: "" } : one));

/** Lines under a message: what a plugin says is for players, what was bent of a hidden value is not. @template {{text: string}} N @param {N[]} notes @returns {N[]} */
export const seenNotes = (notes) => notes.filter(({ text }) => !isAbout(hidden.value, text));
