// The settings page. Loaded when first opened.
import { Fragment, h, useEffect, useSignal } from "../../vendor/preact.js";
import { commandsOf } from "../actions/commands.ts";
import { setLanguage } from "../actions/page.ts";
import { setDefaultModel, readHealth, readProviders, testServer } from "../actions/providers.ts";
import { messageText } from "../lib/coded-message.ts";
import { LOCALES, addEnglish, locale, t, optionalText } from "../lib/i18n.ts";
import { shortcutText } from "../lib/shortcuts.ts";
import words from "../lib/strings/en-settings.ts";
import story from "../lib/strings/en-story.ts";
import { sentence } from "../lib/text.ts";
import { models } from "../model/library.ts";
import { openDialog, setTheme, theme } from "../model/page.ts";
import { providers } from "../model/providers.ts";
import { Result } from "./connect.tsx";
import { Devices } from "./devices.tsx";
import { EmptyState, CommandButton, LoadingRows, icon } from "./common.tsx";
import type { ComponentType } from "../../vendor/preact.js";
import type { Key, Locale } from "../lib/i18n.ts";
import type { Failure, Provider, ProviderTestResult } from "../lib/wire.d.ts";
import type { Theme } from "../model/page.ts";

addEnglish(words);
addEnglish(story);

/** The sections, in display order. */
const SECTIONS: { id: string; title: Key; view: ComponentType }[] = [
  { id: "models", title: "settings.models", view: Servers },
  { id: "devices", title: "devices.title", view: Devices },
  { id: "looks", title: "settings.looks", view: Appearance },
  { id: "presets", title: "settings.presets", view: Prompts },
  { id: "keys", title: "settings.keys", view: KeyList },
  { id: "about", title: "settings.about", view: About },
];

export function Settings() {
  const go = (id: string) => {
    const heading = document.getElementById(`settings-${id}`);
    heading?.scrollIntoView();
    heading?.focus({ preventScroll: true });
  };
  return (
    <div class="library">
      <div class="library-inner settings">
        <h1>{t("settings.title")}</h1>
        <nav aria-label={t("settings.sections")}>
          {SECTIONS.map(({ id, title }) => (
            <button type="button" key={id} onClick={() => go(id)}>
              {t(title)}
            </button>
          ))}
        </nav>
        {SECTIONS.map(({ id, title, view }) => (
          <section key={id} aria-labelledby={`settings-${id}`}>
            <h2 id={`settings-${id}`} tabindex={-1}>
              {t(title)}
            </h2>
            {h(view, {})}
          </section>
        ))}
      </div>
    </div>
  );
}

// Models

function Servers() {
  useEffect(() => void readProviders(), []);
  const all = providers.value;
  if (all === null) return <LoadingRows rows={3} />;
  return (
    <>
      {all.items.length === 0 ? (
        <EmptyState symbol="plug" title={t("settings.none")} hint={t("models.short")} />
      ) : (
        <ul class="servers">
          {all.items.map((server) => (
            <Server key={server.id} server={server} />
          ))}
        </ul>
      )}
      <div class="actions start">
        <CommandButton id="page.connect" wide class={all.items.length === 0 ? "primary" : ""} />
      </div>
      {all.items.some(({ origin }) => origin === "config") && <p class="aside">{t("settings.ofFileHint")}</p>}
      <DefaultModel />
    </>
  );
}

function Server({ server }: { server: Provider }) {
  const { id, kind, baseUrl, hasKey, origin, unusable, failure } = server;
  const seen = useSignal<ProviderTestResult | null>(null);
  const isTrying = useSignal(false);
  const own = (models.value?.items ?? [])
    .filter((model) => model.provider === id)
    .map((model) => model.name ?? model.id);
  const test = async () => {
    if (isTrying.peek()) return;
    isTrying.value = true;
    seen.value = (await testServer(id, own[0] ?? null)) ?? null;
    isTrying.value = false;
  };
  const button = (label: Key, symbol: string, act: () => void) => (
    <button
      type="button"
      class="round"
      aria-label={t(label, { name: id })}
      title={t(label, { name: id })}
      onClick={act}
    >
      {icon(symbol)}
    </button>
  );
  return (
    <li class="server">
      <article aria-label={id}>
        <div>
          <h3>
            {id} <span class="chip">{kind}</span>
            {hasKey && (
              <>
                {" "}
                <span class="chip">{t("settings.hasKey")}</span>
              </>
            )}
            {origin === "config" && (
              <>
                {" "}
                <span class="chip">{t("settings.ofFile")}</span>
              </>
            )}
          </h3>
          <p class="aside">{baseUrl}</p>
        </div>
        <div class="actions">
          {button("settings.test", "play", () => void test())}
          {origin === "connected" &&
            button("settings.edit", "edit", () => openDialog({ kind: "connect", providerId: id, back: null }))}
          {origin === "connected" &&
            button("settings.remove", "trash", () => openDialog({ kind: "removeServer", providerId: id }))}
        </div>
        {unusable && (
          <p class="problem">
            {icon("warning")}
            <span>{failure ? messageText("provider", failure) : sentence(unusable)}</span>
          </p>
        )}
        <div role="status" class="tried">
          {isTrying.value ? t("connect.testing") : seen.value && <Result seen={seen.value} />}
        </div>
      </article>
    </li>
  );
}

function DefaultModel() {
  const all = providers.value;
  const list = (models.value?.items ?? []).filter((model) => !model.unusable).map((model) => model.id);
  const chosen = all?.isChosen ? all.defaultModel : "";
  const names = [...new Set([chosen, ...list].filter(Boolean))];
  return (
    <label>
      {t("settings.default")}
      <select
        name="default"
        value={chosen}
        onChange={(event: Event) => void setDefaultModel((event.target as HTMLSelectElement).value || null)}
      >
        <option value="">
          {t("settings.defaultOfFile")}
          {all && !all.isChosen ? `: ${all.defaultModel}` : ""}
        </option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

// Appearance, prompts, keys

function Appearance() {
  const choice = (on: boolean, label: string, act: () => unknown) => (
    <button type="button" aria-pressed={on} onClick={act}>
      {label}
    </button>
  );
  return (
    <>
      <div role="group" class="choice" aria-label={t("settings.theme")}>
        {(["auto", "light", "dark"] as Theme[]).map((look) =>
          choice(theme.value === look, t(`theme.${look}` as Key), () => setTheme(look)),
        )}
      </div>
      <div role="group" class="choice" aria-label={t("settings.language")}>
        {(Object.keys(LOCALES) as Locale[]).map((one) =>
          choice(locale.value === one, LOCALES[one], () => setLanguage(one)),
        )}
      </div>
    </>
  );
}

function Prompts() {
  return (
    <>
      <p class="aside">{t("settings.presetsText")}</p>
      <div class="actions start">
        <button type="button" onClick={() => openDialog({ kind: "presets", presetId: null })}>
          {icon("preset")}
          <span>{t("settings.presets")}</span>
        </button>
      </div>
    </>
  );
}

function KeyList() {
  const all = [...commandsOf("page"), ...commandsOf("message")].filter(({ keys }) => keys?.length);
  return (
    <>
      <p class="aside">{t("settings.keysText")}</p>
      <dl class="keys">
        {all.map(({ id, label, keys = [] }) => (
          <div key={id}>
            <dt>{t(label)}</dt>
            <dd>
              {keys.map((key) => (
                <>
                  <kbd key={key}>{shortcutText(key)}</kbd>{" "}
                </>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <div class="actions start">
        <CommandButton id="page.palette" wide />
      </div>
    </>
  );
}

// About

/** Says what is wrong with a part of the server. */
const partProblem = (problem: Failure | undefined, sentenceOfServer: string) =>
  problem ? messageText("health", problem) : sentence(sentenceOfServer);

function About() {
  const health = useSignal<Awaited<ReturnType<typeof readHealth>> | null>(null);
  useEffect(() => void readHealth().then((told) => (health.value = told ?? null)), []);
  const told = health.value;
  if (!told) return <LoadingRows rows={2} />;
  const parts = Object.entries(told.parts ?? {}).filter(([name]) => optionalText(`settings.part.${name}`));
  return (
    <>
      <p>{t("settings.version", { version: told.version })}</p>
      {parts.length > 0 && (
        <dl class="keys">
          {parts.map(([name, is]) => (
            <div key={name}>
              <dt>{optionalText(`settings.part.${name}`)}</dt>
              <dd>{is === "ok" ? t("settings.works") : partProblem(told.problems?.[name], String(is))}</dd>
            </div>
          ))}
        </dl>
      )}
      <p>{t("settings.backup")}</p>
      <pre tabindex={0}>
        <code>{"clotho backup clotho-copy.db\nclotho doctor"}</code>
      </pre>
    </>
  );
}
