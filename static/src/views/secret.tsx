// Secret values of a state: the mark beside a visible one, and the notice that something is withheld.
import { h } from "../../vendor/preact.js";
import { run } from "../actions/commands.ts";
import "../actions/hidden-values.ts";
import { t } from "../lib/i18n.ts";
import { isShownSecret } from "../model/world.ts";
import { icon } from "./common.tsx";

/** Marks a value that players do not see. */
export const SecretMark = ({ path }: { path: string }) =>
  isShownSecret(path) && (
    <span class="secret" title={t("secret.mark")}>
      {icon("eyeOff")}
      <span class="hidden">{t("secret.mark")}</span>
    </span>
  );

/** States that something is hidden, with a button that shows hidden values. */
export const HiddenNote = () => (
  <p class="aside withheld">
    {icon("eyeOff")}
    <span>{t("secret.withheld")}</span>{" "}
    <button type="button" class="link" onClick={() => run("page.creator")}>
      {t("command.creator")}
    </button>
  </p>
);

export const secretMark = (path: string) => <SecretMark path={path} />;
