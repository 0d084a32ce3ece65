// A JSON viewer. Parts are folded and rendered when opened. Of a long list, only the parts asked for are rendered.
import { h, useSignal } from "../../vendor/preact.js";
import { excerpt } from "../lib/excerpt.ts";
import { t } from "../lib/i18n.ts";

/** Number of parts that are rendered at once. */
const PAGE_SIZE = 100;
/** Maximum length of a text that is not folded, in UTF-16 code units. */
const MAX_LINE = 60;
/** Fields that can name an item of a list, best first. */
const NAMES = ["name", "scriptName", "label", "identifier", "title", "id"];

/** The parts of a value with their names. */
export function JsonParts({ value }: { value: object }) {
  const drawn = useSignal(PAGE_SIZE);
  const all = Object.entries(value);
  const nameOf = (key: string, part: unknown) =>
    Array.isArray(value) ? [Number(key) + 1, titleOf(part)].filter(Boolean).join(" ") : key;
  return (
    <div class="json">
      {all.slice(0, drawn.value).map(([key, part]) => (
        <JsonPart key={key} name={nameOf(key, part)} value={part} />
      ))}
      {all.length > drawn.value && (
        <button type="button" onClick={() => (drawn.value += PAGE_SIZE)}>
          {t("preset.more", { n: all.length - drawn.value })}
        </button>
      )}
    </div>
  );
}

const titleOf = (part: unknown) =>
  part && typeof part === "object"
    ? (NAMES.map((key) => (part as Record<string, unknown>)[key]).find(
        (name) => typeof name === "string" && name.trim(),
      ) ?? "")
    : "";

function JsonPart({ name, value }: { name: string; value: unknown }) {
  const isOpen = useSignal(false);
  const turn = (event: Event) => (isOpen.value = (event.target as HTMLDetailsElement).open);
  const folded = (aside: string, inside: () => unknown) => (
    <details onToggle={turn}>
      <summary>
        <b>{name}</b> <small>{aside}</small>
      </summary>
      {isOpen.value && inside()}
    </details>
  );
  if (value && typeof value === "object" && Object.keys(value).length > 0)
    return folded(t("preset.parts", { n: Object.keys(value).length }), () => <JsonParts value={value} />);
  if (typeof value === "string" && (value.length > MAX_LINE || value.includes("\n")))
    return folded(excerpt(value.slice(0, 500).replace(/\s+/g, " "), MAX_LINE), () => <pre tabindex={0}>{value}</pre>);
  return (
    <p>
      <b>{name}</b> <code>{JSON.stringify(value)}</code>
    </p>
  );
}
