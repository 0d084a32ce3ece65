// What distinguishes branches that begin alike: where they part, and their age.
import { h, useSignal } from "../../vendor/preact.js";
import { readForkMessages } from "../actions/branches.ts";
import { excerpt } from "../lib/excerpt.ts";
import { ago, moment, t } from "../lib/i18n.ts";
import { quoted } from "../lib/hidden-tags.ts";
import { useLatest } from "./reading.tsx";
import type { ChatNode, Id } from "../lib/wire.d.ts";

/** Maximum length of the quoted text in characters. */
const BEGINNING = 48;

/**
 * Shows where two branches part.
 * @param props the last message that both share; null: there is none, or it is not known yet
 */
export function Parting({ node }: { node: ChatNode | null }) {
  if (node === null) return null;
  const text = excerpt(quoted(node.display ?? node.content), BEGINNING);
  return <span class="parting">{text ? t("branches.parted", { text }) : t("branches.fromStart")}</span>;
}

/**
 * Shows where two branches part, and loads the message.
 * @param props the last node that both share
 */
export function PartingAt({ nid }: { nid: Id }) {
  const node = useSignal<ChatNode | null>(null);
  useLatest(
    () => readForkMessages([nid]),
    (found) => (node.value = found.get(nid) ?? null),
    [nid],
  );
  return <Parting node={node.value} />;
}

export const Ago = ({ timestamp }: { timestamp: string }) => (
  <time datetime={timestamp} title={moment(timestamp)}>
    {ago(timestamp, Date.now())}
  </time>
);
