// Personas: the list, the form for one, and the choice for a story. Loaded when first opened.
import { Fragment, h, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import {
  choosePersona,
  readCharacters,
  readPersonaChoices,
  readPersonas,
  removePersona,
  savePersona,
  setSessionPersona,
} from "../actions/personas.ts";
import { excerpt } from "../lib/excerpt.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-cards.ts";
import { idempotencyKeys } from "../lib/idempotency-keys.ts";
import { session } from "../model/session-store.ts";
import { Avatar, EmptyState, Modal, LoadingRows, icon } from "./common.tsx";
import type { Signal } from "../../vendor/preact.js";
import type { Character, Id, Persona, PersonaChoices } from "../lib/wire.d.ts";

addEnglish(words);

export function Personas() {
  const all = useSignal<Persona[] | null>(null);
  /** The id of the persona being edited; null: none, "": a new one. */
  const changing = useSignal<string | null>(null);
  const choices = useSignal<PersonaChoices>({ defaultId: null, locks: [] });
  const characters = useSignal<Character[]>([]);
  const read = async () => {
    const [found, chosen] = await Promise.all([readPersonas(), readPersonaChoices()]);
    if (chosen) choices.value = chosen;
    if (found) all.value = found;
  };
  useEffect(() => void readCharacters().then((found) => found && (characters.value = found)), []);
  useEffect(() => void read(), []);
  const done = () => ((changing.value = null), void read());
  const at = changing.value;
  const title = t(at === null ? "command.personas" : at ? "persona.change" : "persona.new");
  const inside =
    all.value === null ? (
      <LoadingRows rows={3} />
    ) : at === null ? (
      <List all={all.value} choices={choices} characters={characters.value} changing={changing} read={read} />
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
  /** The default persona, and those that are locked to characters. */
  choices: Signal<PersonaChoices>;
  characters: Character[];
  changing: Signal<string | null>;
  read: () => void;
}

const List = ({ all, choices, characters, changing, read }: ListProps) => (
  <div class="stash">
    <p class="aside">{t("persona.text")}</p>
    {all.length === 0 ? (
      <EmptyState symbol="user" title={t("persona.none")} />
    ) : (
      <ul>
        {all.map((persona) => (
          <Row
            key={persona.id}
            persona={persona}
            choices={choices}
            characters={characters}
            changing={changing}
            read={read}
          />
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

interface RowProps extends Omit<ListProps, "all"> {
  persona: Persona;
}

function Row({ persona, choices, characters, changing, read }: RowProps) {
  const { id, name, description, avatar } = persona;
  const isPlayed = session.value?.personaId === id;
  const isDefault = choices.value.defaultId === id;
  const choose = async (characterId: Id | null, personaId: Id | null) => {
    const chosen = await choosePersona(characterId, personaId);
    if (chosen) choices.value = chosen;
  };
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
            {isDefault && (
              <>
                {" "}
                <span class="chip">{t("persona.default")}</span>
              </>
            )}
          </h3>
          {description && <p class="aside">{description}</p>}
          <Locks
            characters={characters}
            ids={choices.value.locks.filter(({ personaId }) => personaId === id).map(({ characterId }) => characterId)}
            lock={(characterId) => choose(characterId, id)}
            unlock={(characterId) => choose(characterId, null)}
          />
        </div>
        <div class="actions">
          {session.value && !isPlayed && (
            <button type="button" onClick={() => setSessionPersona(id)}>
              {icon("play")}
              <span>{t("persona.play")}</span>
            </button>
          )}
          <button type="button" onClick={() => choose(null, isDefault ? null : id)}>
            <span>{t(isDefault ? "persona.noDefault" : "persona.makeDefault")}</span>
          </button>
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

interface LocksProps {
  characters: Character[];
  /** The characters that the persona is locked to. */
  ids: Id[];
  lock: (id: Id) => Promise<void>;
  unlock: (id: Id) => Promise<void>;
}

/** Renders the characters that a persona is locked to, and a list to lock it to another one. */
function Locks({ characters, ids, lock, unlock }: LocksProps) {
  const choice = useRef<HTMLSelectElement | null>(null);
  if (characters.length === 0) return null;
  const nameOf = (id: Id) => excerpt(characters.find((one) => one.id === id)?.name ?? id, 60);
  const drop = async (id: Id) => {
    await unlock(id);
    // The button with the focus disappears.
    choice.current?.focus();
  };
  const choose = async () => {
    const id = choice.current?.value;
    if (choice.current) choice.current.value = "";
    if (id) await lock(id);
  };
  return (
    <details>
      <summary>
        {t("persona.locks")}
        {ids.length > 0 && `: ${ids.map(nameOf).join(", ")}`}
      </summary>
      <p class="aside">{t("persona.locksHint")}</p>
      {ids.length > 0 && (
        <ul class="chips">
          {ids.map((id) => (
            <li key={id} class="chip">
              <span>{nameOf(id)}</span>
              <button
                type="button"
                aria-label={t("persona.unlock", { name: nameOf(id) })}
                title={t("persona.unlock", { name: nameOf(id) })}
                onClick={() => drop(id)}
              >
                {icon("close")}
              </button>
            </li>
          ))}
        </ul>
      )}
      <select ref={choice} aria-label={t("persona.lock")} onChange={choose}>
        <option value="">{t("persona.lock")}</option>
        {characters
          .filter(({ id }) => !ids.includes(id))
          .map(({ id, name }) => (
            <option key={id} value={id}>
              {excerpt(name, 60)}
            </option>
          ))}
      </select>
    </details>
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

/**
 * Renders the choice of the persona for a new story; nothing if there is no persona. The one that is locked to the
 * character is chosen, else the default one.
 */
export function PersonaChoice({ characterId }: { characterId: Id }) {
  const all = useSignal<Persona[]>([]);
  const chosen = useSignal<Id | null>(null);
  useEffect(() => {
    const read = async () => {
      const [found, choices] = await Promise.all([readPersonas(), readPersonaChoices()]);
      if (!found || !choices) return;
      const lock = choices.locks.find((one) => one.characterId === characterId);
      chosen.value = lock?.personaId ?? choices.defaultId;
      all.value = found;
    };
    void read();
  }, [characterId]);
  return all.value.length === 0 ? null : (
    <label>
      {t("persona.who")}
      <select name="persona">
        <option value="">{t("persona.nobody")}</option>
        {all.value.map(({ id, name }) => (
          <option key={id} value={id} selected={id === chosen.value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
