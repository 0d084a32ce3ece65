// The labels of a message. A bookmark stays on its message; a branch name moves on with each new message.
import { Fragment, h, useSignal } from "../../vendor/preact.js";
import { removeLabel, putLabel, renameLabel } from "../actions/stash.ts";
import { t } from "../lib/i18n.ts";
import { labelsOf } from "../model/arrangement.ts";
import { openDialog } from "../model/page.ts";
import { head } from "../model/session-store.ts";
import { Modal, icon } from "./common.tsx";
import { takeFocus } from "./confirmation.tsx";
import type { Id, Label } from "../lib/wire.d.ts";

export function LabelDialog({ nid }: { nid: Id }) {
  const save = async (event: Event) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    const name = String(form.get("name") ?? "").trim();
    if (name && (await putLabel(nid, name, form.get("kind") === "branch"))) openDialog(null);
  };
  const isEnd = head.value === nid;
  const kind = (value: "bookmark" | "branch", checked: boolean) => (
    <label class="check">
      <input type="radio" name="kind" value={value} defaultChecked={checked} />
      <span>
        {t(`label.${value}`)}
        <small>{t(`label.${value}Hint`)}</small>
      </span>
    </label>
  );
  return (
    <Modal title={t("command.label")}>
      {labelsOf(nid).length > 0 && (
        <ul class="label-list" aria-label={t("label.here")}>
          {labelsOf(nid).map((label) => (
            <Row key={label.name} label={label} />
          ))}
        </ul>
      )}
      <form onSubmit={save}>
        <label>
          {t("label.name")}
          <input name="name" required maxlength={100} autofocus />
        </label>
        <fieldset>
          <legend class="hidden">{t("label.kind")}</legend>
          {kind("bookmark", !isEnd)}
          {kind("branch", isEnd)}
        </fieldset>
        <div class="actions">
          <button type="button" onClick={() => openDialog(null)}>
            {t("cancel")}
          </button>
          <button type="submit" class="primary">
            {t("save")}
          </button>
        </div>
      </form>
    </Modal>
  );
}

function Row({ label }: { label: Label }) {
  const { name, following } = label;
  const editing = useSignal(false);
  const button = (words: string, symbol: string, act: () => unknown) => (
    <button type="button" class="round" aria-label={words} title={words} onClick={act}>
      {icon(symbol)}
    </button>
  );
  const save = (event: Event) => {
    event.preventDefault();
    const next = String(new FormData(event.target as HTMLFormElement).get("rename") ?? "").trim();
    if (next && next !== name) void renameLabel(label, next);
    editing.value = false;
  };
  return (
    <li>
      {icon(following ? "branches" : "bookmark")}
      {editing.value ? (
        <form onSubmit={save}>
          <input
            name="rename"
            ref={takeFocus}
            maxlength={100}
            required
            aria-label={t("label.rename", { name })}
            defaultValue={name}
          />
          <button type="submit" class="primary">
            {t("save")}
          </button>
        </form>
      ) : (
        <>
          <span>{name}</span>
          {button(t("label.rename", { name }), "edit", () => (editing.value = true))}
        </>
      )}
      {button(t("label.remove", { name }), "close", () => removeLabel(name))}
    </li>
  );
}

/** The labels of a message, as shown on it. */
export const Labels = ({ nid }: { nid: Id }) => (
  <>
    {labelsOf(nid).map(({ name, following }) => (
      <button
        key={name}
        type="button"
        class="place-name"
        title={t("command.label")}
        onClick={() => openDialog({ kind: "label", nid })}
      >
        {icon(following ? "branches" : "bookmark")}
        <span>{name}</span>
      </button>
    ))}
  </>
);
