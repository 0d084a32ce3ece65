// Who did something to a value, in words: a rule of a plugin and where it ran, a tool, a reader, the prompt.
import { Fragment, h } from "../../vendor/preact.js";
import { addEnglish, t, wordFor } from "../lib/i18n.ts";
import words from "../lib/strings/en-why.ts";
import { groups } from "../model/world.ts";
import { spelledOut } from "./deeds.tsx";
import type { Cause } from "../lib/causes.ts";
import type { RuleRun } from "../lib/wire.d.ts";

addEnglish(words);

/** The beginning of the name of a call that a model asked for. */
const TOOL = "tool_";

/** Whether a model asked for it. */
export const isTool = ({ hook }: RuleRun) => hook.startsWith(TOOL);

/** What a call of a plugin was for. */
export function deedOf(run: RuleRun) {
  const { hook, because = "" } = run;
  if (isTool(run)) return t("hook.tool", { name: hook.slice(TOOL.length) });
  return wordFor(`hook.${hook.split(":")[0]}`, { why: because });
}

const titleOf = (plugin: string) => groups.value.find((group) => group.plugin === plugin)?.title || plugin;

export function CauseLine({ cause: { operation, run } }: { cause: Cause }) {
  const { by = "", why } = operation;
  const who = by === "user" ? t("history.you") : by === "server" ? t("why.server") : titleOf(by);
  const rule = run?.hook.startsWith("rule:") ? run.hook.slice("rule:".length) : "";
  return (
    <li>
      <b>{who}</b>
      {run && <> · {deedOf(run)}</>}
      {why && (
        <>
          {" "}
          · <q>{why}</q>
        </>
      )}{" "}
      <small>
        <code>{spelledOut(operation)}</code>
        {rule ? (
          <>
            {" "}
            · <code>{rule}</code>
          </>
        ) : run && !isTool(run) ? (
          <>
            {" "}
            · <code>{run.hook}</code>
          </>
        ) : (
          ""
        )}
      </small>
    </li>
  );
}

export const Causes = ({ causes }: { causes: Cause[] }) => (
  <ul class="causes">
    {causes.map((cause, i) => (
      <CauseLine key={i} cause={cause} />
    ))}
  </ul>
);
