// Why a value is what it is: the operations and calls that touched it, or the inputs of a computed value. Pure.
import { escapeStep, steps } from "./text.ts";
import type { Delta, Json, Operation, RuleRun, Schema } from "./wire.d.ts";

export interface Cause {
  operation: Operation;
  run: RuleRun | null;
}

/** Authors of operations that are not plugins: the server and the user. */
const NO_PLUGINS = new Set(["server", "user"]);

/** Whether two paths are equal or one is inside the other. */
const overlaps = (one: string, two: string) => one === two || one.startsWith(`${two}/`) || two.startsWith(`${one}/`);

/** Whether an operation touches a path of `vars`. */
function touches({ in: section = "vars", path: own, key, from }: Operation, path: string) {
  if (section !== "vars") return false;
  const places = [key === undefined ? own : `${own}/${escapeStep(key)}`, ...(from ? [from] : [])];
  return places.some((place) => overlaps(place, path));
}

/**
 * Returns each operation with the call that proposed it. Calls are in the order of their operations and record how many
 * they proposed.
 */
export function causes({ operations = [], rules = [] }: Delta): Cause[] {
  const ofRules = operations.filter(({ by }) => !NO_PLUGINS.has(by ?? ""));
  const count = ({ ops }: RuleRun) => (typeof ops === "number" ? ops : 0);
  const fits = rules.reduce((sum, rule) => sum + count(rule), 0) === ofRules.length;
  const runs = fits ? rules.flatMap((rule) => Array.from({ length: count(rule) }, () => rule)) : [];
  return operations.map((operation) => {
    const run = runs[ofRules.indexOf(operation)] ?? null;
    return { operation, run: run?.plugin === operation.by ? run : null };
  });
}

/** Returns the operations that touched a path, with their calls. */
export const causesOf = (delta: Delta, path: string): Cause[] =>
  causes(delta).filter(({ operation }) => touches(operation, path));

/** Words of conditions and formulas that are no names of values. */
const WORDS = new Set(["and", "or", "not", "in", "has", "true", "false", "null", "min", "max"]);

/** Returns the texts of a computed value that can name other values. */
function formulas(computed: Json | undefined): string[] {
  if (typeof computed === "string") return [computed];
  const cases = Array.isArray(computed) ? computed : [];
  return cases
    .map((one) =>
      one !== null && typeof one === "object" && !Array.isArray(one) && typeof one.when === "string" ? one.when : "",
    )
    .filter(Boolean);
}

/**
 * Returns the paths that a computed value depends on. A name is a sibling of the value; with a leading slash it is
 * relative to the root.
 */
export function inputsOf(schema: Schema, path: string): string[] {
  const all = steps(path);
  const [root = ""] = all;
  const beside = all.slice(0, -1);
  const found = formulas(schema["x-computed"]).flatMap(
    (text) =>
      text.replace(/"[^"]*"|'[^']*'/g, " ").match(/\/?[\p{L}_][\p{L}\p{N}_]*(?:[./][\p{L}_][\p{L}\p{N}_]*)*/gu) ?? [],
  );
  const names = [...new Set(found)].filter((name) => !WORDS.has(name));
  return names
    .map((name) => [...(name.startsWith("/") ? [root] : beside), ...name.replace(/^\//, "").split(/[./]/)])
    .map((place) => `/${place.map(escapeStep).join("/")}`);
}

/**
 * Returns the operations that touched the inputs of a computed value. Computed inputs are followed to their own inputs.
 */
export function inputCausesOf(delta: Delta, path: string, schemaOf: (path: string) => Schema | undefined): Cause[] {
  const seen = new Set([path]);
  const places: string[] = [];
  // The loop also visits what is pushed while it runs.
  const open = [path];
  for (const place of open) {
    const schema = schemaOf(place);
    if (schema?.["x-computed"] === undefined) {
      if (place !== path) places.push(place);
      continue;
    }
    for (const input of inputsOf(schema, place)) {
      if (seen.has(input)) continue;
      seen.add(input);
      open.push(input);
    }
  }
  return causes(delta).filter(({ operation }) => places.some((place) => touches(operation, place)));
}

/** Returns the formula or the cases of a computed value for display. */
export function formulaOf(computed: Json | undefined): string[] {
  if (typeof computed === "string") return [computed];
  if (!Array.isArray(computed)) return [];
  return computed.map((one) => {
    const { when, is } = (one ?? {}) as { when?: string; is?: Json };
    return when === undefined ? JSON.stringify(is) : `${when} → ${JSON.stringify(is)}`;
  });
}
