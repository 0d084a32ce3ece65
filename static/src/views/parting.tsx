// What tells lines from each other that begin alike: where they part, and how old they are.
import { h, useSignal } from "../../vendor/preact.js";
import { readPartings } from "../actions/branches.ts";
import { excerpt } from "../lib/excerpt.ts";
import { ago, moment, t } from "../lib/i18n.ts";
import { quoted } from "../lib/tags.ts";
import { useLatest } from "./reading.tsx";
import type { ChatNode, Id } from "../lib/wire.d.ts";

/** So many characters of a message name a place. */
const BEGINNING = 48;

/** @param props the last message that two lines share; null: there is none, or nobody knows yet */
export function Parting({ node }: { node: ChatNode | null }) {
  if (node === null) return null;
  const text = excerpt(quoted(node.display ?? node.content), BEGINNING);
  return <span class="parting">{text ? t("branches.parted", { text }) : t("branches.fromStart")}</span>;
}

/** @param props the last node that two lines share */
export function PartingAt({ nid }: { nid: Id }) {
  const node = useSignal<ChatNode | null>(null);
  useLatest(
    () => readPartings([nid]),
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
