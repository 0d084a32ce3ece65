// What caused an operation on a value, in words: the user, the server, or a plugin with its hook, rule or tool.
import { Fragment, h } from "../../vendor/preact.js";
import { addEnglish, t, optionalText } from "../lib/i18n.ts";
import history from "../lib/strings/en-history.ts";
import words from "../lib/strings/en-trace.ts";
import { groups } from "../model/world.ts";
import { operationText } from "./operations.tsx";
import type { Cause } from "../lib/causes.ts";
import type { RuleRun } from "../lib/wire.d.ts";

addEnglish(words);
addEnglish(history);

/** Prefix of the hook name of a tool call. */
const TOOL = "tool_";

/** Returns whether the run is a tool call, which a model asked for. */
export const isTool = ({ hook }: RuleRun) => hook.startsWith(TOOL);

/** Returns in words what a plugin call was for. */
export function callPurpose(run: RuleRun) {
  const { hook, because = "" } = run;
  if (isTool(run)) return t("hook.tool", { name: hook.slice(TOOL.length) });
  return optionalText(`hook.${hook.split(":")[0]}`, { why: because });
}

const titleOf = (plugin: string) => groups.value.find((group) => group.plugin === plugin)?.title || plugin;

export function CauseLine({ cause: { operation, run } }: { cause: Cause }) {
  const { by = "", why } = operation;
  const who = by === "user" ? t("history.you") : by === "server" ? t("why.server") : titleOf(by);
  const rule = run?.hook.startsWith("rule:") ? run.hook.slice("rule:".length) : "";
  return (
    <li>
      <b>{who}</b>
      {run && <> · {callPurpose(run)}</>}
      {why && (
        <>
          {" "}
          · <q>{why}</q>
        </>
      )}{" "}
      <small>
        <code>{operationText(operation)}</code>
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
