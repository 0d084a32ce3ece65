// What a value of a schema can be when it is changed by hand: the field, the first value, what is wrong with one. Pure.
import { kindOf } from "./schema.ts";
import type { Kind, Row } from "./schema.ts";
import type { Json, Schema } from "./wire.d.ts";

/** The kind of field in which a value is changed by hand: what is only shown as text is still what it is. */
export function fieldKind({ kind, schema, value }: Row): Kind {
  if (kind === "group") return "map";
  return kind === "text" ? kindOf({ ...schema, "x-ui": "" }, value) : kind;
}

/** What a new value of a schema begins as. */
export function startValue(schema: Schema): Json {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum?.length) return schema.enum[0] ?? null;
  switch (kindOf(schema, undefined)) {
    case "bar":
    case "number":
      return Math.min(schema.maximum ?? 1, Math.max(schema.minimum ?? 1, 1));
    case "flag":
      return false;
    case "list":
      return [];
    case "map":
    case "group":
      return {};
    default:
      return "";
  }
}

/** What was expected of a value, as the end of a key of the page's words, with what fills them. */
interface Fault {
  key: string;
  vars?: Record<string, string | number>;
}

/** What is wrong with a value that was put in by hand, as far as a field can let it happen. */
export function fault(schema: Schema, value: Json | Error): Fault | null {
  if (value instanceof Error) return { key: value.message };
  if (Array.isArray(value)) return listFault(schema, value) ?? firstFault(schema.items, value);
  if (value !== null && typeof value === "object") return firstFault(schema.additionalProperties, Object.values(value));
  if (typeof value === "string") return textFault(schema, value);
  return typeof value === "number" ? numberFault(schema, value) : null;
}

const firstFault = (schema: Schema | boolean | undefined, values: Json[]) =>
  values.map((value) => fault(typeof schema === "object" ? schema : {}, value)).find((found) => found !== null) ?? null;

function listFault({ minItems = 0, maxItems = Infinity, uniqueItems = false }: Schema, value: Json[]): Fault | null {
  if (value.length > maxItems) return { key: "items", vars: { n: maxItems } };
  if (value.length < minItems) return { key: "itemsLeast", vars: { n: minItems } };
  return uniqueItems && new Set(value.map((item) => JSON.stringify(item))).size < value.length
    ? { key: "unique" }
    : null;
}

function textFault({ minLength = 0, maxLength = Infinity, pattern }: Schema, value: string): Fault | null {
  const length = [...value].length;
  if (length > maxLength) return { key: "length", vars: { n: maxLength } };
  if (length < minLength) return { key: "lengthLeast", vars: { n: minLength } };
  return pattern !== undefined && isOther(pattern, value) ? { key: "pattern", vars: { pattern } } : null;
}

/** Whether a text surely does not follow a pattern; the server reads some that a browser cannot. */
function isOther(pattern: string, value: string) {
  try {
    return !new RegExp(pattern, "u").test(value);
  } catch {
    return false;
  }
}

/** The bounds of a number as a field knows them: those that exclude their own value only for whole numbers. */
export function boundsOf({ type, minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema) {
  const one = type === "integer" ? 1 : 0;
  return {
    min: minimum ?? (exclusiveMinimum === undefined ? undefined : exclusiveMinimum + one),
    max: maximum ?? (exclusiveMaximum === undefined ? undefined : exclusiveMaximum - one),
  };
}

function numberFault(schema: Schema, value: number): Fault | null {
  const { min, max } = boundsOf(schema);
  const isWhole = schema.type === "integer";
  if (value >= (min ?? -Infinity) && value <= (max ?? Infinity) && (!isWhole || Number.isInteger(value))) return null;
  const bounds =
    min !== undefined && max !== undefined ? "Between" : min !== undefined ? "Least" : max !== undefined ? "Most" : "";
  return { key: `${isWhole ? "integer" : "number"}${bounds}`, vars: { min: min ?? "", max: max ?? "" } };
}
