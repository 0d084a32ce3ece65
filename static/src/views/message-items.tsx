// The items of a message's menu.
import { Fragment, h } from "../../vendor/preact.js";
import { rate } from "../actions/message-state.ts";
import { canRun } from "../actions/commands.ts";
import "../actions/save-lore-entry.ts";
import "../actions/move.ts";
import "../actions/purge.ts";
import "../actions/replies.ts";
import "../actions/summarise.ts";
import "../actions/export.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import loreTexts from "../lib/strings/en-lore.ts";
import cardsTexts from "../lib/strings/en-cards.ts";
import { MAX_STARS } from "./message-menu.tsx";
import { CommandButton, icon } from "./common.tsx";
import type { ChatNode } from "../lib/wire.d.ts";

addEnglish(loreTexts);
addEnglish(cardsTexts);

const ITEMS = [
  "message.goOn",
  "message.otherModel",
  "message.setCurrent",
  "message.compare",
  "message.label",
  "message.mute",
  "message.unmute",
  "message.link",
  "message.exportAs",
  "message.keepLore",
  "message.choose",
  "message.summarise",
  "message.copyTo",
  "message.move",
];

export function MessageItems({ node, without, first }: { node: ChatNode; without: string[]; first: string[] }) {
  return (
    <>
      {canRun("message.rate", node) && (
        <>
          <StarRow node={node} />
          <hr />
        </>
      )}
      {first.length > 0 && (
        <>
          {first.map((id) => (
            <CommandButton key={id} id={id} node={node} wide />
          ))}
          <hr />
        </>
      )}
      {ITEMS.filter((id) => !without.includes(id)).map((id) => (
        <CommandButton key={id} id={id} node={node} wide />
      ))}
      {canRun("message.prune", node) && (
        <>
          <hr />
          <CommandButton id="message.prune" node={node} wide />
          <CommandButton id="message.purge" node={node} wide />
        </>
      )}
    </>
  );
}

function StarRow({ node }: { node: ChatNode }) {
  const has = node.metadata?.rating ?? 0;
  return (
    <div class="stars" role="group" aria-label={t("rating.label")}>
      {Array.from({ length: MAX_STARS }, (_, i) => {
        const name = t(i + 1 === has ? "rating.takeBack" : "rating.stars", { n: i + 1 });
        return (
          <button
            key={i}
            type="button"
            class={i < has ? "given" : ""}
            aria-pressed={i + 1 === has}
            aria-label={name}
            title={name}
            onClick={() => rate(node, i + 1)}
          >
            {icon("star")}
          </button>
        );
      })}
    </div>
  );
}
