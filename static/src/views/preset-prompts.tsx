// The prompts of a preset in order. They can be moved by mouse or keys, switched, edited, inserted and removed.
import { Fragment, h, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { removePart } from "../actions/preset-edit.ts";
import { excerpt } from "../lib/excerpt.ts";
import { t, optionalText } from "../lib/i18n.ts";
import { REPLACED, isKnown, moveItem, orderOf, partsOf } from "../lib/preset.ts";
import { plainText } from "../lib/text.ts";
import { icon } from "./common.tsx";
import { formDraftKeys } from "../model/form-drafts.ts";
import { PartForm, partDraftPrefix } from "./preset-part.tsx";
import { partTitle } from "./prompt-part-names.ts";
import type { PresetPart, PresetContent } from "../lib/wire.d.ts";
import type { PresetEditing } from "../actions/preset-edit.ts";

const NEW = Symbol("a new prompt");
/** Maximum number of characters of which an excerpt is made. */
const MAX_TEXT = 1000;

/** Returns the prompt whose unsaved text was kept over a reload: its identifier, or `NEW` for a new one. */
const storedPartDraft = (edit: PresetEditing): string | typeof NEW | null =>
  formDraftKeys(partDraftPrefix(edit)).map((identifier) => identifier || NEW)[0] ?? null;

interface PromptsProps {
  edit: PresetEditing;
  preset: PresetContent;
  ask: (within: Element | null, act: () => unknown) => void;
}

/**
 * Renders the list.
 * @param props `ask`: asks before typed text is lost
 */
export function Prompts({ edit, preset, ask }: PromptsProps) {
  const writing = useSignal(useRef(storedPartDraft(edit)).current);
  const status = useSignal("");
  /** The row and the button that get the focus back after the row has moved. */
  const wanted = useRef<[string, string] | null>(null);
  const list = useRef<HTMLDivElement | null>(null);
  const add = useRef<HTMLButtonElement | null>(null);
  useLayoutEffect(() => {
    const [part, act] = wanted.current ?? [];
    if (!part) return;
    wanted.current = null;
    (
      list.current?.querySelector(`[data-part="${CSS.escape(part)}"] [data-act="${act}"]`) as HTMLElement | null
    )?.focus();
  });
  const parts = new Map(partsOf(preset).map((part) => [part.identifier, part]));
  // The order in the file may name missing prompts. They stay in the file but have no row.
  const rows = orderOf(preset).filter(({ identifier }) => parts.has(identifier));
  const placed = new Set(rows.map(({ identifier }) => identifier));
  const others = [...parts.values()].filter(({ identifier }) => !placed.has(identifier));
  const at = writing.value;
  /** The prompt being edited, as last seen. Its text stays if someone else deletes it. */
  const written = useRef<PresetPart | null>(null);
  if (typeof at === "string") {
    const found =
      parts.get(at) ?? (written.current?.identifier === at ? written.current : { identifier: at, name: "" });
    written.current = found;
    if (!placed.has(at)) rows.push({ identifier: at, enabled: false });
  }
  const seen = useRef(edit.version.value);
  useLayoutEffect(() => {
    // A prompt that disappeared by an undo here is gone by the user's own choice.
    if (seen.current !== edit.version.value && typeof at === "string" && !parts.has(at)) writing.value = null;
    seen.current = edit.version.value;
  }, [edit.version.value]);
  const write = (next: string | typeof NEW | null) => ask(list.current, () => (writing.value = next));
  const nameOf = (identifier: string) => partTitle(parts.get(identifier) as PresetPart);

  /**
   * Moves a prompt to the place of another, or by one row. The target is computed only when the move runs, because key
   * presses may come faster than answers.
   */
  const move = async (identifier: string, where: string | -1 | 1, act: string = "") => {
    const isMoved = await edit.turn((now) => {
      const order = orderOf(now);
      const there = new Set(partsOf(now).map((part) => part.identifier));
      const shown = order.filter((row) => there.has(row.identifier)).map((row) => row.identifier);
      const goal = typeof where === "string" ? where : shown[shown.indexOf(identifier) + where];
      const [from, to] = [identifier, goal].map((one) => order.findIndex((row) => row.identifier === one));
      return from === undefined || to === undefined || from < 0 || to < 0 || from === to
        ? null
        : { order: moveItem(order, from, to) };
    });
    if (!isMoved) return;
    if (act) wanted.current = [identifier, act];
    const order = orderOf(edit.preset.peek() ?? preset).filter((row) => parts.has(row.identifier));
    status.value = t("presetEdit.moved", {
      name: nameOf(identifier),
      n: order.findIndex((row) => row.identifier === identifier) + 1,
      all: order.length,
    });
  };
  const turn = (identifier: string, enabled: boolean) =>
    edit.turn((now) => ({
      order: orderOf(now).map((row) => (row.identifier === identifier ? { ...row, enabled } : row)),
    }));
  const put = async (identifier: string) => {
    if (await edit.turn((now) => ({ order: [...orderOf(now), { identifier, enabled: true }] })))
      wanted.current = [identifier, "up"];
  };
  const drop = async (identifier: string) => {
    if (writing.peek() === identifier) writing.value = null;
    // The pressed button disappears with its row.
    if (await removePart(edit, identifier, nameOf(identifier))) add.current?.focus();
  };
  const done = (identifier: string | null) => {
    writing.value = null;
    if (identifier) wanted.current = [identifier, "edit"];
    else add.current?.focus();
  };
  const isNew = writing.value === NEW;
  const form = (part: PresetPart) => (
    <PartForm
      key={`${part.identifier} ${edit.version.value}`}
      edit={edit}
      part={part}
      isGone={!parts.has(part.identifier)}
      title={partTitle(part)}
      onClose={() => done(part.identifier)}
    />
  );
  const row = ({ identifier, enabled }: { identifier: string; enabled: boolean }, at: number) => {
    const part = (parts.get(identifier) ?? written.current) as PresetPart;
    return (
      <Row
        key={identifier}
        part={part}
        enabled={enabled}
        isFirst={at === 0}
        isLast={at === rows.length - 1}
        isWriting={writing.value === identifier}
        turn={(is) => turn(identifier, is)}
        up={() => move(identifier, -1, "up")}
        down={() => move(identifier, 1, "down")}
        take={(other) => move(other, identifier)}
        isGone={!parts.has(identifier)}
        write={() => write(writing.peek() === identifier ? null : identifier)}
        drop={
          isKnown(part)
            ? null
            : () => (writing.peek() === identifier ? ask(list.current, () => drop(identifier)) : void drop(identifier))
        }
        form={() => form(part)}
      />
    );
  };
  return (
    <div class="preset-prompts" ref={list}>
      <ol>{rows.map(row)}</ol>
      <p class="hidden" role="status">
        {status.value}
      </p>
      <div class="actions start">
        <button type="button" ref={add} aria-expanded={isNew} onClick={() => write(isNew ? null : NEW)}>
          {icon("plus")}
          <span>{t("presetEdit.add")}</span>
        </button>
      </div>
      {isNew && (
        <div class="fragment">
          <article aria-label={t("presetEdit.add")}>
            <PartForm edit={edit} part={null} title={t("presetEdit.add")} onClose={() => done(null)} />
          </article>
        </div>
      )}
      {others.length > 0 && (
        <details class="others">
          <summary>{t("presetEdit.others", { n: others.length })}</summary>
          <p class="aside">{t("presetEdit.othersText")}</p>
          <ul>
            {others.map((part) => (
              <li key={part.identifier} data-part={part.identifier} class="fragment">
                <article aria-label={partTitle(part)}>
                  <h4>{partTitle(part)}</h4>
                  {part.content && <p class="aside">{excerpt(plainText(part.content.slice(0, MAX_TEXT)), 160)}</p>}
                  <div class="actions">
                    <button type="button" onClick={() => put(part.identifier)}>
                      {icon("plus")}
                      <span>{t("presetEdit.putIn")}</span>
                    </button>
                    {!isKnown(part) && (
                      <button type="button" onClick={() => drop(part.identifier)}>
                        {icon("trash")}
                        <span>{t("preset.delete")}</span>
                      </button>
                    )}
                  </div>
                </article>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

/** Returns the key of the text for an empty prompt. The text of a card takes the place of some, also of empty ones. */
const blankKey = ({ identifier, forbid_overrides }: PresetPart) =>
  REPLACED.has(identifier) && forbid_overrides !== true ? "presetEdit.blankOfCard" : "presetEdit.blank";

/** The type of the dragged data, so that the list accepts nothing else. */
const KIND = "application/x-clotho-prompt";

interface RowProps {
  part: PresetPart;
  enabled: boolean;
  isGone: boolean;
  isFirst: boolean;
  isLast: boolean;
  isWriting: boolean;
  turn: (is: boolean) => Promise<boolean>;
  up: () => unknown;
  down: () => unknown;
  take: (other: string) => unknown;
  write: () => void;
  drop: (() => unknown) | null;
  form: () => unknown;
}

function Row({ part, enabled, isGone, isFirst, isLast, isWriting, turn, up, down, take, write, drop, form }: RowProps) {
  const name = partTitle(part);
  const isOver = useSignal(false);
  const switched = async (event: Event) => {
    const box = event.target as HTMLInputElement;
    if (!(await turn(box.checked))) box.checked = enabled;
  };
  const begin = (event: DragEvent) => {
    if (!event.dataTransfer) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData(KIND, part.identifier);
    event.dataTransfer.setData("text/plain", name);
  };
  const handleDrag = (event: DragEvent) => {
    if (!event.dataTransfer?.types.includes(KIND)) return;
    event.preventDefault();
    isOver.value = event.type === "dragover";
    if (event.type === "drop") void take(event.dataTransfer.getData(KIND));
  };
  const isInChat = part.injection_position === 1;
  const only = part.injection_trigger ?? [];
  const text = (part.content ?? "").slice(0, MAX_TEXT);
  const button = (act: string, symbol: string, label: string, run: () => unknown, isOff = false) => (
    <button
      type="button"
      class="round small"
      data-act={act}
      aria-label={label}
      title={label}
      aria-disabled={isOff ? "true" : undefined}
      onClick={() => isOff || run()}
    >
      {icon(symbol)}
    </button>
  );
  return (
    <li
      data-part={part.identifier}
      class={`prompt-row${enabled ? "" : " off"}${isOver.value ? " drop-here" : ""}`}
      onDragOver={handleDrag}
      onDragLeave={handleDrag}
      onDrop={handleDrag}
    >
      <article aria-label={name}>
        {!isGone && (
          <div class="prompt-line">
            <span class="grip" draggable={true} title={t("presetEdit.drag")} onDragStart={begin}>
              {icon("move")}
            </span>
            <input type="checkbox" checked={enabled} aria-label={t("presetEdit.isOn", { name })} onChange={switched} />
            <div class="prompt-name">
              <b>{name}</b>
              {part.role && part.role !== "system" && (
                <>
                  {" "}
                  <span class="chip">{t(`presetEdit.role.${part.role}`)}</span>
                </>
              )}
              {isInChat && (
                <>
                  {" "}
                  <span class="chip on">{t("presetEdit.atDepth", { n: part.injection_depth ?? 4 })}</span>
                </>
              )}
              {only.length > 0 && (
                <>
                  {" "}
                  <span class="chip">
                    {only.map((word) => optionalText(`presetEdit.trigger.${word}`) || word).join(", ")}
                  </span>
                </>
              )}
              {part.marker ? (
                <small>{t("presetEdit.marker")}</small>
              ) : (
                // A text may have only marks, for example a line.
                <small>{excerpt(plainText(text), 120) || text.trim() || t(blankKey(part))}</small>
              )}
            </div>
            <div class="prompt-tools">
              {button("up", "left", t("presetEdit.up", { name }), up, isFirst)}
              {button("down", "right", t("presetEdit.down", { name }), down, isLast)}
              <button
                type="button"
                class="round small"
                data-act="edit"
                aria-label={t("presetEdit.write", { name })}
                title={t("presetEdit.write", { name })}
                aria-expanded={isWriting}
                onClick={write}
              >
                {icon("edit")}
              </button>
              {drop && button("drop", "trash", t("presetEdit.drop", { name }), drop)}
            </div>
          </div>
        )}
        {isWriting && form()}
      </article>
    </li>
  );
}
