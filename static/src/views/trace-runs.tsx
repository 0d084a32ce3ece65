// The plugin calls of a turn in the prompt inspector: what each was for, did, asked and answered.
import { Fragment, h } from "../../vendor/preact.js";
import { messageText } from "../lib/coded-message.ts";
import { t } from "../lib/i18n.ts";
import { modelFailureText } from "../lib/model-failure.ts";
import { scriptErrorText } from "../lib/script-error-text.ts";
import { compactJson } from "../lib/text.ts";
import { isTextVisible, visibleDataOf } from "../model/secrets.ts";
import { callPurpose, isTool } from "./causes.tsx";
import type { Failure, RuleRun } from "../lib/wire.d.ts";

/** Lists the plugin calls of a turn, with their operations and their time. */
export function PluginRuns({ rules }: { rules: RuleRun[] }) {
  if (rules.length === 0) return null;
  return (
    <section>
      <h3>{t("why.rules")}</h3>
      <table>
        <thead>
          <tr>
            <th>{t("why.rule")}</th>
            <th>{t("why.operations")}</th>
            <th>{t("why.time")}</th>
          </tr>
        </thead>
        <tbody>
          {rules.map((rule, i) => (
            <tr key={i}>
              <td>
                {rule.plugin === "server" ? t("why.server") : rule.plugin} ·{" "}
                {isTool(rule) ? (
                  ""
                ) : (
                  <>
                    <code>{rule.hook}</code>{" "}
                  </>
                )}
                <small>{callPurpose(isTextVisible(rule.because ?? "") ? rule : { ...rule, because: "" })}</small>
                <RunDetails run={rule} />
                {rule.error && (
                  <p class="aside bad">
                    {isTextVisible(rule.error.message) ? scriptErrorText(rule.error) : ""} {placeOf(rule.error)}
                  </p>
                )}
                {rule.warnings
                  ?.map(compactJson)
                  .filter(isTextVisible)
                  .map((warning, j) => (
                    <p key={j} class="aside">
                      {warning}
                    </p>
                  ))}
              </td>
              <td>{operationCount(rule.ops)}</td>
              <td>{rule.micros === undefined ? "–" : `${(rule.micros / 1000).toFixed(1)} ms`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Shows what a call asked a model, what a model answered, or the arguments and the result of a tool. */
function RunDetails({ run: { plugin, hook, arguments: args, answer, refused, refusal, asks = [] } }: { run: RuleRun }) {
  if (asks.length > 0)
    return (
      <dl class="called">
        <div>
          <dt>{t("why.asks")}</dt>
          <dd>{asks.map(({ name }) => name).join(", ")}</dd>
        </div>
      </dl>
    );
  if (hook === "on_answer" && answer !== null && typeof answer === "object" && !Array.isArray(answer)) {
    const { name, text, error } = answer;
    const failure = (answer.failure ?? undefined) as unknown as Failure | undefined;
    return (
      <dl class="called">
        <div>
          <dt>{t(error ? "why.noAnswer" : "why.heard", { name: compactJson(name) })}</dt>
          <dd>
            {error ? modelFailureText(failure ?? compactJson(error)) : compactJson(visibleDataOf(plugin, text ?? ""))}
          </dd>
        </div>
      </dl>
    );
  }
  if (args === undefined) return null;
  return (
    <dl class="called">
      <div>
        <dt>{t("why.calledWith")}</dt>
        <dd>
          <code>{JSON.stringify(visibleDataOf(plugin, args))}</code>
        </dd>
      </div>
      <div>
        <dt>{t(refused === undefined ? "why.answered" : "why.refusedIt")}</dt>
        <dd>
          {refused === undefined ? (
            <code>{JSON.stringify(visibleDataOf(plugin, answer ?? null))}</code>
          ) : isTextVisible(refused) ? (
            messageText("why.toolRefusal", refusal ?? { message: refused })
          ) : (
            "…"
          )}
        </dd>
      </div>
    </dl>
  );
}

/** Formats a place as "main.rhai:4". */
const placeOf = ({ file, line }: NonNullable<RuleRun["error"]>) =>
  file ? <code>{line ? `${file}:${line}` : file}</code> : "";

/**
 * Returns the number of operations.
 * @param ops a list, or a number
 */
const operationCount = (ops: unknown) => (Array.isArray(ops) ? ops.length : typeof ops === "number" ? ops : "–");
