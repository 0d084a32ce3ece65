// What a reader may see of texts that rules, tools and prompts have written: what the world hides may stand in them.
import { computed } from "../../vendor/preact.js";
import { isAbout, secretsOf, tells, without } from "../lib/secrets.ts";
import { everyDelta } from "./deltas.ts";
import { seesAll } from "./page.ts";
import { known } from "./world.ts";
import type { Json, Problem } from "../lib/wire.d.ts";
import type { Secrets } from "../lib/secrets.ts";

const NONE: Secrets = { own: new Map(), said: new Map(), texts: [] };

const at = computed(() => (known.value && !seesAll.value ? known.value.at : null));
/** What is hidden now. */
const hidden = computed(() => (at.value ? secretsOf(at.value, []) : NONE));
/** With what it was before, as far as the page knows. */
const secrets = computed(() => (at.value ? secretsOf(at.value, everyDelta()) : NONE));

/** Whether a text may be shown to this reader. */
export const maySee = (text: string) => !tells(secrets.value, text) && !isAbout(hidden.value, text);

/** What of a value that a plugin heard or said may be shown to this reader. */
export const seenIn = (plugin: string, value: Json) => without(secrets.value, plugin, value);

/** What went wrong, but for what did at a hidden place; that a rule failed is told in any case. */
export const seenProblems = <P extends Pick<Problem, "message">>(problems: P[]): P[] =>
  problems
    .filter(({ message }) => !isAbout(hidden.value, message))
    .map((one) => (tells(hidden.value, one.message) ? { ...one, args: {}, message: "" } : one));

/** Lines under a message: what a plugin says is for players, what was bent of a hidden value is not. */
export const seenNotes = <N extends { text: string }>(notes: N[]): N[] =>
  notes.filter(({ text }) => !isAbout(hidden.value, text));
