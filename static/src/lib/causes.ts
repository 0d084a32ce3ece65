// Why a value is what it is: which operation of which call touched it, or what it was computed from. Pure.
import { escapeStep, steps } from "./text.ts";
import type { Delta, Json, Operation, RuleRun, Schema } from "./wire.d.ts";

export interface Cause {
  operation: Operation;
  run: RuleRun | null;
}

/** Who proposed an operation beside plugins: the prompt, and a reader. */
const NO_PLUGINS = new Set(["server", "user"]);

/** Whether two places are one, or one is inside the other. */
const meets = (one: string, two: string) => one === two || one.startsWith(`${two}/`) || two.startsWith(`${one}/`);

/** Whether an operation is about a place of `vars`. */
function touches({ in: section = "vars", path: own, key, from }: Operation, path: string) {
  if (section !== "vars") return false;
  const places = [key === undefined ? own : `${own}/${escapeStep(key)}`, ...(from ? [from] : [])];
  return places.some((place) => meets(place, path));
}

/**
 * Each operation with the call that proposed it: calls stand in the order of their operations, and say how many they
 * had.
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

/** What touched a place. */
export const causesOf = (delta: Delta, path: string): Cause[] =>
  causes(delta).filter(({ operation }) => touches(operation, path));

/** Words of conditions and sums that name no value. */
const WORDS = new Set(["and", "or", "not", "in", "has", "true", "false", "null", "min", "max"]);

/** The texts in which a computed value names others. */
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
 * The places that a computed value follows from: a name means what stands beside it, with a slash in front what the
 * root leads to.
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

/** Of a computed value: what touched the values that it follows from, which may be computed themselves. */
export function rootsOf(delta: Delta, path: string, schemaOf: (path: string) => Schema | undefined): Cause[] {
  const seen = new Set([path]);
  const places: string[] = [];
  // What is pushed while the loop runs is visited too.
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

/** What a computed value is made by, for a reader: its sum, or its cases. */
export function formulaOf(computed: Json | undefined): string[] {
  if (typeof computed === "string") return [computed];
  if (!Array.isArray(computed)) return [];
  return computed.map((one) => {
    const { when, is } = (one ?? {}) as { when?: string; is?: Json };
    return when === undefined ? JSON.stringify(is) : `${when} → ${JSON.stringify(is)}`;
  });
}
