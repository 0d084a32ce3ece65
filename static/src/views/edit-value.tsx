// The form that changes a value of the state: the field for its schema, and what is expected if the input does not fit
// it.
import { h, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { changeState } from "../actions/world.ts";
import { afterRender } from "../lib/focus.ts";
import { t } from "../lib/i18n.ts";
import { boundsOf, fault, fieldKind, startValue } from "../lib/fields.ts";
import { isUndeclared, kindOf, placeOf, stepsBetween } from "../lib/schema.ts";
import { valueText } from "../model/world.ts";
import { icon } from "./common.tsx";
import type { Kind, Row } from "../lib/schema.ts";
import type { Json, Schema } from "../lib/wire.d.ts";
import type { Key } from "../lib/i18n.ts";

interface Entry {
  id: number;
  key: string;
  value: Json;
}

export function EditValue({ row, close }: { row: Row; close: () => void }) {
  const form = useRef<HTMLFormElement | null>(null);
  // Of a value without a schema, only the changed parts are written, each at its path. The rest may change meanwhile.
  const isFree = isUndeclared(row.schema);
  const before = isFree ? row.visible : row.value;
  const value = useRef<Json | Error>(before ?? startValue(row.schema));
  const wrong = useSignal("");
  const begin = () =>
    (
      (form.current?.querySelector("input, select, textarea") ?? form.current?.querySelector("button")) as
        | HTMLElement
        | null
        | undefined
    )?.focus();
  useLayoutEffect(begin, []);
  const save = async (event: Event) => {
    event.preventDefault();
    const found = fault(row.schema, value.current);
    wrong.value = found ? t(`expected.${found.key}` as Key, found.vars) : "";
    if (found) return begin();
    const after = value.current as Json;
    const isSame = JSON.stringify(after) === JSON.stringify(before);
    if (
      isSame ||
      (await changeState(
        isFree ? stepsBetween(placeOf(row), before, after) : [{ op: "set", path: row.path, value: after }],
      ))
    )
      close();
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    close();
  };
  const put = (next: Json | Error) => void (value.current = next);
  return (
    <form ref={form} class="edit-value" novalidate onSubmit={save} onKeyDown={keys}>
      <Field
        row={row}
        kind={fieldKind(row)}
        schema={row.schema}
        value={value.current}
        name={row.label}
        onChange={put}
      />
      {wrong.value && (
        <p class="hint bad" role="alert">
          {wrong.value}
        </p>
      )}
      <div class="actions">
        <button type="button" onClick={close}>
          {t("cancel")}
        </button>
        <button type="submit" class="primary">
          {t("world.set")}
        </button>
      </div>
    </form>
  );
}

interface FieldProps {
  /** The row whose schema names the values. */
  row: Row;
  kind: Kind;
  schema: Schema;
  /** The initial value. */
  value: Json | Error;
  name: string;
  /** Called after each change. The message of an `Error` names what was expected. */
  onChange: (next: Json | Error) => void;
}

export function Field(props: FieldProps) {
  const { row, kind, schema, value, name, onChange } = props;
  switch (kind) {
    case "bar":
    case "number":
      return h(NumberField, props);
    case "choice":
      return (
        <select aria-label={name} onChange={(e: Event) => onChange(JSON.parse((e.target as HTMLSelectElement).value))}>
          {schema.enum?.map((choice, i) => (
            <option key={i} value={JSON.stringify(choice)} selected={choice === value}>
              {valueText(row, choice)}
            </option>
          ))}
        </select>
      );
    case "flag":
      return (
        <label class="check">
          <input
            type="checkbox"
            defaultChecked={value === true}
            onChange={(e: Event) => onChange((e.target as HTMLInputElement).checked)}
          />
          <span>{name}</span>
        </label>
      );
    case "text":
      return (
        <input
          type="text"
          maxlength={schema.maxLength}
          defaultValue={typeof value === "string" ? value : ""}
          aria-label={name}
          onInput={(e: Event) => onChange(textIn(e))}
        />
      );
    case "list":
    case "map":
      return h(Entries, props);
    default:
      return h(JsonField, props);
  }
}

const textIn = (event: Event) => (event.target as HTMLInputElement).value;

/** A number field with a minus and a plus button. */
function NumberField({ schema, value, name, onChange }: FieldProps) {
  const field = useRef<HTMLInputElement | null>(null);
  const { min, max } = boundsOf(schema);
  const step = (way: 1 | -1) => {
    const input = field.current;
    if (!input) return;
    // Computed here, because a field that takes any number has no step.
    const next = Number(((Number.isNaN(input.valueAsNumber) ? 0 : input.valueAsNumber) + way).toPrecision(12));
    input.valueAsNumber = Math.min(max ?? Infinity, Math.max(min ?? -Infinity, next));
    onChange(input.valueAsNumber);
  };
  const heard = () => {
    const number = field.current?.valueAsNumber ?? NaN;
    onChange(Number.isNaN(number) ? new Error("number") : number);
  };
  return (
    <span class="stepper">
      <button type="button" class="round" aria-label={t("world.less", { name })} onClick={() => step(-1)}>
        −
      </button>
      <input
        ref={field}
        type="number"
        step={schema.type === "integer" ? 1 : "any"}
        min={min}
        max={max}
        defaultValue={String(value ?? 0)}
        aria-label={name}
        onInput={heard}
      />
      <button type="button" class="round" aria-label={t("world.more", { name })} onClick={() => step(1)}>
        +
      </button>
    </span>
  );
}

let counted = 0;

/** The items of a list, or the keys and values of a map. They can be changed, removed and added. */
function Entries({ row, kind, schema, value, name, onChange }: FieldProps) {
  const isMap = kind === "map";
  const inner = innerOf(schema, isMap);
  const box = useRef<HTMLDivElement | null>(null);
  const draft = useRef<Entry[] | null>(null);
  const entries = useSignal((draft.current ??= entriesOf(value)));
  const tell = () => onChange(isMap ? mapOf(entries.peek()) : entries.peek().map((entry) => entry.value));
  const focusLast = () =>
    void afterRender().then(() =>
      (
        box.current?.querySelector("li:last-child")?.querySelector("input, select") as HTMLElement | null | undefined
      )?.focus(),
    );
  const add = () => {
    entries.value = [...entries.peek(), { id: ++counted, key: "", value: startValue(inner) }];
    tell();
    focusLast();
  };
  const remove = (removed: Entry) => {
    entries.value = entries.peek().filter((entry) => entry !== removed);
    tell();
    (box.current?.querySelector(".add") as HTMLElement | null | undefined)?.focus();
  };
  const isFull = !isMap && schema.maxItems !== undefined && entries.value.length >= schema.maxItems;
  return (
    <div class="entries" ref={box} role="group" aria-label={name}>
      <ul>
        {entries.value.map((entry, i) => (
          <li key={entry.id}>
            {isMap && (
              <input
                type="text"
                class="key"
                defaultValue={entry.key}
                aria-label={t("world.entryName", { n: i + 1 })}
                placeholder={t("world.entryPlaceholder")}
                onInput={(e: Event) => ((entry.key = textIn(e)), tell())}
              />
            )}
            <Field
              row={{ ...row, schema: inner }}
              kind={kindOf(inner, entry.value)}
              schema={inner}
              value={entry.value}
              name={
                isMap ? t("world.entryValue", { name: entry.key || String(i + 1) }) : t("world.entryName", { n: i + 1 })
              }
              onChange={(next) => ((entry.value = next as Json), tell())}
            />
            <button
              type="button"
              class="round small"
              aria-label={t("world.entryRemove", { name: entry.key || String(entry.value || i + 1) })}
              title={t("world.remove")}
              onClick={() => remove(entry)}
            >
              {icon("trash")}
            </button>
          </li>
        ))}
      </ul>
      <button type="button" class="add" aria-disabled={isFull} onClick={() => isFull || add()}>
        {icon("plus")}
        <span>{t("world.add")}</span>
      </button>
    </div>
  );
}

function innerOf(schema: Schema, isMap: boolean): Schema {
  const inner = isMap ? schema.additionalProperties : schema.items;
  return typeof inner === "object" ? inner : {};
}

function entriesOf(value: Json | Error): Entry[] {
  if (Array.isArray(value)) return value.map((inner) => ({ id: ++counted, key: "", value: inner }));
  const map = value !== null && typeof value === "object" && !(value instanceof Error) ? value : {};
  return Object.entries(map).map(([key, inner]) => ({ id: ++counted, key, value: inner }));
}

function mapOf(entries: Entry[]): Json | Error {
  const names = entries.map(({ key }) => key.trim());
  if (names.includes("")) return new Error("name");
  if (new Set(names).size < names.length) return new Error("names");
  const wrong = entries.find(({ value }) => value instanceof Error);
  return wrong
    ? wrong.value
    : (Object.fromEntries(entries.map(({ value }, i) => [names[i] ?? "", value])) as { [key: string]: Json });
}

/** A JSON field for values of other kinds. */
function JsonField({ value, name, onChange }: FieldProps) {
  const read = (text: string) => {
    try {
      return JSON.parse(text) as Json;
    } catch {
      return new Error("json");
    }
  };
  return (
    <textarea
      rows={3}
      class="code"
      aria-label={name}
      defaultValue={JSON.stringify(value ?? null, null, 1)}
      onInput={(e: Event) => onChange(read(textIn(e)))}
    />
  );
}
