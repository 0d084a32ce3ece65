// The description of a plugin: its permissions, hooks and settings.
import { h } from "../../vendor/preact.js";
import { readFile } from "../actions/workshop.ts";
import { t, optionalText } from "../lib/i18n.ts";
import { rulesOf } from "../lib/manifest.ts";
import { compactJson } from "../lib/text.ts";
import { JsonParts } from "./json.tsx";
import { useQuery } from "./use-query.tsx";
import type { ConfigField, PluginDetail, FileTexts } from "../lib/wire.d.ts";

/** The file with the declarative rules. */
const MANIFEST = "plugin.toml";

export function About({ plugin, texts }: { plugin: PluginDetail; texts: FileTexts }) {
  const saved = useQuery(() => readFile(plugin.id, MANIFEST), `${plugin.id} ${plugin.codeHash}`);
  const rules = rulesOf(texts[MANIFEST] ?? (typeof saved === "string" ? saved : ""));
  const { description, version, manifest, permissions = [], hooks = [], config = [], schema, codeHash } = plugin;
  const facts = [
    [t("workshop.version"), version],
    [t("workshop.authors"), manifest?.authors?.join(", ")],
    [t("workshop.license"), manifest?.license],
    [t("workshop.root"), manifest?.state?.root],
    [
      t("workshop.requires"),
      Object.entries(manifest?.requires ?? {})
        .map(([id, needed]) => `${id} ${needed}`)
        .join(", "),
    ],
    [t("workshop.hash"), codeHash?.slice(0, 12)],
  ].filter(([, value]) => value);
  const commands = manifest?.commands ?? [];
  const tools = manifest?.tools ?? [];
  return (
    <div class="about">
      {description && <p>{description}</p>}
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{name === t("workshop.root") || name === t("workshop.hash") ? <code>{value}</code> : value}</dd>
          </div>
        ))}
      </dl>
      <Listed
        title={t("workshop.may")}
        items={permissions.map(({ name, words }) => [name, words])}
        none={t("workshop.mayNothing")}
      />
      <Listed
        title={t("workshop.hooks")}
        items={hooks.map((hook) => [hook, hookText(hook)])}
        none={t("workshop.noHooks")}
      />
      {tools.length > 0 && (
        <Listed title={t("workshop.tools")} items={tools.map((tool) => [tool.name, tool.description])} />
      )}
      {commands.length > 0 && (
        <Listed
          title={t("workshop.commands")}
          items={commands.map((one) => [`/${one.name}${one.args ? ` ${one.args}` : ""}`, one.help])}
        />
      )}
      {config.length > 0 && (
        <Listed title={t("workshop.settings")} items={config.map((field) => [field.name, settingText(field)])} />
      )}
      {rules.length > 0 ? (
        <Listed title={t("workshop.rules")} items={rules.map((rule) => [rule.name || "–", rule.when])} />
      ) : (
        <p class="aside">{t("workshop.rulesHint")}</p>
      )}
      {schema && (
        <details>
          <summary>{t("workshop.schema")}</summary>
          <JsonParts value={schema} />
        </details>
      )}
    </div>
  );
}

/** Describes when a hook runs. */
export const hookText = (hook: string) => optionalText(`workshop.hook.${hook}`);

function settingText({ label, type, min, max, choices = [], default: begins }: ConfigField) {
  const range =
    choices.length > 0
      ? choices.join(", ")
      : [min, max].some((end) => end !== undefined)
        ? `${min ?? ""} – ${max ?? ""}`
        : "";
  const parts = [
    optionalText(`workshop.type.${type}`) || type,
    range,
    t("workshop.default", { value: compactJson(begins) }),
  ];
  return `${label} (${parts.filter(Boolean).join("; ")})`;
}

const Listed = ({ title, items, none = "" }: { title: string; items: string[][]; none?: string }) => (
  <section>
    <h3>{title}</h3>
    {items.length === 0 ? (
      <p class="aside">{none}</p>
    ) : (
      <ul>
        {items.map(([name, words], i) => (
          <li key={i}>
            <code>{name}</code> {words}
          </li>
        ))}
      </ul>
    )}
  </section>
);
