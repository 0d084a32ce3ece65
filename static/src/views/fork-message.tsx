// What distinguishes branches that begin alike: where they part, and their age.
import { h, useSignal } from "../../vendor/preact.js";
import { readForkMessages } from "../actions/branches.ts";
import { excerpt } from "../lib/excerpt.ts";
import { ago, moment, t } from "../lib/i18n.ts";
import { quoteText } from "../lib/hidden-tags.ts";
import { useLatestResult } from "./use-query.tsx";
import type { ChatNode, Id } from "../lib/wire.d.ts";

/** Maximum length of the quoted text in characters. */
const MAX_QUOTE = 48;

/**
 * Shows where two branches part.
 * @param props the last message that both share; null: there is none, or it is not known yet
 */
export function ForkMessage({ node }: { node: ChatNode | null }) {
  if (node === null) return null;
  const text = excerpt(quoteText(node.display ?? node.content), MAX_QUOTE);
  return <span class="parting">{text ? t("branches.parted", { text }) : t("branches.fromStart")}</span>;
}

/**
 * Shows where two branches part, and loads the message.
 * @param props the last node that both share
 */
export function LoadedForkMessage({ nid }: { nid: Id }) {
  const node = useSignal<ChatNode | null>(null);
  useLatestResult(
    () => readForkMessages([nid]),
    (found) => (node.value = found.get(nid) ?? null),
    [nid],
  );
  return <ForkMessage node={node.value} />;
}

export const Ago = ({ timestamp }: { timestamp: string }) => (
  <time datetime={timestamp} title={moment(timestamp)}>
    {ago(timestamp, Date.now())}
  </time>
);
