// The editor of a character: texts, greetings, tags and picture.
import { h, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { changeCharacter, readCharacter } from "../actions/cards.ts";
import { setImagePermission, readImagePermission } from "../actions/remote-images.ts";
import { showChatsOf } from "../actions/session-list.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-cards.ts";
import versions from "../lib/strings/en-card-versions.ts";
import sessionList from "../lib/strings/en-session-list.ts";
import outside from "../lib/strings/en-remote-images.ts";
import { imagePermissionOf } from "../model/remote-images.ts";
import { openDialog } from "../model/page.ts";
import { EmbeddedPluginDialog } from "./embedded-plugin.tsx";
import { Avatar, Modal, LoadingRows, icon, lazyView } from "./common.tsx";
import type { Signal } from "../../vendor/preact.js";
import type { Character, Unchecked } from "../lib/wire.d.ts";

addEnglish(words);
addEnglish(versions);
addEnglish(sessionList);
addEnglish(outside);

/** The text fields: name in the API, and height in rows. */
const TEXTS = [
  ["description", 6],
  ["personality", 2],
  ["scenario", 3],
  ["firstMessage", 4],
] as const;
const MORE = [
  ["exampleMessages", 5],
  ["systemPrompt", 3],
  ["postHistoryInstructions", 3],
  ["creatorNotes", 3],
] as const;

export function EditCharacter({ characterId }: { characterId: string }) {
  const whole = useSignal<Character | null>(null);
  useEffect(
    () =>
      void Promise.all([readCharacter(characterId), readImagePermission(characterId)]).then(([found]) =>
        found ? (whole.value = found) : openDialog(null),
      ),
    [],
  );
  const title = t("character.edit");
  return whole.value ? (
    <Modal title={title} class="wide" keeps>
      <Form character={whole.value} />
    </Modal>
  ) : (
    <Modal title={title}>
      <LoadingRows rows={4} />
    </Modal>
  );
}

function Form({ character }: { character: Character }) {
  const greetings = useSignal(character.alternateGreetings.map((text, n) => ({ n, text })));
  const picture = useSignal<File | null>(null);
  const save = async (event: Event) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    const shows = ANSWERS.find(([name]) => name === form.get("outside"));
    if (
      shows &&
      shows[1] !== (imagePermissionOf(character.id).peek().allowed ?? null) &&
      !(await setImagePermission(character.id, shows[1]))
    )
      return;
    const text = (name: string) => String(form.get(name) ?? "").replaceAll("\r\n", "\n");
    const texts = Object.fromEntries([...TEXTS, ...MORE].map(([name]) => [name, text(name)]));
    const tags = text("tags")
      .split(/[,，、\n]/)
      .map((tag) => tag.trim())
      .filter(Boolean);
    const alternateGreetings = form
      .getAll("greeting")
      .map((greeting) => String(greeting).replaceAll("\r\n", "\n"))
      .filter((greeting) => greeting.trim());
    const changes = { ...texts, ...scriptsAnswer(form), name: text("name"), tags, alternateGreetings };
    void changeCharacter(character.id, changes, picture.value);
  };
  const field = ([name, rows]: (typeof TEXTS)[number] | (typeof MORE)[number]) => (
    <label key={name}>
      {t(`character.${name}`)}
      <textarea name={name} rows={rows} defaultValue={character[name]} />
    </label>
  );
  return (
    <form onSubmit={save}>
      <Picture character={character} picture={picture} />
      <label>
        {t("character.name")}
        <input name="name" required maxlength={200} autofocus defaultValue={character.name} />
      </label>
      {TEXTS.map(field)}
      <Greetings greetings={greetings} />
      <label>
        {t("character.tags")}
        <input name="tags" defaultValue={character.tags.join(", ")} />
        <small>{t("character.tagsHint")}</small>
      </label>
      <details>
        <summary>{t("character.more")}</summary>
        {MORE.map(field)}
      </details>
      <ImagePermissionField characterId={character.id} />
      <ScriptConsentField character={character} />
      <EmbeddedPluginDialog characterId={character.id} />
      <Versions characterId={character.id} />
      <div class="actions">
        <button type="button" onClick={() => showChatsOf(character.id)}>
          {icon("chat")}
          <span>{t("stories.chatsOfThis")}</span>
        </button>
        <button type="button" onClick={() => openDialog(null)}>
          {t("cancel")}
        </button>
        <button type="submit" class="primary">
          {t("save")}
        </button>
      </div>
    </form>
  );
}

const CardVersionList = lazyView(() => import("./card-versions.tsx").then((module) => module.CardVersionList));

/** The versions of the card, read when they are opened. */
function Versions({ characterId }: { characterId: string }) {
  const isOpen = useSignal(false);
  const toggle = (event: Event) => (isOpen.value = (event.target as HTMLDetailsElement).open);
  return (
    <details onToggle={toggle}>
      <summary>{t("cardVersions.open")}</summary>
      {isOpen.value && <CardVersionList characterId={characterId} />}
    </details>
  );
}

/** The choices for pictures from other servers; `null` = ask. */
const ANSWERS: [name: "ask" | "yes" | "no", allowed: boolean | null][] = [
  ["ask", null],
  ["yes", true],
  ["no", false],
];

function ImagePermissionField({ characterId }: { characterId: string }) {
  const allowed = imagePermissionOf(characterId).value.allowed ?? null;
  return (
    <label>
      {t("outside.setting")}
      <select name="outside">
        {ANSWERS.map(([name, says]) => (
          <option key={name} value={name} selected={says === allowed}>
            {t(`outside.setting.${name}`)}
          </option>
        ))}
      </select>
      <small>{t("outside.settingHint")}</small>
    </label>
  );
}

/** The choices for the regex scripts of a card. A card asks only until there is an answer. */
const SCRIPT_ANSWERS = ["ask", "yes", "no"] as const;

/** Returns the answer about the scripts of the card, if there is one. */
function scriptsAnswer(form: FormData) {
  const answer = form.get("scripts");
  return answer === "yes" || answer === "no" ? { regexScripts: answer === "yes" } : {};
}

function ScriptConsentField({ character }: { character: Character }) {
  const scripts: Unchecked = character.metadata.extensions;
  if (!Array.isArray(scripts?.regex_scripts) || scripts.regex_scripts.length === 0) return null;
  const asks = character.requestedSettings !== null;
  const now = asks ? "ask" : character.regexScripts ? "yes" : "no";
  return (
    <label>
      {t("character.scripts")}
      <select name="scripts">
        {SCRIPT_ANSWERS.filter((name) => asks || name !== "ask").map((name) => (
          <option key={name} value={name} selected={name === now}>
            {t(`character.scripts.${name}`)}
          </option>
        ))}
      </select>
      <small>{t("character.scriptsHint")}</small>
    </label>
  );
}

function Picture({ character, picture }: { character: Character; picture: Signal<File | null> }) {
  const choose = (event: Event) => {
    picture.value = (event.target as HTMLInputElement).files?.[0] ?? null;
  };
  return (
    <div class="picture">
      <Avatar name={character.name} src={character.avatar ?? null} />
      <label>
        {t("character.picture")}
        <input type="file" accept="image/png,image/jpeg,image/webp,image/gif" onChange={choose} />
      </label>
    </div>
  );
}

function Greetings({ greetings }: { greetings: Signal<{ n: number; text: string }[]> }) {
  const add = () =>
    (greetings.value = [...greetings.value, { n: Math.max(0, ...greetings.value.map(({ n }) => n)) + 1, text: "" }]);
  const drop = (n: number) => (greetings.value = greetings.value.filter((greeting) => greeting.n !== n));
  const list = useRef<HTMLFieldSetElement | null>(null);
  /** The button that gets the focus after a move, because the browser drops it when the row moves. */
  const wanted = useRef<string | null>(null);
  const move = (i: number, by: 1 | -1) => {
    const all = [...greetings.value];
    all.splice(i + by, 0, ...all.splice(i, 1));
    wanted.current = `${all[i + by]?.n} ${by}`;
    greetings.value = all;
  };
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    list.current?.querySelector<HTMLElement>(`[data-move="${wanted.current}"]`)?.focus();
    wanted.current = null;
  });
  const mover = (n: number, i: number, by: 1 | -1) => {
    const label = t(by < 0 ? "character.raiseGreeting" : "character.lowerGreeting", { n: i + 2 });
    const isOff = i + by < 0 || i + by >= greetings.value.length;
    return (
      <button
        type="button"
        class="round small"
        data-act={by < 0 ? "up" : "down"}
        data-move={`${n} ${by}`}
        aria-label={label}
        title={label}
        aria-disabled={isOff ? "true" : undefined}
        onClick={() => isOff || move(i, by)}
      >
        {icon(by < 0 ? "left" : "right")}
      </button>
    );
  };
  return (
    <fieldset ref={list}>
      <legend>{t("character.greetings")}</legend>
      {greetings.value.map(({ n, text }, i) => (
        <div key={n} class="greeting">
          <textarea name="greeting" rows={3} aria-label={t("character.greeting", { n: i + 2 })} defaultValue={text} />
          <div class="prompt-tools">
            {mover(n, i, -1)}
            {mover(n, i, 1)}
          </div>
          <button
            type="button"
            class="round"
            aria-label={t("character.dropGreeting", { n: i + 2 })}
            title={t("character.dropGreeting", { n: i + 2 })}
            onClick={() => drop(n)}
          >
            {icon("trash")}
          </button>
        </div>
      ))}
      <button type="button" onClick={add}>
        {icon("plus")}
        <span>{t("character.addGreeting")}</span>
      </button>
    </fieldset>
  );
}
