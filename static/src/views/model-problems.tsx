// Why model servers cannot be used, or do not list their models.
import { Fragment, h } from "../../vendor/preact.js";
import { t } from "../lib/i18n.ts";
import { modelFailureText } from "../lib/model-failure.ts";
import { models } from "../model/library.ts";
import { icon } from "./common.tsx";

export function ModelProblems() {
  return (
    <>
      {models.value?.problems.map((problem) => (
        <p key={problem.provider} class="problem">
          {icon("warning")}
          <span>
            <b>{problem.provider}</b> {t("models.problem")} {modelFailureText(problem)}
          </span>
        </p>
      ))}
    </>
  );
}
