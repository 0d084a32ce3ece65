// The editor of a prompt preset: its prompts in order, its other texts, and its model parameters. Loaded when first
// opened.
import { Fragment, h, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { askForPresetScripts, setSessionPreset } from "../actions/presets.ts";
import { copyPreset, presetEditor } from "../actions/preset-edit.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import { onTabVisible } from "../lib/tab-visibility.ts";
import { idempotencyKeys } from "../lib/idempotency-keys.ts";
import words from "../lib/strings/en-preset-edit.ts";
import { deleteFormDrafts } from "../model/form-drafts.ts";
import { session } from "../model/session-store.ts";
import { ModelPresetNote, useModelPreset } from "./model-preset.tsx";
import { EmptyState, LoadingRows, icon, isFormChanged } from "./common.tsx";
import { partDraftPrefix } from "./preset-part.tsx";
import { Preview } from "./preset-preview.tsx";
import { Prompts } from "./preset-prompts.tsx";
import { Models, Sampling, Texts } from "./preset-settings.tsx";
import { Confirmation, takeFocus } from "./confirmation.tsx";
import type { ComponentChildren } from "../../vendor/preact.js";
import type { Key } from "../lib/i18n.ts";
import type { Id } from "../lib/wire.d.ts";

addEnglish(words);

/**
 * Renders the editor.
 * @param props `goTo`: opens another preset in the editor
 */
export function PresetEditor({ id, back, goTo }: { id: Id; back: () => void; goTo: (id: Id) => void }) {
  const edit = useRef(presetEditor(id)).current;
  const keyFor = useRef(idempotencyKeys()).current;
  useEffect(() => {
    void edit.load();
    return onTabVisible(() => edit.trouble.peek() === null && void edit.load());
  }, []);
  const box = useRef<HTMLDivElement | null>(null);
  /** The action that waits until the user agrees to lose typed text. */
  const asking = useSignal<(() => unknown) | null>(null);
  const ask = (within: Element | null, act: () => unknown) =>
    void (isFormChanged(within) ? (asking.value = act) : act());
  const surely = (act: () => unknown) => () => ask(box.current, act);
  const preset = edit.preset.value;
  const serves = session.value?.presetId === id;
  const held = useModelPreset(preset?.updatedAt);
  const copy = async () => {
    const result = await copyPreset(id, t("presetEdit.copyOf", { name: preset?.name ?? "" }).slice(0, 200), keyFor);
    if (result) goTo(result.id);
  };
  const drop = () => {
    const act = asking.peek();
    asking.value = null;
    deleteFormDrafts(partDraftPrefix(edit));
    void act?.();
  };
  const head = (
    <>
      <div class="actions start">
        <button type="button" ref={takeFocus} onClick={surely(back)}>
          {icon("back")}
          <span>{t("presetEdit.back")}</span>
        </button>
        {preset && (
          <>
            {session.value && (
              <button type="button" aria-pressed={serves} onClick={() => setSessionPreset(serves ? null : id)}>
                {icon("play")}
                <span>{t(serves ? "preset.unuse" : "preset.use")}</span>
              </button>
            )}
            <button type="button" onClick={surely(copy)}>
              {icon("copy")}
              <span>{t("presetEdit.copy")}</span>
            </button>
            <button
              type="button"
              aria-disabled={edit.back.value.length === 0 ? "true" : undefined}
              onClick={surely(() => edit.back.peek().length > 0 && edit.undo())}
            >
              {icon("undo")}
              <span>{t("presetEdit.undo")}</span>
            </button>
          </>
        )}
      </div>
      {held?.id === id && <ModelPresetNote model={held.model} />}
      {preset?.regexScripts === false && (
        <p class="aside">
          {t("preset.scriptsOff")}{" "}
          <button type="button" class="link" onClick={surely(() => askForPresetScripts([id]))}>
            {t("preset.scriptsLook")}
          </button>
        </p>
      )}
      {asking.value && (
        <Confirmation
          text={t("typed.text")}
          confirmLabel={t("typed.drop")}
          cancelLabel={t("typed.keep")}
          onConfirm={drop}
          onCancel={() => (asking.value = null)}
        />
      )}
    </>
  );
  if (edit.trouble.value === "gone")
    return (
      <>
        {head}
        <EmptyState symbol="warning" title={t("presetEdit.gone")} hint={t("presetEdit.goneHint")} />
      </>
    );
  if (edit.trouble.value === "unread")
    return (
      <>
        {head}
        <EmptyState symbol="warning" title={t("preset.unread")}>
          <button type="button" class="primary" onClick={edit.load}>
            {t("retry")}
          </button>
        </EmptyState>
      </>
    );
  if (!preset)
    return (
      <>
        {head}
        <LoadingRows rows={5} />
      </>
    );
  if (!preset.effective)
    return (
      <>
        {head}
        <EmptyState symbol="warning" title={t("presetEdit.none")} hint={t("presetEdit.noneHint")} />
      </>
    );
  const version = edit.version.value;
  return (
    <div class="stash preset-editor" ref={box}>
      {head}
      <section aria-label={t("presetEdit.prompts")}>
        <h3>{t("presetEdit.prompts")}</h3>
        <p class="aside">{t("presetEdit.promptsText")}</p>
        <Prompts edit={edit} preset={preset} ask={ask} />
      </section>
      <Fold title="presetEdit.sampling">
        <Sampling key={version} edit={edit} preset={preset} />
      </Fold>
      <Fold title="presetEdit.texts">
        <Texts key={version} edit={edit} preset={preset} />
      </Fold>
      <Fold title="presetEdit.models">
        <Models key={version} edit={edit} preset={preset} />
      </Fold>
      {session.value && (
        <Fold title="presetEdit.preview">
          <Preview preset={preset} />
        </Fold>
      )}
    </div>
  );
}

/** Renders a section whose content is rendered when it is first opened. */
function Fold({ title, children }: { title: Key; children?: ComponentChildren }) {
  const met = useSignal(false);
  const isOpen = useSignal(false);
  const turn = (event: Event) => {
    isOpen.value = (event.target as HTMLDetailsElement).open;
    met.value ||= isOpen.peek();
  };
  return (
    <details class="section-fold" onToggle={turn}>
      <summary>{t(title)}</summary>
      {met.value && <div>{children}</div>}
    </details>
  );
}
