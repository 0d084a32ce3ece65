// The rules of the open story: which plugins play, with which settings, and what they may do.
import { addEnglish, t } from "../lib/i18n.ts";
import { dialog, openDialog, tell } from "../model/page.ts";
import * as story from "../model/story.ts";
import { session as readSession } from "../net/api.ts";
import * as api from "../net/rules.ts";
import { plugin, plugins } from "../net/workshop.ts";
import { register } from "./commands.ts";
import { attempt } from "./failure.ts";
import { hear, readShown, refresh } from "./follow.ts";
import type { Failure, PluginChoice, PluginInfo } from "../lib/wire.d.ts";

/** What can play, and how the open story has it set now. */
export async function readRules() {
  const open = story.session.peek();
  const [all, now] = await Promise.all([plugins(), open ? readSession(open.id) : null]);
  return { all, chosen: now?.plugins ?? [] };
}

/** One with its settings; null where that cannot be read. */
export const readSettings = (id: string) => plugin(id).catch(() => null);

const spelled = (list: PluginChoice[] | undefined) =>
  JSON.stringify(
    (list ?? []).map(({ id, enabled = true, config = {}, grants = [] }) => [
      id,
      enabled,
      Object.entries(config).sort(),
      [...grants].sort(),
    ]),
  );

/**
 * Sets the rules of the open story, unless somebody else has set them since they were read.
 * @returns what is probably not meant so, though it plays
 */
export const keepRules = (wanted: PluginChoice[], was: PluginChoice[]): Promise<Failure[] | "changed" | undefined> =>
  attempt(async () => {
    const sid = story.session.peek()?.id ?? "";
    const now = await readSession(sid);
    if (spelled(now.plugins) !== spelled(was)) return "changed";
    const { plugins: kept, problems } = await api.setPlugins(sid, wanted);
    if (story.session.peek()?.id === sid) story.putSession({ plugins: kept });
    await refresh();
    return problems;
  });

/** Who keeps the values of the open story from now on. */
export async function keepValuesBy(model: string | null) {
  const open = story.session.peek();
  const changed = open && (await attempt(() => api.setValuesModel(open.id, model)));
  if (changed && story.session.peek()?.id === changed.id)
    story.putSession({ valuesModel: changed.valuesModel ?? null });
}

// What new code asks for that the story has not allowed

/** What is not allowed to a plugin and was not refused knowingly. */
const wantsMore = ({ permissions = [] }: PluginInfo, { grants = [], refused = [] }: PluginChoice) =>
  permissions.filter(({ name }) => !grants.includes(name) && !refused.includes(name));

/** Choices with what was looked at and not allowed, so that nobody is asked for it again. */
export const withRefused = (all: PluginInfo[], wanted: PluginChoice[]): PluginChoice[] =>
  wanted.map((choice) => {
    const asked = (all.find(({ id }) => id === choice.id)?.permissions ?? []).map(({ name }) => name);
    const { grants = asked } = choice;
    return { ...choice, refused: asked.filter((name) => !grants.includes(name)) };
  });

const isAnyPlaying = (ids: string[]) =>
  (story.session.peek()?.plugins ?? []).some(({ id, enabled = true }) => enabled && ids.includes(id));

hear((frame) => {
  if (frame.type === "plugins.changed" && isAnyPlaying(frame.ids)) void readShown().then(askForMore);
});

/** Asks where the code of a plugin that plays wants more than the story allows it. Quiet where that cannot be read. */
export async function askForMore() {
  const open = story.session.peek();
  const playing = (open?.plugins ?? []).filter(({ enabled = true }) => enabled);
  if (!open || playing.length === 0 || dialog.peek()?.kind === "rules") return;
  const all = await plugins().catch(() => []);
  if (story.session.peek()?.id !== open.id) return;
  const asking = playing.flatMap((choice) => {
    const info = all.find(({ id }) => id === choice.id);
    return info && wantsMore(info, choice).length > 0 ? [info.title || info.id] : [];
  });
  if (asking.length === 0) return;
  // Their words come with the dialog, which nobody may have opened.
  addEnglish((await import("../lib/strings/en-rules.ts")).default);
  tell({
    tone: "quiet",
    stays: true,
    text: t("storyRules.wantsMore", { names: asking.join(", ") }),
    act: { label: "storyRules.look", run: () => openDialog({ kind: "rules" }) },
  });
}

register({
  id: "session.rules",
  label: "command.rules",
  icon: "dice",
  scope: "page",
  enabled: () => story.session.value !== null,
  run: () => openDialog({ kind: "rules" }),
});
