// The question about what an imported file brought: the settings of a story, or the scripts of a preset. Loaded when
// first opened.
import { h, useRef } from "../../vendor/preact.js";
import {
  answerPresetScripts,
  answerRequestedSettings,
  askForRequestedSettings,
  grantsKey,
  readPresetScripts,
  readRequestContext,
} from "../actions/requested-settings.ts";
import { askForPermissions } from "../actions/session-plugins.ts";
import { addEnglish, locale, t } from "../lib/i18n.ts";
import plugins from "../lib/strings/en-plugins.ts";
import words from "../lib/strings/en-requested-settings.ts";
import { chatModels } from "../model/library.ts";
import { openDialog } from "../model/page.ts";
import { session } from "../model/session-store.ts";
import { ApiError } from "../net/api.ts";
import { LoadingRows, Modal } from "./common.tsx";
import { QueryError, useQuery } from "./use-query.tsx";
import type { Id, PluginInfo, RequestedSettings as Requested } from "../lib/wire.d.ts";
import type { Dialog } from "../model/page.ts";
import type { ComponentChildren } from "../../vendor/preact.js";

addEnglish(plugins);
addEnglish(words);

type RequestContext = Awaited<ReturnType<typeof readRequestContext>>;

/** One thing that the file asks for. */
interface RequestedItem {
  /** The name by which it is accepted. */
  name: string;
  title: string;
  hint: string;
  /** Whether this server cannot grant it. */
  isImpossible?: boolean;
}

export function RequestedSettings() {
  const { id = "", requestedSettings: requested } = session.value ?? {};
  const found = useQuery(() => readRequestContext(id, requested ?? {}), `requested ${id}`);
  const modal = (inside: ComponentChildren) => <Modal title={t("requested.title")}>{inside}</Modal>;
  if (!requested) return modal(<p class="aside">{t("requested.none")}</p>);
  if (found === null) return modal(<LoadingRows rows={3} />);
  if (found instanceof ApiError) return modal(<QueryError error={found} />);
  return modal(<Question items={itemsOf(requested, found)} onAnswer={answerForSession} />);
}

/** The question about the regex scripts of imported presets. */
export function PresetScripts({ presetIds, back }: { presetIds: Id[]; back: Dialog | null }) {
  const found = useQuery(() => readPresetScripts(presetIds), `scripts ${presetIds.join()}`);
  const modal = (inside: ComponentChildren) => <Modal title={t("requested.title")}>{inside}</Modal>;
  if (found === null) return modal(<LoadingRows rows={3} />);
  if (found instanceof ApiError) return modal(<QueryError error={found} />);
  const items = found.map(
    ({ id, name, isScript, scripts }): RequestedItem => ({
      name: id,
      title: isScript ? name : t("requested.scriptsOf", { name }),
      hint: scriptsHint(scripts),
    }),
  );
  const answer = async (accepted: Set<string>) => {
    if (await answerPresetScripts(presetIds, accepted)) openDialog(back);
  };
  return modal(<Question items={items} onAnswer={answer} />);
}

async function answerForSession(accepted: Set<string>) {
  if (!(await answerRequestedSettings(accepted))) return;
  openDialog(null);
  if (!askForRequestedSettings()) void askForPermissions();
}

function Question({ items, onAnswer }: { items: RequestedItem[]; onAnswer: (accepted: Set<string>) => Promise<void> }) {
  const busy = useRef(false);
  const answer = async (accepted: Set<string>) => {
    if (busy.current) return;
    busy.current = true;
    await onAnswer(accepted);
    busy.current = false;
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    void answer(new Set(items.filter(({ name }) => form.has(name)).map(({ name }) => name)));
  };
  return (
    <form onSubmit={submit}>
      <p class="aside">{t("requested.text")}</p>
      {items.map((item) => (
        <RequestedItemRow key={item.name} {...item} />
      ))}
      <div class="actions">
        <button type="button" onClick={() => void answer(new Set())}>
          {t("requested.decline")}
        </button>
        <button type="submit" class="primary">
          {t("requested.accept")}
        </button>
      </div>
    </form>
  );
}

const RequestedItemRow = ({ name, title, hint, isImpossible = false }: RequestedItem) => (
  <label class="check">
    <input type="checkbox" name={name} disabled={isImpossible} />
    <span>
      {title}
      {hint && <small>{hint}</small>}
    </span>
  </label>
);

/** Returns what the file asks for, in the order of the question. */
function itemsOf(requested: Requested, context: RequestContext): RequestedItem[] {
  const { all, presetName, scripts } = context;
  const { model, valuesModel, params, presetId, regexScripts, recall, summaries, grants = {} } = requested;
  const has = (id: string) => chatModels.value.some((one) => one.id === id) || id.startsWith("plugin:");
  const modelItem = (name: "model" | "valuesModel", id: string): RequestedItem => ({
    name,
    title: t(`requested.${name}`, { name: id }),
    hint: has(id) ? "" : t("requested.missing"),
    isImpossible: !has(id),
  });
  const items: (RequestedItem | null)[] = [
    model ? modelItem("model", model) : null,
    valuesModel ? modelItem("valuesModel", valuesModel) : null,
    params ? { name: "params", title: t("requested.params"), hint: parametersText(params) } : null,
    presetId ? { name: "presetId", title: t("requested.preset"), hint: presetName } : null,
    regexScripts ? { name: "regexScripts", title: t("requested.scripts"), hint: scriptsHint(scripts) } : null,
    recall ? { name: "recall", title: t("requested.recall"), hint: t("requested.recallHint") } : null,
    summaries ? summariesItem(summaries.model ?? null, has) : null,
    ...Object.entries(grants).map(([plugin, names]) => grantsItem(plugin, names, all)),
  ];
  return items.filter((item) => item !== null);
}

/** Says what scripts do, and names them. */
const scriptsHint = (names: string[]) =>
  `${t("requested.scriptsHint")} ${new Intl.ListFormat(locale.value).format(names)}`.trim();

function summariesItem(model: string | null, has: (id: string) => boolean): RequestedItem {
  const by = model ? t("requested.summariesBy", { name: model }) : t("requested.summariesHint");
  const isImpossible = model !== null && !has(model);
  const hint = isImpossible ? `${by} ${t("requested.missing")}` : by;
  return { name: "summaries", title: t("requested.summaries"), hint, isImpossible };
}

function grantsItem(plugin: string, names: string[], all: PluginInfo[]): RequestedItem {
  const info = all.find(({ id }) => id === plugin);
  const words = names.map((name) => info?.permissions?.find((one) => one.name === name)?.words ?? name);
  return {
    name: grantsKey(plugin),
    title: t("requested.grants", { name: info?.title || plugin }),
    hint: info ? words.join("; ") : t("requested.noPlugin"),
    isImpossible: !info,
  };
}

const parametersText = (params: Record<string, unknown>) =>
  Object.entries(params)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join(", ");
