// The form of one prompt of a preset.
import { h, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { t } from "../lib/i18n.ts";
import { REPLACED, newIdentifier, hasPlace, orderOf, partsOf } from "../lib/preset.ts";
import { saveFormDraft } from "../model/form-drafts.ts";
import { formValues, fillForm, useFormDraft } from "./form-drafts.ts";
import { icon } from "./common.tsx";
import { ConflictNote } from "./preset-settings.tsx";
import { takeFocus } from "./confirmation.tsx";
import type { PresetChange, PresetPart } from "../lib/wire.d.ts";
import type { PresetEditing } from "../actions/preset-edit.ts";

const ROLES = ["system", "user", "assistant"] as const;
const TRIGGERS = ["normal", "continue", "impersonate", "swipe", "regenerate", "quiet"] as const;
/** The position of a prompt that states none. */
const DEFAULT_POSITION = { injection_position: 0, injection_depth: 4, injection_order: 100 };

/** Returns the prefix of the keys under which unsaved text of a preset's prompts is kept. */
export const partDraftPrefix = ({ id }: PresetEditing) => `preset.${id}.`;

interface PartFormProps {
  edit: PresetEditing;
  part: PresetPart | null;
  isGone?: boolean;
  title: string;
  onClose: () => void;
}

/**
 * Renders the form.
 * @param props without `part` it is for a new prompt; `isGone`: the prompt was deleted elsewhere in the meantime
 */
export function PartForm({ edit, part, isGone = false, title, onClose }: PartFormProps) {
  const key = partDraftPrefix(edit) + (part?.identifier ?? "");
  const draft = useFormDraft(key);
  // A text field normalizes line breaks. Those of the file do not count as a change.
  const start = useRef<Partial<PresetPart>>(
    part
      ? { ...part, ...(part.content !== undefined && { content: part.content.replaceAll("\r\n", "\n") }) }
      : { role: "system" },
  ).current;
  const isMarker = start.marker === true;
  const isInChat = useSignal(draft?.place ? draft.place === "1" : start.injection_position === 1);
  const meanwhile = useSignal<PresetChange | null>(null);
  const busy = useRef(false);
  const form = useRef<HTMLFormElement | null>(null);
  /** The identifier of a new prompt stays the same if it has to be sent again. */
  const fresh = useRef("");

  const typedIn = () => {
    const typed = new FormData(form.current as HTMLFormElement);
    const number = (key: keyof typeof DEFAULT_POSITION) =>
      typed.get(key) === null || typed.get(key) === "" ? (start[key] ?? DEFAULT_POSITION[key]) : Number(typed.get(key));
    return {
      name: String(typed.get("name") ?? "").trim(),
      role: String(typed.get("role")) as NonNullable<PresetPart["role"]>,
      ...(!isMarker && { content: String(typed.get("content") ?? "").replaceAll("\r\n", "\n") }),
      ...(hasPlace({ identifier: part?.identifier ?? "" }) && {
        injection_position: Number(isInChat.peek()),
        injection_depth: number("injection_depth"),
        injection_order: number("injection_order"),
      }),
      injection_trigger: TRIGGERS.filter((word) => typed.has(`on-${word}`)),
      ...(REPLACED.has(part?.identifier ?? "") && { forbid_overrides: typed.has("forbid") }),
    };
  };
  /** Returns the fields that differ from the values at opening. */
  const written = (): Partial<PresetPart> => {
    const before = {
      role: "system",
      content: "",
      injection_trigger: [],
      forbid_overrides: false,
      ...DEFAULT_POSITION,
      ...start,
      name: part ? title : "",
    };
    const isOther = ([key, value] = ["", ""] as [string, unknown]) =>
      JSON.stringify(value) !== JSON.stringify((before as Record<string, unknown>)[key]);
    return Object.fromEntries(Object.entries(typedIn()).filter(isOther));
  };
  const keep = () =>
    form.current && saveFormDraft(key, Object.keys(written()).length > 0 ? formValues(form.current) : null);
  useLayoutEffect(() => {
    if (draft && form.current) fillForm(form.current, draft);
  }, []);
  const save = async (event: Event) => {
    event.preventDefault();
    if (busy.current) return;
    const isNew = part === null || isGone;
    const fields = isGone ? typedIn() : written();
    if (!isNew && Object.keys(fields).length === 0) return onClose();
    busy.current = true;
    const result = await edit.change((now) => {
      if (!isNew) return { prompts: [{ identifier: part.identifier, ...fields }] };
      const identifier = (fresh.current ||= newIdentifier(now));
      return {
        prompts: [{ identifier, role: "system", ...fields, name: fields.name || t("presetEdit.nameless") }],
        order: [...orderOf(now), { identifier, enabled: true }],
      };
    });
    busy.current = false;
    if (result?.is === "written") onClose();
    // If the prompt was deleted in the meantime, the list says so.
    const isThere = isNew || partsOf(edit.preset.peek() ?? {}).some(({ identifier }) => identifier === part.identifier);
    if (result?.is === "changed" && isThere) meanwhile.value = result.now;
  };
  const takeTheirs = () => (onClose(), (edit.version.value += 1));
  return (
    <form ref={form} onSubmit={save} onInput={keep} onChange={keep} aria-label={title}>
      {draft && (
        <p class="aside" role="status">
          {t("lore.begunHere")}
        </p>
      )}
      <label>
        {t("lore.fieldName")}
        <input name="name" required={part === null} maxlength={200} ref={takeFocus} defaultValue={part ? title : ""} />
      </label>
      {!isMarker && (
        <label>
          {t("presetEdit.content")}
          <textarea name="content" rows={8} spellcheck={false} defaultValue={start.content ?? ""} />
          <small>{t("presetEdit.contentHint")}</small>
        </label>
      )}
      <div class="pair">
        <label>
          {t("presetEdit.role")}
          <select name="role" defaultValue={start.role ?? "system"}>
            {ROLES.map((role) => (
              <option key={role} value={role} selected={role === (start.role ?? "system")}>
                {t(`presetEdit.role.${role}`)}
              </option>
            ))}
          </select>
        </label>
        {hasPlace({ identifier: part?.identifier ?? "" }) && (
          <label>
            {t("presetEdit.place")}
            <select
              name="place"
              onChange={(e: Event) => (isInChat.value = (e.target as HTMLSelectElement).value === "1")}
            >
              <option value="0" selected={!isInChat.peek()}>
                {t("presetEdit.inOrder")}
              </option>
              <option value="1" selected={isInChat.peek()}>
                {t("presetEdit.inChat")}
              </option>
            </select>
          </label>
        )}
      </div>
      {isInChat.value && (
        <div class="pair">
          <label>
            {t("presetEdit.depth")}
            <input
              type="number"
              name="injection_depth"
              min="0"
              max="10000"
              step="1"
              required
              defaultValue={String(start.injection_depth ?? 4)}
            />
            <small>{t("presetEdit.depthHint")}</small>
          </label>
          <label>
            {t("presetEdit.order")}
            <input
              type="number"
              name="injection_order"
              min="-10000"
              max="10000"
              step="1"
              required
              defaultValue={String(start.injection_order ?? 100)}
            />
            <small>{t("presetEdit.orderHint")}</small>
          </label>
        </div>
      )}
      {REPLACED.has(part?.identifier ?? "") && (
        <label class="check">
          <input type="checkbox" name="forbid" defaultChecked={start.forbid_overrides === true} />
          <span>
            {t("presetEdit.forbid")}
            <small>{t("presetEdit.forbidHint")}</small>
          </span>
        </label>
      )}
      <details>
        <summary>{t("presetEdit.triggers")}</summary>
        <p class="aside">{t("presetEdit.triggersText")}</p>
        <div class="pair">
          {TRIGGERS.map((word) => (
            <label key={word} class="check">
              <input
                type="checkbox"
                name={`on-${word}`}
                defaultChecked={(start.injection_trigger ?? []).includes(word)}
              />
              <span>{t(`presetEdit.trigger.${word}`)}</span>
            </label>
          ))}
        </div>
      </details>
      {isGone ? (
        <div class="failure" role="alert">
          {icon("warning")}
          <div>
            <p>{t("presetEdit.partGone")}</p>
            <p class="hint">{t("presetEdit.partGoneHint")}</p>
          </div>
        </div>
      ) : (
        meanwhile.value && (
          <ConflictNote
            now={meanwhile.value}
            keepMine={() => ((meanwhile.value = null), form.current?.requestSubmit())}
            takeTheirs={takeTheirs}
          />
        )
      )}
      <div class="actions">
        <button type="button" onClick={onClose}>
          {t("cancel")}
        </button>
        {(isGone || !meanwhile.value) && (
          <button type="submit" class="primary">
            {t(isGone ? "presetEdit.saveNew" : "save")}
          </button>
        )}
      </div>
    </form>
  );
}
