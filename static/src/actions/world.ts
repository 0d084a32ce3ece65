// Reads the state at the node on screen, and changes it by hand.
import { addEnglish, t } from "../lib/i18n.ts";
import storyTexts from "../lib/strings/en-story.ts";
import { sentence } from "../lib/text.ts";
import { codedMessageText } from "../lib/coded-message.ts";
import { offerHint } from "../model/page.ts";
import * as deltas from "../model/deltas.ts";
import * as page from "../model/page.ts";
import * as store from "../model/session-store.ts";
import * as model from "../model/world.ts";
import * as api from "../net/api.ts";
import { ApiError } from "../net/api.ts";
import { attempt } from "./error-text.ts";
import { refresh, sid } from "./session-sync.ts";
import type { Id, Json } from "../lib/wire.d.ts";

addEnglish(storyTexts);

/** Maximum number of nodes per request. */
const MAX = 500;

/** Returns the nodes of the turn that ends at a node: the node and the message it answers. */
function turnEndingAt(nid: Id) {
  const node = store.peekNode(nid);
  if (node?.role !== "assistant" || node.kind === "change") return [nid];
  const line = store.branch.peek();
  const asked = store.peekNode(line[line.indexOf(nid) - 1] ?? null);
  return asked?.role === "user" ? [asked.id, nid] : [nid];
}

/** Reads the state after a node, and what its turn changed. */
export async function readWorld(nid: Id | null) {
  const session = store.session.peek();
  if (!session || !nid) {
    deltas.clearDeltas();
    return model.setWorld(null);
  }
  const age = deltas.deltasVersion.peek();
  const known = model.loadedWorld.peek();
  if (known?.nid === nid && known.deltasVersion === age) return void readDeltas().then(() => offerGoBackHint(nid));
  try {
    const [at] = await Promise.all([api.world(session.id, nid), readDeltas()]);
    if (store.stateNode() !== nid) return;
    model.setWorld({ nid, at, turn: turnEndingAt(nid), deltasVersion: age });
    lastChecked = null;
    offerGoBackHint(nid);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (store.stateNode() === nid) model.setWorldError(error);
  }
}

/** The last message that was checked for a bad roll. */
let lastChecked: Id | null = null;

/**
 * Offers the hint to go back after a bad roll. HEAD may be at a reply before the page knows that it is complete. Then
 * the check waits until its delta is known.
 */
function offerGoBackHint(nid: Id) {
  const node = store.peekNode(nid);
  if (
    lastChecked === nid ||
    store.stateNode() !== nid ||
    node?.status !== "complete" ||
    deltas.missingDeltas([nid]).length > 0
  )
    return;
  lastChecked = nid;
  if (node.role === "assistant" && model.hasSeriousLoss()) offerHint("hint.goBack", nid);
}

let runningRead: Promise<void> | null = null;

/** Reads the deltas of all loaded messages on the branch at once. Without an answer, they are not shown. */
function readDeltas() {
  return (runningRead ??= readMissingDeltas()
    .catch(ignoreServerErrors)
    .finally(() => (runningRead = null)));
}

async function readMissingDeltas() {
  for (;;) {
    const session = store.session.peek()?.id;
    const depth = (id: Id) => store.peekNode(id)?.depth ?? 0;
    const ids = deltas
      .missingDeltas([...store.branch.peek(), ...store.changeNodes.peek()])
      .sort((one, two) => depth(one) - depth(two));
    const leaf = ids.at(-1);
    if (!session || !leaf) return;
    const age = deltas.deltasVersion.peek();
    const asked = ids.filter((id) => depth(leaf) - depth(id) < MAX);
    const items = await api.deltas(session, { leaf, limit: depth(leaf) - depth(asked[0] ?? leaf) + 1 });
    if (store.session.peek()?.id === session) deltas.setDeltas(asked, items, age);
  }
}

function ignoreServerErrors(error: unknown) {
  if (!(error instanceof ApiError)) throw error;
}

export async function changeState(operations: { op: string; path: string; value?: Json }[]): Promise<boolean> {
  const nid = store.head.peek();
  if (!nid) return false;
  const changed = await attempt(() => api.changeWorld(sid(), nid, operations));
  if (!changed) return false;
  await refresh();
  const [refused] = changed.node?.problems ?? [];
  if (refused) page.notify({ tone: "error", text: t("world.refused"), hint: sentence(codedMessageText(refused)) });
  return !refused;
}
