// Where a message comes from that was not written where it stands: what a summary stands for, what was brought over, what
// was copied.
import { h, html } from "../../vendor/preact.js";
import { lookAt, toOriginals } from "../actions/provenance.js";
import { t } from "../lib/i18n.js";
import { nodeOf, session } from "../model/story.js";
import { icon } from "./parts.js";

/** @import { ChatNode } from "../lib/wire.d.ts" */

/** @param {{node: ChatNode}} props */
export function Provenance({ node }) {
  const { summarizedFrom = [], mergedFrom, provenance } = node.metadata ?? {};
  const [first] = summarizedFrom;
  if (node.kind === "summary" && first) return h(Way, { text: t("provenance.summary", { n: summarizedFrom.length }), go: () => toOriginals(summarizedFrom) });
  // What came in one piece says it once, at its top.
  const above = nodeOf(node.parentId)?.metadata;
  if (mergedFrom && mergedFrom !== above?.mergedFrom) return h(Way, { text: t(node.kind === "merge" ? "provenance.merge" : "provenance.run"), go: () => lookAt(session.peek()?.id ?? "", mergedFrom) });
  // What came from a file has no original to go to: "Why?" says which file it was.
  if (!provenance?.sessionId || above?.provenance?.sessionId) return null;
  const { sessionId, nodeId } = provenance;
  return h(Way, { text: t(sessionId === session.value?.id ? "provenance.copy" : "provenance.copyFrom"), go: () => lookAt(sessionId, nodeId) });
}

/** @param {{text: string, go: () => unknown}} props */
const Way = ({ text, go }) => html`<p class="provenance"><span>${text}</span><button type="button" onClick=${go}>${icon("eye")}<span>${t("provenance.go")}</span></button></p>`;
