// The form that edits a message in its place.
import { Fragment, h, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { initialEditText, edit, cancelEdit, keepTypedEdit } from "../actions/edit.ts";
import { excerpt } from "../lib/excerpt.ts";
import { t } from "../lib/i18n.ts";
import { plainText } from "../lib/text.ts";
import { deleteOtherTabEdit, continueEdit, editsInOtherTabs } from "../model/message-edits.ts";
import { fieldFocusRequests } from "../model/session-store.ts";
import { isLinear } from "../tree/shown-branch.ts";
import { icon } from "./common.tsx";
import type { ChatNode } from "../lib/wire.d.ts";
import type { OtherTabEdit } from "../model/message-edits.ts";

export function EditForm({ node, last }: { node: ChatNode; last: boolean }) {
  const field = useRef<HTMLTextAreaElement | null>(null);
  // In linear mode, the later messages are kept.
  const carry = useSignal(isLinear.peek() && !last);
  const busy = useSignal(false);
  const start = useRef(initialEditText(node)).current;
  useLayoutEffect(() => {
    field.current?.setSelectionRange(start.length, start.length);
  }, []);
  // While this field exists, it takes the focus in place of the composer.
  const wanted = fieldFocusRequests.value;
  useLayoutEffect(() => field.current?.focus(), [wanted]);
  const saves = node.role === "user" && !carry.value ? "edit.saveAndAnswer" : "edit.save";
  const leave = () => cancelEdit(node);
  const save = async () => {
    const text = field.current?.value ?? "";
    if (busy.peek() || !text.trim()) return;
    // An unchanged text makes no new version. For the user's own message, saving still asks for a reply.
    if (text === node.content && saves === "edit.save") return leave();
    busy.value = true;
    await edit(node, text, carry.peek());
    busy.value = false;
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault();
      leave();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save();
  };
  // The text is inserted as if it were typed, so that the undo of the field brings the old text back.
  const take = (words: OtherTabEdit) => {
    field.current?.select();
    document.execCommand("insertText", false, continueEdit(node.id, words));
    field.current?.focus();
  };
  return (
    <form class="edit" onSubmit={(event: Event) => (event.preventDefault(), void save())}>
      <textarea
        ref={field}
        aria-label={t("command.edit")}
        readonly={busy.value}
        onKeyDown={keys}
        onInput={(event: Event) => keepTypedEdit(node, (event.target as HTMLTextAreaElement).value)}
        defaultValue={start}
      />
      <OtherTabEdits node={node} take={take} />
      {!last && !isLinear.value && (
        <label class="check">
          <input type="checkbox" checked={carry.value} onChange={() => (carry.value = !carry.value)} />
          <span>
            {t("edit.carry")}
            <small>{t(carry.value ? "edit.carryOn" : "edit.carryOff")}</small>
          </span>
        </label>
      )}
      <div class="actions">
        <button type="button" onClick={leave}>
          {t("cancel")}
        </button>
        <button type="submit" class="primary" aria-disabled={busy.value}>
          {t(saves)}
        </button>
      </div>
    </form>
  );
}

/** Unsaved texts for this message from other tabs, which may be closed by now. */
function OtherTabEdits({ node, take }: { node: ChatNode; take: (words: OtherTabEdit) => void }) {
  const found = useSignal(editsInOtherTabs(node.id).filter(({ text }) => text !== initialEditText(node)));
  const drop = (words: OtherTabEdit) => (found.value = found.peek().filter((one) => one !== words));
  const forget = (words: OtherTabEdit) => (deleteOtherTabEdit(words), drop(words));
  return (
    <>
      {found.value.map((words) => (
        <div key={words.key} class="elsewhere" role="group" aria-label={t("edit.elsewhere")}>
          <p class="aside">
            {t("edit.elsewhere")} <q>{excerpt(plainText(words.text), 80)}</q>
          </p>
          <button type="button" onClick={() => (take(words), drop(words))}>
            {t("edit.take")}
          </button>
          <button
            type="button"
            class="round small"
            aria-label={t("edit.forget")}
            title={t("edit.forget")}
            onClick={() => forget(words)}
          >
            {icon("close")}
          </button>
        </div>
      ))}
    </>
  );
}
