// Where a message comes from that was not written where it stands: what a summary stands for, what was brought over,
// what was copied.
import { h } from "../../vendor/preact.js";
import { lookAt, toOriginals } from "../actions/provenance.ts";
import { t } from "../lib/i18n.ts";
import { nodeOf, session } from "../model/story.ts";
import { icon } from "./parts.tsx";
import type { ChatNode } from "../lib/wire.d.ts";

export function Provenance({ node }: { node: ChatNode }) {
  const { summarizedFrom = [], mergedFrom, provenance } = node.metadata ?? {};
  const [first] = summarizedFrom;
  if (node.kind === "summary" && first)
    return <Way text={t("provenance.summary", { n: summarizedFrom.length })} go={() => toOriginals(summarizedFrom)} />;
  // What came in one piece says it once, at its top.
  const above = nodeOf(node.parentId)?.metadata;
  if (mergedFrom && mergedFrom !== above?.mergedFrom)
    return (
      <Way
        text={t(node.kind === "merge" ? "provenance.merge" : "provenance.run")}
        go={() => lookAt(session.peek()?.id ?? "", mergedFrom)}
      />
    );
  // What came from a file has no original to go to: "Why?" says which file it was.
  if (!provenance?.sessionId || above?.provenance?.sessionId) return null;
  const { sessionId, nodeId } = provenance;
  return (
    <Way
      text={t(sessionId === session.value?.id ? "provenance.copy" : "provenance.copyFrom")}
      go={() => lookAt(sessionId, nodeId)}
    />
  );
}

const Way = ({ text, go }: { text: string; go: () => unknown }) => (
  <p class="provenance">
    <span>{text}</span>
    <button type="button" onClick={go}>
      {icon("eye")}
      <span>{t("provenance.go")}</span>
    </button>
  </p>
);
