// Regex scripts: the switches for scripts from cards and presets in the open story, and the form for the user's own.
import { Fragment, h, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { allowScripts, saveScript, readPreset, readScripts } from "../actions/presets.ts";
import { t } from "../lib/i18n.ts";
import { slowScripts } from "../model/display-scripts.ts";
import { session } from "../model/session-store.ts";
import { LoadingRows } from "./common.tsx";
import { useLatestResult } from "./use-query.tsx";
import { takeFocus } from "./confirmation.tsx";
import type { Key } from "../lib/i18n.ts";
import type { Id, SessionScript, PresetContent } from "../lib/wire.d.ts";

/** The origins whose scripts can be switched off. */
const SCOPES: ["card" | "preset", Key][] = [
  ["preset", "script.ofPreset"],
  ["card", "script.ofCard"],
];

/** The kinds of text, by their numbers in a script. */
const PLACES: [number, Key][] = [
  [1, "script.user"],
  [2, "script.reply"],
  [5, "script.lore"],
  [6, "script.thoughts"],
];

/** Returns whether a script took too long on this page; only the page knows this. */
const isSlow = ({ scope, name, find, replace }: SessionScript) =>
  slowScripts.value.has(JSON.stringify([scope, name, find, replace]));

/** Lists the scripts of others in the open story; nothing if there are none. */
export function SessionScripts() {
  const open = session.value;
  const all = useSignal<SessionScript[]>([]);
  useLatestResult(
    () => (open ? readScripts(open.id) : null),
    (found) => (all.value = found ?? []),
    [open?.id, open?.presetId],
  );
  const others = all.value.filter(({ scope }) => scope !== "global");
  if (!open || others.length === 0) return null;
  const allowed = open.regexScripts ?? { card: true, preset: true };
  const turn = (scope: "card" | "preset") => (event: Event) => {
    const box = event.target as HTMLInputElement;
    // The checkbox shows what applies, not what was pressed.
    const wanted = box.checked;
    box.checked = allowed[scope];
    void allowScripts({ ...allowed, [scope]: wanted });
  };
  return (
    <fieldset class="story-scripts">
      <legend>{t("script.ofStory")}</legend>
      <p class="aside">{t("script.ofStoryText")}</p>
      {SCOPES.map(([scope, label]) => {
        const some = others.filter((one) => one.scope === scope);
        // The session allows them, and their owner has not allowed those of this preset.
        const isWithheld = allowed[scope] && some.every((one) => !one.isAllowed);
        const whose = [...new Set(some.map((one) => one.whose))].filter(Boolean).join(", ");
        return (
          some.length > 0 && (
            <label key={scope} class="check">
              <input
                type="checkbox"
                checked={allowed[scope] && !isWithheld}
                disabled={isWithheld}
                onChange={turn(scope)}
              />
              <span>
                {t(label, { n: some.length })}
                <small>{isWithheld ? `${whose} · ${t("preset.scriptsOff")}` : whose}</small>
              </span>
            </label>
          )
        );
      })}
      {others.some(isSlow) && <p class="aside skipped">{t("script.someSlow")}</p>}
      <details>
        <summary>{t("script.look")}</summary>
        <ul>
          {others.map((one, i) => (
            <ScriptItem key={i} one={one} />
          ))}
        </ul>
      </details>
    </fieldset>
  );
}

function ScriptItem({ one }: { one: SessionScript }) {
  const { name, find, replace, isOn, isForPrompts, isForDisplay } = one;
  const use = t(isForPrompts ? (isForDisplay ? "script.sentAndShown" : "script.sentOnly") : "script.displayOnly");
  return (
    <li>
      <b>{name || t("script.nameless")}</b>
      {!isOn && (
        <>
          {" "}
          <span class="chip">{t("script.off")}</span>
        </>
      )}{" "}
      <span class="chip">{use}</span>
      {isSlow(one) && (
        <>
          {" "}
          <span class="chip">{t("script.slow")}</span>
        </>
      )}
      <p>
        <code>{find}</code> → {replace ? <code>{replace}</code> : t("script.nothing")}
      </p>
    </li>
  );
}

/**
 * Renders the form of a script.
 * @param props without an id, the form is for a new script
 */
export function ScriptForm({ id, done }: { id: Id | null; done: (isSaved: boolean) => void }) {
  const whole = useSignal<Pick<PresetContent, "name" | "body"> | null>(id ? null : { name: "", body: NEW_SCRIPT });
  const busy = useRef(false);
  useEffect(() => {
    if (id) void readPreset(id).then((found) => (found ? (whole.value = found) : done(false)));
  }, []);
  if (!whole.value) return <LoadingRows rows={3} />;
  const { name, body } = whole.value;
  const text = (key: string) => (typeof body[key] === "string" ? body[key] : "");
  const uses = {
    isForPrompts: Boolean(body.promptOnly) || !body.markdownOnly,
    isForDisplay: Boolean(body.markdownOnly) || !body.promptOnly,
  };
  const places = Array.isArray(body.placement) ? body.placement : [1, 2];
  const save = async (event: Event) => {
    event.preventDefault();
    if (busy.current) return;
    busy.current = true;
    const typed = new FormData(event.target as HTMLFormElement);
    const fieldText = (key: string) => String(typed.get(key) ?? "");
    const shown = PLACES.filter(([place]) => typed.has(`place-${place}`)).map(([place]) => place);
    const hidden = places.filter((place) => !PLACES.some(([known]) => known === place));
    const [isForPrompts, isForDisplay] = [typed.has("sent"), typed.has("shown")];
    // A script with neither flag does both. Unchanged flags are not sent, so the script keeps its form.
    const isSame = isForPrompts === uses.isForPrompts && isForDisplay === uses.isForDisplay;
    const use =
      isSame || !(isForPrompts || isForDisplay) ? {} : { promptOnly: isForPrompts, markdownOnly: isForDisplay };
    const next = {
      ...use,
      scriptName: fieldText("name").trim(),
      findRegex: fieldText("find"),
      replaceString: fieldText("replace"),
      placement: [...shown, ...hidden],
      disabled: !typed.has("on"),
    };
    const isSaved = await saveScript(id, next.scriptName, { ...(id ? body : NEW_SCRIPT), ...next });
    busy.current = false;
    if (isSaved) done(true);
  };
  return (
    <form onSubmit={save}>
      <label>
        {t("lore.fieldName")}
        <input name="name" required maxlength={200} ref={takeFocus} defaultValue={name} />
      </label>
      <label>
        {t("script.find")}
        <textarea name="find" required rows={2} spellcheck={false} defaultValue={text("findRegex")} />
        <small>{t("script.findHint")}</small>
      </label>
      <label>
        {t("script.replace")}
        <textarea name="replace" rows={2} spellcheck={false} defaultValue={text("replaceString")} />
        <small>{t("script.replaceHint")}</small>
      </label>
      <fieldset>
        <legend>{t("script.places")}</legend>
        {PLACES.map(([place, label]) => (
          <label key={place} class="check">
            <input type="checkbox" name={`place-${place}`} defaultChecked={places.includes(place)} />
            <span>{t(label)}</span>
          </label>
        ))}
      </fieldset>
      <fieldset>
        <legend>{t("script.uses")}</legend>
        <label class="check">
          <input type="checkbox" name="sent" defaultChecked={uses.isForPrompts} onChange={eitherOf} />
          <span>{t("script.sent")}</span>
        </label>
        <label class="check">
          <input type="checkbox" name="shown" defaultChecked={uses.isForDisplay} onChange={eitherOf} />
          <span>{t("script.shown")}</span>
        </label>
      </fieldset>
      <label class="check">
        <input type="checkbox" name="on" defaultChecked={!body.disabled} />
        <span>{t("script.on")}</span>
      </label>
      <div class="actions">
        <button type="button" onClick={() => done(false)}>
          {t("cancel")}
        </button>
        <button type="submit" class="primary">
          {t("save")}
        </button>
      </div>
    </form>
  );
}

/** Keeps one of the two boxes checked: to use a script for nothing, the user disables it. */
function eitherOf(event: Event) {
  const box = event.target as HTMLInputElement;
  const other = (box.form?.elements.namedItem(box.name === "sent" ? "shown" : "sent") ??
    null) as HTMLInputElement | null;
  if (!box.checked && other && !other.checked) other.checked = true;
}

/** The initial values of a new script, as in the form: it only changes what is sent. */
const NEW_SCRIPT = {
  trimStrings: [],
  promptOnly: true,
  markdownOnly: false,
  runOnEdit: true,
  substituteRegex: 0,
  minDepth: null,
  maxDepth: null,
};
