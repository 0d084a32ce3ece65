// What the user may see of texts of rules, tools and prompts. They may contain hidden values of the state.
import { computed } from "../../vendor/preact.js";
import { isAbout, secretsOf, reveals, withoutSecrets } from "../lib/secrets.ts";
import { allDeltas } from "./deltas.ts";
import { showsHidden } from "./page.ts";
import { loadedWorld } from "./world.ts";
import type { Json, Problem } from "../lib/wire.d.ts";
import type { Secrets } from "../lib/secrets.ts";

const NONE: Secrets = { own: new Map(), said: new Map(), texts: [] };

const at = computed(() => (loadedWorld.value && !showsHidden.value ? loadedWorld.value.at : null));
/** The values that are hidden now. */
const hidden = computed(() => (at.value ? secretsOf(at.value, []) : NONE));
/** The same with earlier values, as far as the page knows them. */
const secrets = computed(() => (at.value ? secretsOf(at.value, allDeltas()) : NONE));

/** Whether the user may see a text. */
export const isTextVisible = (text: string) => !reveals(secrets.value, text) && !isAbout(hidden.value, text);

/** Returns the part of a plugin's input or output that the user may see. */
export const visibleDataOf = (plugin: string, value: Json) => withoutSecrets(secrets.value, plugin, value);

/**
 * Removes problems at hidden paths. If a message reveals a hidden value, only the text is removed, so the failure stays
 * visible.
 */
export const visibleProblems = <P extends Pick<Problem, "message">>(problems: P[]): P[] =>
  problems
    .filter(({ message }) => !isAbout(hidden.value, message))
    .map((one) => (reveals(hidden.value, one.message) ? { ...one, args: {}, message: "" } : one));

/** Removes notes about hidden values that were clamped or skipped. What a plugin itself tells players stays. */
export const visibleNotes = <N extends { text: string }>(notes: N[]): N[] =>
  notes.filter(({ text }) => !isAbout(hidden.value, text));
