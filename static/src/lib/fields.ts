// The fields for editing a value of a schema: kind of field, initial value, and validation. Pure.
import { kindOf } from "./schema.ts";
import type { Kind, Row } from "./schema.ts";
import type { Json, Schema } from "./wire.d.ts";

/** Returns the kind of field for a value. The hint `text` only applies to the display, not to the field. */
export function fieldKind({ kind, schema, value }: Row): Kind {
  if (kind === "group") return "map";
  return kind === "text" ? kindOf({ ...schema, "x-ui": "" }, value) : kind;
}

/** Returns the initial value of a new value with this schema. */
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

/** What a value should have been: the end of a string key, with its arguments. */
interface Fault {
  key: string;
  vars?: Record<string, string | number>;
}

/** Returns what is wrong with an entered value, as far as a field allows wrong values. */
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

/** Whether a text certainly does not match a pattern. Patterns that only the server understands never fail here. */
function isOther(pattern: string, value: string) {
  try {
    return !new RegExp(pattern, "u").test(value);
  } catch {
    return false;
  }
}

/** Returns the bounds of a number for a field. Exclusive bounds are applied exactly only to integers. */
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
