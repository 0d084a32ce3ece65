// Git terms and their names in Clotho. Loaded when first opened.
import { Fragment, h } from "../../vendor/preact.js";
import "../actions/message-state.ts";
import "../actions/branches.ts";
import { command } from "../actions/commands.ts";
import "../actions/merge.ts";
import "../actions/move.ts";
import "../actions/stash.ts";
import "../actions/summarise.ts";
import "../actions/export.ts";
import "../actions/transfers.ts";
import "../actions/turn.ts";
import { GIT_TERMS } from "../lib/git-terms.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import cardsTexts from "../lib/strings/en-cards.ts";
import { shortcutText } from "../lib/shortcuts.ts";
import { Modal, icon } from "./common.tsx";

addEnglish(cardsTexts);

export const GitTerms = () => (
  <Modal title={t("command.git")} class="wide">
    <p>{t("git.text")}</p>
    <div class="table" tabindex={0}>
      <table class="git">
        <thead>
          <tr>
            <th>Git</th>
            <th>{t("git.here")}</th>
            <th>{t("git.meaning")}</th>
          </tr>
        </thead>
        <tbody>
          {GIT_TERMS.map(({ word, git, commands }) => (
            <tr key={word}>
              <th>
                <code>{git}</code>
              </th>
              <td>
                {commands.map((id) => (
                  <Name key={id} id={id} />
                ))}
              </td>
              <td>{t(`git.${word}`)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </Modal>
);

function Name({ id }: { id: string }) {
  const { label, keys, icon: symbol } = command(id);
  return (
    <span class="named">
      {icon(symbol)}
      <span>{t(label)}</span>
      {keys?.[0] && (
        <>
          {" "}
          <kbd>{shortcutText(keys[0])}</kbd>
        </>
      )}
    </span>
  );
}
