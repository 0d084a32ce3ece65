// The workshop for plugin authors: a plugin, its files and their faults, and what it would do in the open story.
// Nothing is written until a file is saved. Loaded when first opened.
import { Fragment, h, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { clearDialogErrors } from "../actions/dialog-errors.ts";
import { checkPlugin, readFile, readPlugin, readPlugins, readReference, saveFile } from "../actions/workshop.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import presetsTexts from "../lib/strings/en-presets.ts";
import words from "../lib/strings/en-workshop.ts";
import { scriptErrorText } from "../lib/script-error-text.ts";
import { readFormDraft, saveFormDraft } from "../model/form-drafts.ts";
import { notify } from "../model/page.ts";
import { ApiError } from "../net/api.ts";
import { Code } from "./code.tsx";
import { Fault } from "./fault.tsx";
import { EmptyState, Modal, LoadingRows, icon } from "./common.tsx";
import { QueryError, useQuery } from "./use-query.tsx";
import { Confirmation } from "./confirmation.tsx";
import { About, hookText } from "./workshop-about.tsx";
import { Replay } from "./workshop-replay.tsx";
import { PluginTests } from "./workshop-tests.tsx";
import { HookTrial } from "./workshop-try.tsx";
import type { PluginCheckResult, PluginDetail, PluginInfo, ScriptError, FileTexts } from "../lib/wire.d.ts";
import type { Place } from "./code.tsx";
import type { ComponentChildren } from "../../vendor/preact.js";

addEnglish(words);
addEnglish(presetsTexts);

/** Delay after the last input before the text is checked, in milliseconds. */
const PAUSE = 700;
/** The prefix of the keys under which unsaved texts are kept. */
const DRAFT_PREFIX = "workshop.";
/** The files of a plugin that cannot be read are unknown; most plugins have these. */
const USUAL_FILES = ["main.rhai", "plugin.toml", "state.schema.json"];

export function Workshop({ pluginId }: { pluginId: string | null }) {
  const found = useQuery(readPlugins, "plugins");
  const wanted = useSignal(pluginId);
  const modal = (inside: ComponentChildren) => (
    <Modal title={t("command.workshop")} class="widest workshop">
      {inside}
    </Modal>
  );
  if (found === null) return modal(<LoadingRows rows={4} />);
  if (found instanceof ApiError) return modal(<QueryError error={found} />);
  // Plugins that can be changed come first.
  const all = [...found].sort((one, two) => Number(isOwn(two)) - Number(isOwn(one)));
  const id = all.find((one) => one.id === wanted.value)?.id ?? all[0]?.id;
  if (id === undefined)
    return modal(<EmptyState symbol="plug" title={t("workshop.none")} hint={t("workshop.noneHint")} />);
  const pick = (event: Event) => (wanted.value = (event.target as HTMLSelectElement).value);
  return modal(
    <>
      <p class="aside">{t("workshop.text")}</p>
      <label class="of-plugin">
        {t("workshop.plugin")}
        <select value={id} onChange={pick}>
          {all.map((one) => (
            <option key={one.id} value={one.id} selected={one.id === id}>
              {nameOf(one)}
            </option>
          ))}
        </select>
      </label>
      <PluginLoader key={id} id={id} />
    </>,
  );
}

const isOwn = (plugin: PluginInfo) => (plugin as PluginDetail).origin === "folder";

const nameOf = (plugin: PluginInfo) =>
  [
    plugin.title || plugin.id,
    plugin.title && plugin.title.toLowerCase() !== plugin.id ? `(${plugin.id})` : "",
    plugin.isOk === false ? t("workshop.broken") : "",
    isOwn(plugin) ? "" : t("workshop.bundled"),
  ]
    .filter(Boolean)
    .join(" ");

function PluginLoader({ id }: { id: string }) {
  /** Increases when a file of the plugin is saved, so that the plugin is read again. */
  const age = useSignal(0);
  const last = useRef<PluginDetail | null>(null);
  const found = useQuery(() => readPlugin(id), `${id} ${age.value}`);
  if (found instanceof ApiError) return <QueryError error={found} />;
  if (found) last.current = found;
  return last.current ? (
    <PluginEditor plugin={last.current} renew={() => (age.value += 1)} />
  ) : (
    <LoadingRows rows={6} />
  );
}

type Side = "about" | "try" | "tests" | "replay";
const SIDES: Side[] = ["about", "try", "tests", "replay"];

function PluginEditor({ plugin, renew }: { plugin: PluginDetail; renew: () => void }) {
  const { id } = plugin;
  /** The unsaved texts by file; they survive a reload. */
  const texts = useSignal<FileTexts>(readFormDraft(DRAFT_PREFIX + id) ?? {});
  const checked = useSignal<PluginCheckResult | null>(null);
  const isChecking = useSignal(false);
  const side = useSignal<Side>(SIDES[0] ?? "about");
  const at = useSignal<(Place & { path: string }) | null>(null);
  const put = (next: FileTexts) => {
    texts.value = next;
    saveFormDraft(DRAFT_PREFIX + id, Object.keys(next).length ? next : null);
  };
  const look = async () => {
    const asked = texts.peek();
    isChecking.value = true;
    const answer = await checkPlugin(id, asked);
    // The answer does not apply to text typed in the meantime.
    if (asked !== texts.peek()) return;
    isChecking.value = false;
    checked.value = answer ?? null;
  };
  useEffect(() => {
    if (checked.peek() === null) return void look();
    const later = setTimeout(look, PAUSE);
    return () => clearTimeout(later);
  }, [texts.value, plugin.codeHash]);
  const faults = checked.value
    ? [...(checked.value.error ? [checked.value.error] : []), ...checked.value.warnings]
    : [];
  const jump = ({
    file,
    line,
    column,
  }: ScriptError | { file?: string | null; line?: number | null; column?: number | null }) => {
    if (file) at.value = { path: file, line: line ?? 1, column: column ?? 0, n: (at.peek()?.n ?? 0) + 1 };
  };
  const hooks = checked.value?.isOk ? checked.value.hooks : (plugin.hooks ?? []);
  const turn = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    side.value = SIDES[(SIDES.indexOf(side.peek()) + step + SIDES.length) % SIDES.length] ?? "about";
    document.getElementById(`workshop-${side.peek()}`)?.focus();
  };
  return (
    <div class="bench">
      <section class="bench-code" aria-label={t("workshop.code")}>
        <Files
          plugin={plugin}
          texts={texts.value}
          onChange={put}
          faults={faults}
          bad={checked.value?.error ?? null}
          at={at.value}
          renew={renew}
        />
        <Findings
          checked={checked.value}
          isChecking={isChecking.value}
          isChanged={Object.keys(texts.value).length > 0}
          faults={faults}
          jump={jump}
          look={look}
        />
      </section>
      <section class="bench-side">
        <div class="tabs" role="tablist" aria-label={t("workshop.sides")} onKeyDown={turn}>
          {SIDES.map((one) => (
            <button
              key={one}
              type="button"
              role="tab"
              id={`workshop-${one}`}
              aria-selected={side.value === one}
              aria-controls="workshop-side"
              tabindex={side.value === one ? 0 : -1}
              onClick={() => (side.value = one)}
            >
              {t(`workshop.${one}`)}
            </button>
          ))}
        </div>
        <div
          id="workshop-side"
          class="tabpanel"
          role="tabpanel"
          aria-labelledby={`workshop-${side.value}`}
          tabindex={0}
        >
          {side.value === "about" && <About plugin={plugin} texts={texts.value} />}
          {side.value === "try" && <HookTrial plugin={plugin} hooks={hooks} texts={texts.value} jump={jump} />}
          {side.value === "tests" && <PluginTests plugin={plugin} texts={texts.value} jump={jump} />}
          {side.value === "replay" && <Replay plugin={plugin} texts={texts.value} jump={jump} />}
        </div>
      </section>
    </div>
  );
}

interface FindingsProps {
  checked: PluginCheckResult | null;
  isChecking: boolean;
  isChanged: boolean;
  faults: ScriptError[];
  jump: (fault: ScriptError) => void;
  look: () => unknown;
}

/** Shows the result of the check. */
function Findings({ checked, isChecking, isChanged, faults, jump, look }: FindingsProps) {
  const status = isChecking
    ? t("workshop.checking")
    : !checked
      ? ""
      : faults.length > 0
        ? t(checked.isOk ? "workshop.odd" : "workshop.bad", { n: faults.length })
        : t(isChanged ? "workshop.goodUnsaved" : "workshop.good");
  return (
    <div class="findings">
      <div class="actions start">
        <button type="button" onClick={look}>
          {icon("check")}
          <span>{t("workshop.check")}</span>
        </button>
        <p role="status" class={!isChecking && checked && !checked.isOk ? "bad" : "aside"}>
          {status}
        </p>
      </div>
      {faults.length > 0 && (
        <ul aria-label={t("workshop.faults")}>
          {faults.map((fault, i) => (
            <Fault key={i} fault={fault} isBad={fault === checked?.error} jump={jump} />
          ))}
        </ul>
      )}
    </div>
  );
}

interface FilesProps {
  plugin: PluginDetail;
  texts: FileTexts;
  onChange: (next: FileTexts) => void;
  faults: ScriptError[];
  bad: ScriptError | null;
  at: (Place & { path: string }) | null;
  renew: () => void;
}

function Files({ plugin, texts, onChange, faults, bad, at, renew }: FilesProps) {
  const { id } = plugin;
  const known = plugin.files?.length ? plugin.files : USUAL_FILES;
  const paths = [
    ...new Set([
      ...known,
      ...(plugin.error?.file ? [plugin.error.file] : []),
      ...Object.keys(texts),
      ...(at ? [at.path] : []),
    ]),
  ].sort(inOrder);
  const open = useSignal(paths[0] ?? "main.rhai");
  const path = open.value;
  useLayoutEffect(() => {
    if (at) open.value = at.path;
  }, [at?.n]);
  const age = useSignal(0);
  const found = useQuery(async () => ({ path, of: age.peek(), was: await readFile(id, path) }), `${path} ${age.value}`);
  const naming = useSignal(false);
  const add = (event: Event) => {
    event.preventDefault();
    const name = String(new FormData(event.target as HTMLFormElement).get("path") ?? "").trim();
    if (!name) return;
    naming.value = false;
    if (!(name in texts) && !known.includes(name)) onChange({ ...texts, [name]: "" });
    open.value = name;
  };
  /** The text that was saved but not read again yet. */
  const saved = useRef("");
  const was =
    found && !(found instanceof ApiError) && found.path === path
      ? found.of < age.value
        ? saved.current
        : (found.was ?? "")
      : null;
  const text = texts[path] ?? was;
  const reference = useQuery(readReference, "reference");
  const settings = (plugin.config ?? []).map(({ name }) => name);
  const knows =
    reference && !(reference instanceof ApiError)
      ? { reference: reference, settings, values: Object.keys(plugin.schema?.properties ?? {}), words: hookText }
      : null;
  const states = useRef(new Map());
  const saving = useRef(() => {});
  const change = (of: string, next: string) => {
    if (of === path) onChange(next === was ? without(texts, path) : { ...texts, [path]: next });
  };
  const pick = (event: Event) => (open.value = (event.target as HTMLSelectElement).value);
  const isOwn = plugin.origin === "folder";
  const own = faults.filter((fault) => fault.file === path && fault.line);
  const isClosed = found instanceof ApiError && found.code === "forbidden";
  return (
    <>
      <div class="file-row">
        <label>
          {t("workshop.file")}
          <select value={path} onChange={pick}>
            {paths.map((one) => (
              <option key={one} value={one} selected={one === path}>
                {one in texts ? t("workshop.changedFile", { path: one }) : one}
              </option>
            ))}
          </select>
        </label>
        {isOwn && (
          <button
            type="button"
            class="round"
            aria-label={t("workshop.newFile")}
            title={t("workshop.newFile")}
            aria-expanded={naming.value}
            onClick={() => (naming.value = !naming.peek())}
          >
            {icon("plus")}
          </button>
        )}
      </div>
      {naming.value && (
        <form class="file-row" onSubmit={add}>
          <label>
            {t("workshop.newPath")}
            <input name="path" required maxlength={120} placeholder="lib/words.rhai" autofocus />
          </label>
          <button type="submit" class="primary">
            {t("workshop.begin")}
          </button>
        </form>
      )}
      {!isOwn && <p class="aside">{t("workshop.insideHint")}</p>}
      {text !== null && (was !== null || path in texts) && !isClosed ? (
        <Code
          states={states.current}
          path={path}
          label={t("workshop.textOf", { path })}
          text={text}
          onChange={change}
          onSave={() => saving.current()}
          faults={own}
          bad={bad}
          known={knows}
          at={at?.path === path ? at : null}
        />
      ) : isClosed ? (
        <EmptyState symbol="plug" title={t("workshop.notYours")} hint={t("workshop.notYoursHint")} />
      ) : found instanceof ApiError ? (
        <QueryError error={found} />
      ) : (
        <LoadingRows rows={6} />
      )}
      {path in texts && was !== null && (
        <Unsaved
          key={path}
          saving={saving}
          plugin={plugin}
          path={path}
          was={was}
          text={texts[path] ?? ""}
          keep={() => onChange(texts)}
          drop={() => onChange(without(texts, path))}
          renew={(of) => ((saved.current = of), (age.value += 1), onChange(without(texts, path)), renew())}
        />
      )}
    </>
  );
}

/** Sorts the rules first, then the manifest, then the other files by name. */
const inOrder = (one: string, two: string) => weight(one) - weight(two) || one.localeCompare(two);
const weight = (path: string) =>
  path === "main.rhai"
    ? 0
    : path === "plugin.toml"
      ? 1
      : path.endsWith(".rhai")
        ? 2
        : path.endsWith(".json") && !path.includes("/")
          ? 3
          : 4;

const without = (texts: FileTexts, path: string): FileTexts =>
  Object.fromEntries(Object.entries(texts).filter(([one]) => one !== path));

interface UnsavedProps {
  saving: { current: () => void };
  plugin: PluginDetail;
  path: string;
  was: string;
  text: string;
  keep: () => void;
  drop: () => void;
  renew: (text: string) => void;
}

/** Offers what can be done with an unsaved text. */
function Unsaved({ saving, plugin, path, was, text, keep, drop, renew }: UnsavedProps) {
  const isOther = useSignal(false);
  const busy = useRef(false);
  const save = async (isSure: boolean) => {
    if (busy.current) return;
    busy.current = true;
    clearDialogErrors();
    const saved = await saveFile(plugin.id, path, text, isSure ? null : was);
    busy.current = false;
    isOther.value = saved === "changed";
    if (!saved || saved === "changed") return;
    renew(text);
    notify(
      saved.isInForce
        ? { tone: "quiet", text: t("workshop.saved", { path }) }
        : {
            tone: "error",
            text: t("workshop.savedBroken", { path }),
            hint: saved.error ? scriptErrorText(saved.error) : "",
          },
    );
  };
  useLayoutEffect(() => {
    if (plugin.origin !== "folder") return;
    saving.current = () => void save(false);
    return () => (saving.current = () => {});
  });
  const back = () => {
    drop();
    notify({ tone: "quiet", text: t("workshop.dropped.text", { path }), action: { label: "command.undo", run: keep } });
  };
  return (
    <>
      <div class="actions">
        <p class="aside">{t(plugin.origin === "folder" ? "workshop.unsaved" : "workshop.unsavedInside")}</p>
        <button type="button" onClick={back}>
          {icon("undo")}
          <span>{t("workshop.back")}</span>
        </button>
        {plugin.origin === "folder" && (
          <button type="button" class="primary" onClick={() => save(false)}>
            {t("workshop.save")}
          </button>
        )}
      </div>
      {isOther.value && (
        <Confirmation
          text={t("workshop.otherText", { path })}
          confirmLabel={t("workshop.otherYes")}
          cancelLabel={t("workshop.otherNo")}
          onConfirm={() => save(true)}
          onCancel={() => (isOther.value = false)}
        />
      )}
    </>
  );
}
