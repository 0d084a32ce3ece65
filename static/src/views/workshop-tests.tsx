// The tests of a plugin, run with the unsaved texts: the expected and the actual result of each case. They write
// nothing.
import { Fragment, h, useSignal } from "../../vendor/preact.js";
import { clearDialogErrors } from "../actions/dialog-errors.ts";
import { runTests } from "../actions/workshop.ts";
import { t } from "../lib/i18n.ts";
import { sentence } from "../lib/text.ts";
import { Fault } from "./fault.tsx";
import { icon } from "./common.tsx";
import type { PluginDetail, PluginTestResult, PluginTestCase, FileTexts } from "../lib/wire.d.ts";

type Jump = (fault: { file?: string | null; line?: number | null; column?: number | null }) => void;

export function PluginTests({ plugin, texts, jump }: { plugin: PluginDetail; texts: FileTexts; jump: Jump }) {
  const result = useSignal<{ answer: PluginTestResult; texts: FileTexts } | null>(null);
  const isBusy = useSignal(false);
  const ask = async () => {
    if (isBusy.peek()) return;
    clearDialogErrors();
    isBusy.value = true;
    const answer = await runTests(plugin.id, texts);
    isBusy.value = false;
    if (answer) result.value = { answer, texts };
  };
  const { cases = [], left = 0, error = null, warnings = [] } = result.value?.answer ?? {};
  const bad = cases.filter((one) => !one.isPassed).length;
  const outcome =
    cases.length === 0
      ? t("workshop.noCases")
      : t(bad === 0 ? "workshop.allPassed" : "workshop.someFailed", { n: cases.length, m: bad });
  return (
    <>
      <p class="aside">{t("workshop.testsText")}</p>
      <div class="actions start">
        <button type="button" class="primary" aria-disabled={isBusy.value ? "true" : undefined} onClick={ask}>
          {icon("play")}
          <span>{t("workshop.testIt")}</span>
        </button>
        {isBusy.value && (
          <p class="aside" role="status">
            {t("workshop.running")}
          </p>
        )}
      </div>
      {error && (
        <ul>
          <Fault fault={error} jump={jump} />
        </ul>
      )}
      {result.value && !error && (
        <>
          <p role="status" class={bad > 0 ? "bad" : ""}>
            {outcome}
            {left > 0 && ` ${t("workshop.left", { n: left })}`}
          </p>
          {result.value.texts !== texts && <p class="aside">{t("workshop.old")}</p>}
          {warnings.length > 0 && (
            <ul>
              {warnings.map((fault, i) => (
                <Fault key={i} fault={fault} isBad={false} jump={jump} />
              ))}
            </ul>
          )}
          <ul class="cases">
            {cases.map((one) => (
              <Case key={`${one.file} ${one.isPassed}`} one={one} jump={jump} />
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Case({ one, jump }: { one: PluginTestCase; jump: Jump }) {
  const { file, isPassed, expects, failures, warnings } = one;
  const state = isPassed
    ? t("workshop.casePassed")
    : t(failures.length > 0 || expects ? "workshop.caseFailed" : "workshop.caseMute");
  const to = (line: number | null) => (
    <button type="button" class="link place" onClick={() => jump({ file, line: line ?? 1 })}>
      <code>{[file, line].filter(Boolean).join(":")}</code>
    </button>
  );
  if (isPassed && warnings.length === 0)
    return (
      <li>
        {icon("check")} {to(null)} {state}
      </li>
    );
  return (
    <li>
      <details open>
        <summary>
          <code>{file}</code> <span class={isPassed ? "" : "bad"}>{state}</span>
        </summary>
        {failures.map((failure, i) =>
          failure.error ? (
            <ul key={i}>
              <Fault fault={failure.error} jump={jump} />
            </ul>
          ) : (
            <div key={i} class="failure">
              <p>
                <strong>{failure.expected === null ? sentence(failure.what) : failure.what}</strong> {to(failure.line)}
              </p>
              {failure.expected !== null && (
                <div class="sides">
                  <TestOutput name={t("workshop.expected")} text={failure.expected} />
                  <TestOutput name={t("workshop.found")} text={failure.found ?? ""} />
                </div>
              )}
            </div>
          ),
        )}
        {warnings.map((words, i) => (
          <p key={i} class="aside">
            {sentence(words)}
          </p>
        ))}
      </details>
    </li>
  );
}

const TestOutput = ({ name, text }: { name: string; text: string }) => (
  <div>
    <p class="aside">{name}</p>
    <pre tabindex={0}>{text || t("operations.none")}</pre>
  </div>
);
