// The generation parameters that have fields of their own, in groups and in SillyTavern's order. The names are those of
// `crates/core/src/parameters.rs`; the server renames them for each kind of model server. Further parameters are sent as
// they are.

import type { Session } from "./wire.d.ts";

type Params = Session["params"];

/** What a field holds. `numbers` is a list of whole numbers, `lines` a list of texts, `json` any JSON. */
export type FieldKind = "number" | "flag" | "choice" | "lines" | "numbers" | "text" | "json";

export interface GenerationField {
  name: string;
  kind: FieldKind;
  least?: number | undefined;
  most?: number | undefined;
  /** The step of a number; default: any. */
  step?: string;
  choices?: string[] | undefined;
}

export interface GenerationGroup {
  id: string;
  fields: GenerationField[];
}

const number = (name: string, least?: number, most?: number): GenerationField => ({
  name,
  kind: "number",
  least,
  most,
});
const whole = (name: string, least?: number, most?: number): GenerationField => ({
  ...number(name, least, most),
  step: "1",
});
const other = (name: string, kind: FieldKind, choices?: string[]): GenerationField => ({ name, kind, choices });

/** All fields. The first group is always open. */
export const GENERATION_GROUPS: GenerationGroup[] = [
  {
    id: "common",
    fields: [
      whole("max_tokens", 1),
      number("temperature", 0, 5),
      number("top_p", 0, 1),
      whole("top_k", 0),
      number("min_p", 0, 1),
      number("frequency_penalty", -2, 2),
      number("presence_penalty", -2, 2),
      number("repetition_penalty", 0, 5),
      whole("seed", 0),
    ],
  },
  {
    id: "samplers",
    fields: [
      number("top_a", 0, 1),
      number("typical_p", 0, 1),
      number("tfs", 0, 1),
      number("top_n_sigma", 0, 10),
      number("epsilon_cutoff", 0, 100),
      number("eta_cutoff", 0, 100),
      number("smoothing_factor", 0, 100),
      number("smoothing_curve", 0, 100),
      number("guidance_scale", 0, 100),
      other("temperature_last", "flag"),
      other("negative_prompt", "text"),
    ],
  },
  {
    id: "penalties",
    fields: [
      whole("repetition_penalty_range", -1),
      number("repetition_penalty_slope", 0, 20),
      number("repetition_decay", 0),
      number("encoder_repetition_penalty", 0, 5),
      whole("no_repeat_ngram_size", 0, 1000),
      number("penalty_alpha", 0, 5),
    ],
  },
  {
    id: "dry",
    fields: [
      number("dry_multiplier", 0, 100),
      number("dry_base", 0, 100),
      whole("dry_allowed_length", 0, 10000),
      whole("dry_penalty_last_n", -1),
      other("dry_sequence_breakers", "lines"),
    ],
  },
  { id: "xtc", fields: [number("xtc_threshold", 0, 1), number("xtc_probability", 0, 1)] },
  {
    id: "dynatemp",
    fields: [number("dynatemp_low", 0, 10), number("dynatemp_high", 0, 10), number("dynatemp_exponent", 0, 100)],
  },
  {
    id: "mirostat",
    fields: [whole("mirostat_mode", 0, 2), number("mirostat_tau", 0, 100), number("mirostat_eta", 0, 10)],
  },
  {
    id: "tokens",
    fields: [
      whole("min_tokens", 0),
      other("ban_eos_token", "flag"),
      other("add_bos_token", "flag"),
      other("skip_special_tokens", "flag"),
      other("banned_strings", "lines"),
      other("banned_tokens", "numbers"),
      other("logit_bias", "json"),
    ],
  },
  {
    id: "reasoning",
    fields: [
      other("reasoning_effort", "choice", ["none", "minimal", "low", "medium", "high", "max"]),
      whole("reasoning_budget", 0),
      other("verbosity", "choice", ["low", "medium", "high"]),
    ],
  },
  { id: "structure", fields: [other("grammar", "text"), other("json_schema", "json")] },
  {
    id: "order",
    fields: [other("sampler_order", "numbers"), other("samplers", "lines"), other("sampler_priority", "lines")],
  },
];

const STOP = other("stop", "lines");
const FIELDS = [...GENERATION_GROUPS.flatMap(({ fields }) => fields), STOP];

const isTexts = (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === "string");
const isNumbers = (value: unknown) => Array.isArray(value) && value.every((one) => Number.isSafeInteger(one));

/** Returns whether a field can show a value. Others stay among the additional parameters. */
function canShow({ name, kind, choices }: GenerationField, value: unknown) {
  if (value === null || value === undefined) return false;
  if (kind === "number") return typeof value === "number";
  if (kind === "flag") return typeof value === "boolean";
  if (kind === "choice") return choices?.includes(String(value)) ?? false;
  if (kind === "lines") return isTexts(value) || (name === "stop" && typeof value === "string");
  if (kind === "numbers") return isNumbers(value);
  return kind === "json" || typeof value === "string";
}

/** Returns the parameters without a field of their own. */
export const otherParams = (params: Params): Params =>
  Object.fromEntries(
    Object.entries(params).filter(([name, value]) => {
      const field = FIELDS.find((one) => one.name === name);
      return !field || !canShow(field, value);
    }),
  );

/** Returns the texts as lines. A line break inside one is written as `\n`. */
const linesOf = (texts: unknown[]) => texts.map((one) => String(one).replaceAll("\n", "\\n")).join("\n");

/** Returns the text that a field shows for the parameters; empty if they do not set it. */
export function fieldText(field: GenerationField, params: Params): string {
  const value = params[field.name];
  if (!canShow(field, value)) return "";
  if (field.kind === "lines") return linesOf(Array.isArray(value) ? value : [value]);
  if (field.kind === "numbers") return (value as number[]).join(", ");
  if (field.kind === "json") return JSON.stringify(value, null, 2);
  return String(value);
}

/** Returns the stop strings as lines. */
export const stopLines = (params: Params) => fieldText(STOP, params);

/** Reads the text of a field; `undefined` if it is malformed. */
function parsedValue({ kind }: GenerationField, text: string): Params[string] | undefined {
  if (kind === "number") return Number(text);
  if (kind === "flag") return text === "true";
  if (kind === "lines") {
    const lines = text.split("\n").map((line) => line.replace(/\r$/, "").replaceAll("\\n", "\n"));
    return [...new Set(lines.filter(Boolean))];
  }
  if (kind === "numbers") {
    const numbers = text
      .split(/[\s,;[\]]+/)
      .filter(Boolean)
      .map(Number);
    return isNumbers(numbers) ? numbers : undefined;
  }
  if (kind !== "json") return text;
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The parameters in a form, or the name of the field that is malformed; `others` are the additional parameters. */
export type FormParams = { params: Params; malformed?: undefined } | { params?: undefined; malformed: string };

/**
 * Reads the parameters in a form.
 * @param word returns the text of a field
 */
export function paramsFromForm(word: (name: string) => string): FormParams {
  const params: Params = {};
  for (const field of FIELDS) {
    const text = word(field.name);
    if (!text.trim()) continue;
    const value = parsedValue(field, text);
    if (value === undefined) return { malformed: field.name };
    if (!Array.isArray(value) || value.length > 0) params[field.name] = value;
  }
  const others = objectIn(word("others"));
  return others ? { params: { ...others, ...params } } : { malformed: "others" };
}

/** Parses a JSON object; an empty text is an empty object. */
function objectIn(text: string): Params | null {
  if (!text.trim()) return {};
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Params) : null;
  } catch {
    return null;
  }
}
