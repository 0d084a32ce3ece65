// A run of messages: the user chooses its first and its last message.
import { Fragment, h } from "../../vendor/preact.js";
import { excerpt } from "../lib/excerpt.ts";
import { clock, t } from "../lib/i18n.ts";
import { quoteText } from "../lib/hidden-tags.ts";
import { speakerName } from "../tree/speaker.ts";
import { ReadOnly } from "./message.tsx";
import { icon } from "./common.tsx";
import type { ChatNode, Id } from "../lib/wire.d.ts";

/** Number of characters that a list shows of a message. */
const EXCERPT_LENGTH = 60;

/** Returns the title of a message. Equal messages differ by their number and time. */
const titleOf = (node: ChatNode, i: number) =>
  `${i + 1}. ${speakerName(node)}, ${clock(node.timestamp)}: ${excerpt(quoteText(node.display ?? node.content), EXCERPT_LENGTH)}`;

/** Returns the messages from the first to the last of a run. */
export function runOf(nodes: ChatNode[], first: Id, last: Id) {
  const place = (id: Id) => nodes.findIndex((node) => node.id === id);
  return nodes.slice(Math.max(0, place(first)), place(last) + 1);
}

interface RunChooserProps {
  nodes: ChatNode[];
  first: Id;
  last: Id;
  onChange: (first: Id, last: Id) => void;
}

export function RunChooser({ nodes, first, last, onChange }: RunChooserProps) {
  const at = (id: Id) => nodes.findIndex((node) => node.id === id);
  const run = runOf(nodes, first, last);
  const choice = (which: "first" | "last", now: Id) => (
    <label>
      {t(`run.${which}`)}
      <select value={now} onChange={(event: Event) => turn(which, (event.target as HTMLSelectElement).value)}>
        {nodes.map((node, i) => (
          <option key={node.id} value={node.id} selected={node.id === now}>
            {titleOf(node, i)}
          </option>
        ))}
      </select>
    </label>
  );
  const turn = (which: "first" | "last", id: Id) =>
    which === "first" ? onChange(id, at(last) < at(id) ? id : last) : onChange(at(id) < at(first) ? id : first, id);
  return (
    <>
      <div class="run">
        {choice("first", first)}
        {choice("last", last)}
      </div>
      <details>
        <summary>{t("stash.count", { n: run.length })}</summary>
        <ol class="contents">
          {run.map((node) => (
            <Text key={node.id} node={node} />
          ))}
        </ol>
      </details>
    </>
  );
}

/** Renders a message that can only be read. */
export const Text = ({ node }: { node: ChatNode }) => (
  <li class={node.isEnabled === false ? "disabled" : ""}>
    <b>{speakerName(node)}</b>
    {node.isEnabled === false && (
      <>
        {" "}
        <small>
          {icon("eyeOff")}
          {t("message.leftOut")}
        </small>
      </>
    )}
    <ReadOnly node={node} />
  </li>
);
