// The connection profile of the open story: its choice, and saving, renaming and deleting profiles. Loaded when first
// opened.
import { h, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import {
  chooseProfile,
  readProfiles,
  removeProfile,
  renameProfile,
  saveAsProfile,
  updateProfile,
} from "../actions/connection-profiles.ts";
import { isChanged } from "../lib/connection-profiles.ts";
import { t } from "../lib/i18n.ts";
import { idempotencyKeys } from "../lib/idempotency-keys.ts";
import { session } from "../model/session-store.ts";
import { Confirmation, takeFocus } from "./confirmation.tsx";
import { LoadingRows, Modal, icon } from "./common.tsx";
import type { ConnectionProfile, Id, Session } from "../lib/wire.d.ts";

export const ConnectionProfiles = () => (
  <Modal title={t("command.profile")}>
    <ProfileChoice />
  </Modal>
);

/** Renders the choice with its buttons; a choice takes effect at once. */
export function ProfileChoice() {
  const all = useSignal<ConnectionProfile[] | null>(null);
  const read = async () => {
    const found = await readProfiles();
    if (found) all.value = found;
  };
  useEffect(() => void read(), []);
  const open = session.value;
  if (!open) return null;
  if (all.value === null) return <LoadingRows rows={2} />;
  return <Choice story={open} all={all.value} read={read} />;
}

interface ChoiceProps {
  story: Session;
  all: ConnectionProfile[];
  read: () => Promise<void>;
}

function Choice({ story, all, read }: ChoiceProps) {
  /** What is asked for: the name of a new profile, another name for the chosen one, or whether to delete it. */
  const asks = useSignal<"new" | "name" | "delete" | null>(null);
  const keyFor = useRef(idempotencyKeys()).current;
  const chosen = all.find(({ id }) => id === story.profileId) ?? null;
  const differs = chosen !== null && isChanged(story, chosen);
  const choose = (event: Event) => void chooseProfile((event.target as HTMLSelectElement).value || null);
  const after = async (work: Promise<unknown>) => {
    if (!(await work)) return;
    asks.value = null;
    await read();
  };
  return (
    <section class="profiles" aria-label={t("command.profile")}>
      <label>
        {t("command.profile")}
        <select name="profile" value={chosen?.id ?? ""} onChange={choose}>
          <option value="">{t("profile.none")}</option>
          {all.map(({ id, name }) => (
            <option key={id} value={id} selected={id === chosen?.id}>
              {name}
            </option>
          ))}
        </select>
        <small>{t("profile.text")}</small>
      </label>
      {differs && (
        <p class="aside" role="status">
          {t("profile.changed")}
        </p>
      )}
      {asks.value === null && (
        <ProfileButtons
          chosen={chosen?.id ?? null}
          differs={differs}
          ask={(what) => (asks.value = what)}
          after={after}
        />
      )}
      {asks.value === "delete" && chosen && (
        <Confirmation
          text={t("profile.delete", { name: chosen.name })}
          confirmLabel={t("profile.remove")}
          cancelLabel={t("cancel")}
          onConfirm={() => after(removeProfile(chosen.id))}
          onCancel={() => (asks.value = null)}
        />
      )}
      {(asks.value === "new" || (asks.value === "name" && chosen)) && (
        <NameForm
          key={asks.value}
          now={asks.value === "name" ? (chosen?.name ?? "") : ""}
          taken={all.map(({ name }) => name)}
          save={(name) =>
            after(asks.peek() === "name" && chosen ? renameProfile(chosen.id, name) : saveAsProfile(name, keyFor))
          }
          cancel={() => (asks.value = null)}
        />
      )}
    </section>
  );
}

interface ProfileButtonsProps {
  chosen: Id | null;
  differs: boolean;
  ask: (what: "new" | "name" | "delete") => unknown;
  after: (work: Promise<unknown>) => Promise<void>;
}

const ProfileButtons = ({ chosen, differs, ask, after }: ProfileButtonsProps) => (
  <div class="actions start">
    <button type="button" onClick={() => ask("new")}>
      {icon("plus")}
      <span>{t("profile.saveAs")}</span>
    </button>
    {chosen && differs && (
      <button type="button" onClick={() => after(updateProfile(chosen))}>
        {icon("check")}
        <span>{t("profile.update")}</span>
      </button>
    )}
    {chosen && (
      <button type="button" onClick={() => ask("name")}>
        {icon("edit")}
        <span>{t("profile.rename")}</span>
      </button>
    )}
    {chosen && (
      <button type="button" onClick={() => ask("delete")}>
        {icon("trash")}
        <span>{t("profile.remove")}</span>
      </button>
    )}
  </div>
);

interface NameFormProps {
  now: string;
  taken: string[];
  save: (name: string) => Promise<void>;
  cancel: () => unknown;
}

function NameForm({ now, taken, save, cancel }: NameFormProps) {
  const busy = useRef(false);
  const isTaken = useSignal(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    const name = String(new FormData(event.target as HTMLFormElement).get("profileName") ?? "").trim();
    isTaken.value = name !== now && taken.includes(name);
    if (!name || isTaken.peek() || busy.current) return;
    busy.current = true;
    await save(name);
    busy.current = false;
  };
  return (
    <form onSubmit={submit}>
      <label>
        {t("profile.name")}
        <input
          name="profileName"
          required
          maxlength={100}
          ref={takeFocus}
          defaultValue={now}
          aria-invalid={isTaken.value}
          onInput={() => (isTaken.value = false)}
        />
      </label>
      {isTaken.value && (
        <p class="bad" role="alert">
          {t("profile.taken")}
        </p>
      )}
      <div class="actions">
        <button type="button" onClick={cancel}>
          {t("cancel")}
        </button>
        <button type="submit" class="primary">
          {t("save")}
        </button>
      </div>
    </form>
  );
}
