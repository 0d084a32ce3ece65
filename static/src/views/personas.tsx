// Personas: the list, the form for one, and the choice for a story. Loaded when first opened.
import { Fragment, h, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { savePersona, setSessionPersona, readPersonas, removePersona } from "../actions/personas.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-cards.ts";
import { idempotencyKeys } from "../lib/idempotency-keys.ts";
import { session } from "../model/session-store.ts";
import { Avatar, EmptyState, Modal, LoadingRows, icon } from "./common.tsx";
import type { Signal } from "../../vendor/preact.js";
import type { Persona } from "../lib/wire.d.ts";

addEnglish(words);

export function Personas() {
  const all = useSignal<Persona[] | null>(null);
  /** The id of the persona being edited; null: none, "": a new one. */
  const changing = useSignal<string | null>(null);
  const read = async () => {
    const found = await readPersonas();
    if (found) all.value = found;
  };
  useEffect(() => void read(), []);
  const done = () => ((changing.value = null), void read());
  const at = changing.value;
  const title = t(at === null ? "command.personas" : at ? "persona.change" : "persona.new");
  const inside =
    all.value === null ? (
      <LoadingRows rows={3} />
    ) : at === null ? (
      <List all={all.value} changing={changing} read={read} />
    ) : (
      <Form
        persona={all.value.find(({ id }) => id === at) ?? null}
        onSaved={done}
        onCancel={() => (changing.value = null)}
      />
    );
  return (
    <Modal title={title} class="wide" keeps={at !== null}>
      {inside}
    </Modal>
  );
}

interface ListProps {
  all: Persona[];
  changing: Signal<string | null>;
  read: () => void;
}

const List = ({ all, changing, read }: ListProps) => (
  <div class="stash">
    <p class="aside">{t("persona.text")}</p>
    {all.length === 0 ? (
      <EmptyState symbol="user" title={t("persona.none")} />
    ) : (
      <ul>
        {all.map((persona) => (
          <Row key={persona.id} persona={persona} changing={changing} read={read} />
        ))}
      </ul>
    )}
    <div class="actions">
      {session.value?.personaId && (
        <button type="button" onClick={() => setSessionPersona(null)}>
          {t("persona.nobody")}
        </button>
      )}
      <button type="button" class="primary" onClick={() => (changing.value = "")}>
        {icon("plus")}
        <span>{t("persona.new")}</span>
      </button>
    </div>
  </div>
);

interface RowProps {
  persona: Persona;
  changing: Signal<string | null>;
  read: () => void;
}

function Row({ persona, changing, read }: RowProps) {
  const { id, name, description, avatar } = persona;
  const isPlayed = session.value?.personaId === id;
  return (
    <li class="fragment persona">
      <article aria-label={name}>
        <Avatar name={name} src={avatar} />
        <div>
          <h3>
            {name}
            {isPlayed && (
              <>
                {" "}
                <span class="chip on">{t("persona.played")}</span>
              </>
            )}
          </h3>
          {description && <p class="aside">{description}</p>}
        </div>
        <div class="actions">
          {session.value && !isPlayed && (
            <button type="button" onClick={() => setSessionPersona(id)}>
              {icon("play")}
              <span>{t("persona.play")}</span>
            </button>
          )}
          <button type="button" onClick={() => (changing.value = id)}>
            {icon("edit")}
            <span>{t("persona.change")}</span>
          </button>
          <button
            type="button"
            class="round"
            aria-label={t("persona.delete", { name })}
            title={t("persona.delete", { name })}
            onClick={() => removePersona(persona, read)}
          >
            {icon("trash")}
          </button>
        </div>
      </article>
    </li>
  );
}

interface FormProps {
  persona: Persona | null;
  onSaved: () => void;
  onCancel: () => void;
}

function Form({ persona, onSaved, onCancel }: FormProps) {
  const picture = useSignal<File | null>(null);
  const keyFor = useRef(idempotencyKeys()).current;
  const busy = useRef(false);
  const save = async (event: Event) => {
    event.preventDefault();
    if (busy.current) return;
    busy.current = true;
    const input = new FormData(event.target as HTMLFormElement);
    const text = (name: string) =>
      String(input.get(name) ?? "")
        .replaceAll("\r\n", "\n")
        .trim();
    const saved = await savePersona(
      persona?.id ?? null,
      { name: text("name"), description: text("description") },
      picture.peek(),
      keyFor,
    );
    busy.current = false;
    if (saved) onSaved();
  };
  const choose = (event: Event) => (picture.value = (event.target as HTMLInputElement).files?.[0] ?? null);
  return (
    <form onSubmit={save}>
      <div class="picture">
        <Avatar name={persona?.name} src={persona?.avatar ?? null} symbol={persona ? "" : "user"} />
        <label>
          {t("character.picture")}
          <input type="file" accept="image/png,image/jpeg,image/webp,image/gif" onChange={choose} />
        </label>
      </div>
      <label>
        {t("character.name")}
        <input name="name" required maxlength={200} autofocus defaultValue={persona?.name ?? ""} />
      </label>
      <label>
        {t("persona.description")}
        <textarea name="description" rows={5} defaultValue={persona?.description ?? ""} />
        <small>{t("persona.descriptionHint")}</small>
      </label>
      <div class="actions">
        <button type="button" onClick={onCancel}>
          {t("cancel")}
        </button>
        <button type="submit" class="primary">
          {t("save")}
        </button>
      </div>
    </form>
  );
}

/** Renders the choice of the persona for a new story; nothing if there is no persona. */
export function PersonaChoice() {
  const all = useSignal<Persona[]>([]);
  useEffect(() => void readPersonas().then((found) => found && (all.value = found)), []);
  return all.value.length === 0 ? null : (
    <label>
      {t("persona.who")}
      <select name="persona">
        <option value="">{t("persona.nobody")}</option>
        {all.value.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
