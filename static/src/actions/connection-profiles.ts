// Connection profiles: listing, choosing one for the open story, saving, renaming and deleting.
import { profileNamed, settingsOf } from "../lib/connection-profiles.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-profiles.ts";
import { notify, openDialog } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/connection-profiles.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import type { ConnectionProfile, Id } from "../lib/wire.d.ts";

addEnglish(words);

/** Reads all profiles, by name. */
export const readProfiles = () =>
  attempt(async () => {
    const all: ConnectionProfile[] = [];
    for (let next = undefined as string | null | undefined; next !== null; ) {
      const page = await api.profiles(next);
      all.push(...page.items);
      next = page.next;
    }
    return all;
  });

/** Lets the open story take over the settings of a profile; null: no profile, and the settings stay. */
export async function chooseProfile(profileId: Id | null): Promise<boolean> {
  const open = store.session.peek();
  const changed = open && (await attempt(() => api.setSessionProfile(open.id, profileId)));
  if (changed && store.session.peek()?.id === changed.id) {
    const { model, params, presetId, summaries, valuesModel, profileIsChanged } = changed;
    const chosen = changed.profileId;
    store.updateSession({ model, params, presetId, summaries, valuesModel, profileId: chosen, profileIsChanged });
  }
  return Boolean(changed);
}

/**
 * Saves the settings of the open story as a new profile, which the story then has.
 * @param keyFor returns the idempotency key of a request
 */
export async function saveAsProfile(name: string, keyFor: (request: unknown) => string): Promise<boolean> {
  const open = store.session.peek();
  if (!open) return false;
  const fields = { name, ...settingsOf(open) };
  const saved = await attempt(() => api.create(fields, keyFor(fields)));
  return Boolean(saved && (await chooseProfile(saved.id)));
}

/** Saves the settings of the open story in a profile. */
export async function updateProfile(id: Id): Promise<boolean> {
  const open = store.session.peek();
  const saved = open && (await attempt(() => api.change(id, settingsOf(open))));
  return Boolean(saved && (await chooseProfile(id)));
}

export const renameProfile = (id: Id, name: string) => attempt(() => api.change(id, { name }));

/** Deletes a profile. Stories keep their settings. */
export async function removeProfile(id: Id): Promise<boolean> {
  const isGone = await attempt(async () => (await api.remove(id), true));
  if (isGone && store.session.peek()?.profileId === id) store.updateSession({ profileId: null });
  return isGone === true;
}

/**
 * Runs the slash command for profiles.
 * @param typed the name of a profile; empty opens the dialog
 * @returns whether it was done
 */
export async function runProfileCommand(typed: string): Promise<boolean> {
  if (!typed.trim()) return (openDialog({ kind: "profiles" }), true);
  const all = await readProfiles();
  if (!all) return false;
  const wanted = profileNamed(all, typed);
  if (!wanted) {
    const names = all.map(({ name }) => name).join(", ");
    const hint = names ? t("profile.known", { names }) : t("profile.noneYet");
    notify({ tone: "error", text: t("profile.unknown", { name: typed.trim() }), hint });
    return false;
  }
  const isDone = await chooseProfile(wanted.id);
  if (isDone) notify({ tone: "quiet", text: t("profile.chosen", { name: wanted.name }) });
  return isDone;
}

register({
  id: "session.profile",
  label: "command.profile",
  icon: "plug",
  scope: "page",
  enabled: () => store.session.value !== null,
  run: () => openDialog({ kind: "profiles" }),
});
