// The dialog for folder and tags of one story or of several.
import { h, useSignal } from "../../vendor/preact.js";
import { arrangeSession, changeSessions } from "../actions/session-list.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-session-list.ts";
import { sessions } from "../model/library.ts";
import { openDialog } from "../model/page.ts";
import { folders, tags } from "../model/session-list.ts";
import { Modal } from "./common.tsx";
import { takeFocus } from "./confirmation.tsx";
import type { Id, Session, SessionsChange } from "../lib/wire.d.ts";

addEnglish(words);

/** Limits of the server. */
const MAX_FOLDER = 100;
const MAX_TAG = 60;

export function ArrangeSessions({ ids }: { ids: Id[] }) {
  const [first] = ids;
  const one = ids.length === 1 ? sessions.peek().find(({ id }) => id === first) : undefined;
  return (
    <Modal title={t("stories.arrange").replace("…", "")}>{one ? <One session={one} /> : <Many ids={ids} />}</Modal>
  );
}

const Buttons = () => (
  <div class="actions">
    <button type="button" onClick={() => openDialog(null)}>
      {t("cancel")}
    </button>
    <button type="submit" class="primary">
      {t("save")}
    </button>
  </div>
);

const Names = ({ id, names }: { id: string; names: { name: string }[] }) => (
  <datalist id={id}>
    {names.map(({ name }) => (
      <option key={name} value={name} />
    ))}
  </datalist>
);

const field = (event: Event, name: string) =>
  String(new FormData(event.target as HTMLFormElement).get(name) ?? "").trim();

function One({ session }: { session: Session }) {
  const save = (event: Event) => {
    event.preventDefault();
    const list = field(event, "tags")
      .split(/[,，、]/)
      .map((tag) => tag.trim())
      .filter(Boolean);
    void arrangeSession(session, { folder: field(event, "folder") || null, tags: [...new Set(list)] });
  };
  return (
    <form onSubmit={save}>
      <label>
        {t("stories.folder")}
        <input
          name="folder"
          list="story-folders"
          maxlength={MAX_FOLDER}
          ref={takeFocus}
          defaultValue={session.folder ?? ""}
        />
        <small>{t("stories.folderHint")}</small>
      </label>
      <label>
        {t("stories.tags")}
        <input name="tags" list="story-tags" defaultValue={session.tags.join(", ")} />
        <small>{t("stories.tagsHint")}</small>
      </label>
      <Names id="story-folders" names={folders.value} />
      <Names id="story-tags" names={tags.value} />
      <Buttons />
    </form>
  );
}

/** What happens to the folders of several stories, besides the folders that exist. */
const KEEP = "keep";
const NONE = "none";
const OTHER = "other";
/** Stands before the name of an existing folder. */
const IN = "in ";

function Many({ ids }: { ids: Id[] }) {
  const choice = useSignal(KEEP);
  const save = (event: Event) => {
    event.preventDefault();
    const [chosen = KEEP, name = "", added, removed] = ["choice", "folder", "add", "remove"].map((one) =>
      field(event, one),
    );
    const changes: Omit<SessionsChange, "ids">[] = [];
    if (chosen === NONE) changes.push({ action: "move", folder: null });
    if (chosen === OTHER) changes.push({ action: "move", folder: name });
    if (chosen.startsWith(IN)) changes.push({ action: "move", folder: chosen.slice(IN.length) });
    if (added) changes.push({ action: "tag", tag: added });
    if (removed) changes.push({ action: "untag", tag: removed });
    if (changes.length > 0) void changeSessions(ids, changes);
    else openDialog(null);
  };
  return (
    <form onSubmit={save}>
      <p>{t("stories.selected", { n: ids.length })}</p>
      <label>
        {t("stories.folder")}
        <select
          name="choice"
          value={choice.value}
          onChange={(event: Event) => (choice.value = (event.target as HTMLSelectElement).value)}
        >
          <option value={KEEP}>{t("stories.folderKeeps")}</option>
          <option value={NONE}>{t("stories.folderNone")}</option>
          {folders.value.map(({ name }) => (
            <option key={name} value={IN + name}>
              {name}
            </option>
          ))}
          <option value={OTHER}>{t("stories.folderNew")}</option>
        </select>
      </label>
      {choice.value === OTHER && (
        <label>
          {t("stories.folderName")}
          <input name="folder" required maxlength={MAX_FOLDER} />
        </label>
      )}
      <label>
        {t("stories.tagAdd")}
        <input name="add" list="story-tags" maxlength={MAX_TAG} />
      </label>
      <label>
        {t("stories.tagRemove")}
        <input name="remove" list="story-tags" maxlength={MAX_TAG} />
      </label>
      <Names id="story-tags" names={tags.value} />
      <Buttons />
    </form>
  );
}
