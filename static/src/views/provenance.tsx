// The origin of a message that was not written at its place: a summary, a merged message, or a copy.
import { h } from "../../vendor/preact.js";
import { viewOriginal, showSummarised } from "../actions/provenance.ts";
import { t } from "../lib/i18n.ts";
import { nodeOf, session } from "../model/session-store.ts";
import { icon } from "./common.tsx";
import type { ChatNode } from "../lib/wire.d.ts";

export function Provenance({ node }: { node: ChatNode }) {
  const { summarizedFrom = [], mergedFrom, provenance } = node.metadata ?? {};
  const [first] = summarizedFrom;
  if (node.kind === "summary" && first)
    return (
      <OriginLink
        text={t("provenance.summary", { n: summarizedFrom.length })}
        go={() => showSummarised(summarizedFrom)}
      />
    );
  // A merged run names its origin once, at its first message.
  const above = nodeOf(node.parentId)?.metadata;
  if (mergedFrom && mergedFrom !== above?.mergedFrom)
    return (
      <OriginLink
        text={t(node.kind === "merge" ? "provenance.merge" : "provenance.run")}
        go={() => viewOriginal(session.peek()?.id ?? "", mergedFrom)}
      />
    );
  // An imported message has no original to open; "Why?" names its file.
  if (!provenance?.sessionId || !provenance.nodeId || above?.provenance?.sessionId) return null;
  const { sessionId, nodeId } = provenance;
  return (
    <OriginLink
      text={t(sessionId === session.value?.id ? "provenance.copy" : "provenance.copyFrom")}
      go={() => viewOriginal(sessionId, nodeId)}
    />
  );
}

const OriginLink = ({ text, go }: { text: string; go: () => unknown }) => (
  <p class="provenance">
    <span>{text}</span>
    <button type="button" onClick={go}>
      {icon("eye")}
      <span>{t("provenance.go")}</span>
    </button>
  </p>
);
