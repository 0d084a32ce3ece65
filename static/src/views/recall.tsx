// The recall settings of the open story: whether it recalls text that its prompts no longer contain, and from which
// documents. Loaded when first opened.
import { h, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { clearDialogErrors } from "../actions/dialog-errors.ts";
import { addDocument, changeRecall, readCollections, readDocuments, removeDocument } from "../actions/recall.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import { idempotencyKeys } from "../lib/idempotency-keys.ts";
import words from "../lib/strings/en-recall.ts";
import { notify } from "../model/page.ts";
import { session } from "../model/session-store.ts";
import { EmptyState, Modal, LoadingRows, icon } from "./common.tsx";
import { SummarySettings } from "./summaries.tsx";
import { Confirmation } from "./confirmation.tsx";
import type { Collection, Document } from "../lib/wire.d.ts";

addEnglish(words);

const OFF = { enabled: false, collections: [] as string[] };

export function RecallDialog() {
  const all = useSignal<Collection[] | null>(null);
  const isUnread = useSignal(false);
  const read = async () => {
    isUnread.value = false;
    const found = await readCollections();
    if (found) all.value = found;
    isUnread.value = !found;
  };
  useEffect(() => void read(), []);
  const recall = session.value?.recall ?? OFF;
  const turn = (event: Event) => void changeRecall({ ...recall, enabled: (event.target as HTMLInputElement).checked });
  // A selected collection stays in the list when its last document is deleted.
  const names = [...new Set([...(all.value ?? []).map(({ name }) => name), ...recall.collections])];
  const choose = (name: string, isOn: boolean) =>
    void changeRecall({
      ...recall,
      collections: isOn ? [...recall.collections, name] : recall.collections.filter((one) => one !== name),
    });
  const count = (name: string) => all.value?.find((one) => one.name === name)?.count ?? 0;
  return (
    <Modal title={t("command.recall")} class="wide lore memory" keeps>
      <p class="aside">{t("recall.text")}</p>
      <label class="check">
        <input type="checkbox" checked={recall.enabled} onChange={turn} autofocus />
        <span>
          {t("recall.on")}
          <small>{t("recall.onHint")}</small>
        </span>
      </label>
      <SummarySettings />
      <h3>{t("recall.documents")}</h3>
      <p class="aside">{t("recall.documentsHint")}</p>
      {isUnread.value && (
        <EmptyState symbol="warning" title={t("recall.unread")}>
          <button type="button" class="primary" onClick={read}>
            {t("retry")}
          </button>
        </EmptyState>
      )}
      {all.value === null ? (
        !isUnread.value && <LoadingRows rows={2} />
      ) : (
        <ul>
          {names.map((name) => (
            <Row
              key={name}
              name={name}
              count={count(name)}
              isChosen={recall.collections.includes(name)}
              choose={(isOn) => choose(name, isOn)}
              read={read}
            />
          ))}
        </ul>
      )}
      <NewDocument names={names} read={read} />
    </Modal>
  );
}

interface RowProps {
  name: string;
  count: number;
  isChosen: boolean;
  choose: (isOn: boolean) => void;
  read: () => unknown;
}

function Row({ name, count, isChosen, choose, read }: RowProps) {
  const looking = useSignal(false);
  const look = useRef<HTMLButtonElement | null>(null);
  return (
    <li class="fragment">
      <article aria-label={name}>
        <label class="check">
          <input
            type="checkbox"
            checked={isChosen}
            onChange={(event: Event) => choose((event.target as HTMLInputElement).checked)}
          />
          <span>
            {name}
            <small>{t("recall.count", { n: count })}</small>
          </span>
        </label>
        <div class="actions">
          <button
            type="button"
            ref={look}
            aria-expanded={looking.value}
            onClick={() => (looking.value = !looking.peek())}
          >
            {icon("eye")}
            <span>{t("recall.look")}</span>
          </button>
        </div>
        {looking.value && <Documents key={count} name={name} read={read} gone={() => look.current?.focus()} />}
      </article>
    </li>
  );
}

/**
 * Lists the documents of a collection.
 * @param props `gone`: called when a document was deleted, together with the pressed button
 */
function Documents({ name, read, gone }: { name: string; read: () => unknown; gone: () => void }) {
  const all = useSignal<Document[] | null>(null);
  useEffect(() => void readDocuments(name).then((found) => (all.value = found ?? [])), []);
  const remove = async ({ id }: Document) => {
    if (!(await removeDocument(id))) return;
    all.value = (all.peek() ?? []).filter((one) => one.id !== id);
    gone();
    await read();
  };
  if (all.value === null) return <LoadingRows rows={2} />;
  return (
    <ul>
      {all.value.map((one) => (
        <Doc key={one.id} one={one} remove={() => remove(one)} />
      ))}
    </ul>
  );
}

function Doc({ one, remove }: { one: Document; remove: () => unknown }) {
  const asking = useSignal(false);
  const button = useRef<HTMLButtonElement | null>(null);
  const keep = () => {
    asking.value = false;
    button.current?.focus();
  };
  return (
    <li class="fragment">
      <p class="long">{one.content}</p>
      <div class="actions">
        <button type="button" ref={button} aria-expanded={asking.value} onClick={() => (asking.value = !asking.peek())}>
          {icon("shred")}
          <span>{t("recall.remove")}</span>
        </button>
      </div>
      {asking.value && (
        <Confirmation
          text={t("recall.removeText")}
          confirmLabel={t("recall.removeYes")}
          cancelLabel={t("recall.removeNo")}
          onConfirm={remove}
          onCancel={keep}
        />
      )}
    </li>
  );
}

function NewDocument({ names, read }: { names: string[]; read: () => unknown }) {
  /** The same text submitted twice by mistake is saved once. After it is saved, it can be submitted again. */
  const keys = useRef(idempotencyKeys());
  const busy = useRef(false);
  const save = async (event: Event) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const [collection, content] = ["collection", "content"].map((name) =>
      String(new FormData(form).get(name) ?? "").trim(),
    );
    if (busy.current) return;
    clearDialogErrors();
    if (!collection || !content) return notify({ tone: "error", text: t("recall.blank") });
    busy.current = true;
    if (await addDocument(collection, content, keys.current([collection, content]))) {
      (form.elements.namedItem("content") as HTMLTextAreaElement).value = "";
      // The name stays for the next document; it does not count as unsaved text.
      (form.elements.namedItem("collection") as HTMLInputElement).defaultValue = collection;
      keys.current = idempotencyKeys();
      await read();
    }
    busy.current = false;
  };
  return (
    <form onSubmit={save}>
      <h3>{t("recall.new")}</h3>
      <label>
        {t("recall.collection")}
        <input name="collection" required maxlength={100} list="collections" />
      </label>
      <datalist id="collections">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <label>
        {t("recall.content")}
        <textarea name="content" rows={4} required />
      </label>
      <div class="actions">
        <button type="submit" class="primary">
          {t("recall.add")}
        </button>
      </div>
    </form>
  );
}
