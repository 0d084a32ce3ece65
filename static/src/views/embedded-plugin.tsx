// The embedded plugin of a card: how it compares with the installed plugins, and the button that installs it. None of
// its code has run.
import { Fragment, h, useEffect, useSignal } from "../../vendor/preact.js";
import {
  installEmbeddedPlugin,
  removeEmbeddedPlugin,
  embedPlugin,
  readInstalled,
  readEmbeddedPlugin,
} from "../actions/embedded-plugin.ts";
import { t } from "../lib/i18n.ts";
import { withoutInvisible, diffLines, titlesOf, showInvisible } from "../lib/untrusted-text.ts";
import { scriptErrorText } from "../lib/script-error-text.ts";
import { icon } from "./common.tsx";
import { Confirmation } from "./confirmation.tsx";
import type { Signal } from "../../vendor/preact.js";
import type { EmbeddedPlugin as Rules, EmbeddedPluginFile, Id, PluginInfo } from "../lib/wire.d.ts";

/** States in which the plugin can be installed. */
const INSTALLABLE = new Set(["new", "newer", "older", "other"]);

export function EmbeddedPluginDialog({ characterId }: { characterId: Id }) {
  const rules = useSignal<Rules | null>(null);
  const isTaken = useSignal(false);
  const asking = useSignal(false);
  const read = () =>
    readEmbeddedPlugin(characterId).then(
      (found) => void (rules.value = found),
      () => {},
    );
  useEffect(() => void read(), []);
  const seen = rules.value;
  if (!seen) return null;
  const take = async () => {
    if (await installEmbeddedPlugin(characterId, seen)) {
      isTaken.value = true;
      await read();
    }
  };
  const drop = async () => {
    asking.value = false;
    if (await removeEmbeddedPlugin(characterId)) await read();
  };
  return (
    <details open={isTaken.value || (seen.state !== "none" && seen.state !== "same")}>
      <summary>{t("cardRules.title")}</summary>
      <div class="card-rules">
        {isTaken.value && <p role="status">{t("cardRules.taken")}</p>}
        {seen.state === "none" ? (
          <EmbedButton characterId={characterId} rules={rules} />
        ) : (
          <>
            <About seen={seen} />
            <div class="actions start">
              {INSTALLABLE.has(seen.state) && (
                <button type="button" class="primary" onClick={take}>
                  {icon("check")}
                  <span>{t("cardRules.accept")}</span>
                </button>
              )}
              <button type="button" aria-expanded={asking.value} onClick={() => (asking.value = true)}>
                {icon("trash")}
                <span>{t("cardRules.drop")}</span>
              </button>
            </div>
            {asking.value && (
              <Confirmation
                text={t("cardRules.dropText")}
                confirmLabel={t("cardRules.dropYes")}
                cancelLabel={t("cardRules.dropNo")}
                onConfirm={drop}
                onCancel={() => (asking.value = false)}
              />
            )}
            {INSTALLABLE.has(seen.state) && <p class="aside">{t("cardRules.acceptText")}</p>}
          </>
        )}
      </div>
    </details>
  );
}

function About({ seen }: { seen: Rules }) {
  const { state, title, version, installedVersion, description, permissions, asksMore, warnings, error, files } = seen;
  return (
    <>
      <p>
        {t(`cardRules.${state === "none" ? "same" : state}`, {
          installed: installedVersion ?? "",
          version: version ?? "",
        })}
      </p>
      {error && (
        <p class="fault bad">
          {icon("warning")}
          {scriptErrorText(error)}
        </p>
      )}
      {title && (
        <>
          <h3>
            {withoutInvisible(title)} {version}
          </h3>
          <p>{withoutInvisible(description)}</p>
          <h3>{t("cardRules.may")}</h3>
          {permissions.length === 0 ? (
            <p class="aside">{t("cardRules.mayNothing")}</p>
          ) : (
            <ul>
              {permissions.map(({ name, words }) => (
                <li key={name}>{asksMore.includes(name) ? t("cardRules.more", { words }) : words}</li>
              ))}
            </ul>
          )}
        </>
      )}
      {warnings.map((one, i) => (
        <p key={i} class="fault">
          {icon("warning")}
          {scriptErrorText(one)}
        </p>
      ))}
      {files.length > 0 && (
        <>
          <h3>{t("cardRules.files")}</h3>
          {files.map((file) => (
            <File key={file.path} file={file} />
          ))}
        </>
      )}
    </>
  );
}

function File({ file: { path, change, before, after } }: { file: EmbeddedPluginFile }) {
  const how = t(change === "same" ? "cardRules.sameFile" : `cardRules.${change}`);
  return (
    <details>
      <summary>
        <code>{path}</code> {how}
      </summary>
      {before !== null && after !== null && before !== after ? (
        <MergedLines before={before} after={after} />
      ) : (
        <pre tabindex={0}>{showInvisible(after ?? before ?? "")}</pre>
      )}
    </details>
  );
}

/** The installed file and the card's file in one list. Each line that is not in both is marked with its side. */
const MergedLines = ({ before, after }: { before: string; after: string }) => (
  <>
    <p class="aside">
      <del>− {t("cardRules.before")}</del> <ins>+ {t("cardRules.after")}</ins>
    </p>
    <pre class="lines" tabindex={0}>
      {diffLines(showInvisible(before), showInvisible(after)).map(({ sign, text }, i) =>
        sign === "" ? (
          <span key={i}>{`  ${text}\n`}</span>
        ) : sign === "-" ? (
          <del key={i}>{`− ${text}\n`}</del>
        ) : (
          <ins key={i}>{`+ ${text}\n`}</ins>
        ),
      )}
    </pre>
  </>
);

function EmbedButton({ characterId, rules }: { characterId: Id; rules: Signal<Rules | null> }) {
  const installed = useSignal<PluginInfo[]>([]);
  const chosen = useSignal("");
  useEffect(
    () =>
      void readInstalled().then(
        (all) => void (installed.value = all.filter(({ isOk }) => isOk)),
        () => {},
      ),
    [],
  );
  const put = async () => {
    const found = chosen.peek() && (await embedPlugin(characterId, chosen.peek()));
    if (found) rules.value = found;
  };
  const titles = titlesOf(installed.value);
  return (
    <>
      <p class="aside">
        {t("cardRules.none")} {t("cardRules.putText")}
      </p>
      <label>
        {t("cardRules.which")}
        <select
          value={chosen.value}
          onChange={(event: Event) => (chosen.value = (event.target as HTMLSelectElement).value)}
        >
          <option value="">–</option>
          {installed.value.map(({ id }) => (
            <option key={id} value={id}>
              {titles.get(id)}
            </option>
          ))}
        </select>
      </label>
      <div class="actions start">
        <button type="button" aria-disabled={chosen.value ? undefined : "true"} onClick={put}>
          {icon("plug")}
          <span>{t("cardRules.put")}</span>
        </button>
      </div>
    </>
  );
}
