// The keys of a lore entry: one chip each with a remove button, a field for more, and suggested words.
import { h, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { t } from "../lib/i18n.ts";
import { keysIn } from "../lib/keywords.ts";
import { icon } from "./common.tsx";
import type { Signal } from "../../vendor/preact.js";
import type { Key } from "../lib/i18n.ts";

interface KeywordFieldProps {
  keys: Signal<string[]>;
  before: string[];
  suggested?: string[];
  legend?: Key;
  hint?: Key;
}

/** @param props `before`: the keys when the form was opened; `legend` and `hint`: other texts than those of main keys */
export function KeywordField({
  keys,
  before,
  suggested = [],
  legend = "lore.keys",
  hint = "lore.keysHint",
}: KeywordFieldProps) {
  const field = useRef<HTMLInputElement | null>(null);
  const add = (more: string[]) => (keys.value = [...new Set([...keys.peek(), ...more])]);
  const drop = (key: string) => {
    keys.value = keys.peek().filter((one) => one !== key);
    field.current?.focus();
  };
  const take = () => {
    const typed = field.current;
    if (!typed?.value.trim()) return;
    add(keysIn(typed.value));
    typed.value = "";
  };
  /** Whether the pointer is down. Typed text becomes a key after it is up, so that nothing moves from under it. */
  const isDown = useRef(false);
  useLayoutEffect(() => {
    const form = field.current?.form;
    const down = () => void (isDown.current = true);
    const up = () => {
      isDown.current = false;
      if (document.activeElement !== field.current) setTimeout(take);
    };
    addEventListener("pointerdown", down, true);
    addEventListener("pointerup", up, true);
    addEventListener("pointercancel", up, true);
    form?.addEventListener("submit", take, true);
    return () => {
      removeEventListener("pointerdown", down, true);
      removeEventListener("pointerup", up, true);
      removeEventListener("pointercancel", up, true);
      form?.removeEventListener("submit", take, true);
    };
  }, []);
  const press = (event: KeyboardEvent) => {
    const typed = (event.target as HTMLInputElement).value;
    const ends = event.key === "Enter" || (/^[,，、]$/.test(event.key) && !typed.startsWith("/"));
    if (!ends || !typed.trim()) return;
    event.preventDefault();
    take();
  };
  const offered = suggested.filter((word) => !keys.value.includes(word));
  return (
    <fieldset class="lore-keys">
      <legend>{t(legend)}</legend>
      {keys.value.length > 0 && (
        <ul class="chips">
          {keys.value.map((key) => (
            <li key={key} class="chip">
              <span>{key}</span>
              <button
                type="button"
                aria-label={t("lore.keyDrop", { name: key })}
                title={t("lore.keyDrop", { name: key })}
                onClick={() => drop(key)}
              >
                {icon("close")}
              </button>
            </li>
          ))}
        </ul>
      )}
      <label>
        <span class="hidden">{t("lore.keyAdd")}</span>
        <input ref={field} placeholder={t("lore.keyAdd")} onKeyDown={press} onBlur={() => isDown.current || take()} />
        <small>{t(hint)}</small>
      </label>
      <input hidden readonly defaultValue={before.join("\n")} value={keys.value.join("\n")} />
      {offered.length > 0 && (
        <ul class="chips" aria-label={t("lore.suggested")}>
          {offered.map((word) => (
            <li key={word}>
              <button
                type="button"
                class="chip without"
                aria-label={t("lore.suggest", { name: word })}
                onClick={() => add([word])}
              >
                {icon("plus")}
                {word}
              </button>
            </li>
          ))}
        </ul>
      )}
    </fieldset>
  );
}
