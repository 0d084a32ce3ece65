// Pictures of other servers in messages: the question whether they are shown, once for each character, in its place.
import { h, html, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { allowOutside, askHere, learnOutside, meetPictures, pictureAt, readOutside } from "../actions/outside.js";
import { focusMessage } from "../lib/focus.js";
import { addEnglish, locale, t } from "../lib/i18n.js";
import { hidePictures, hostsIn, showPictures } from "../lib/outside.js";
import words from "../lib/strings/en-outside.js";
import { characterById } from "../model/library.js";
import { askedAt, outsideOf } from "../model/outside.js";
import { nodeOf } from "../model/story.js";
import { icon } from "./parts.js";

/** @import { ChatNode, Id } from "../lib/wire.d.ts" */

addEnglish(words);

/** Whose answer holds for a message. A reader's own words, and what is nobody's, never load anything. @param {ChatNode | null} node */
const cardOf = (node) => (node && node.role !== "user" ? (node.characterId ?? null) : null);

/** @param {Id} cid */
const wayOf = (cid) => ({ at: (/** @type {string} */ address) => pictureAt(cid, address), failed: () => void readOutside(cid) });

/**
 * Shows the pictures of a text that was just drawn, or asks.
 * @param {{current: HTMLElement | null}} host @param {Id} id of the message @param {unknown[]} drawnFor
 * @returns the question, where it is to be asked here
 */
export function usePictures(host, id, drawnFor) {
  const cid = cardOf(nodeOf(id));
  const hosts = useSignal(/** @type {string[]} */ ([]));
  const allowed = cid === null ? null : outsideOf(cid).value.allowed;
  useLayoutEffect(() => {
    const found = cid && host.current ? hostsIn(host.current) : [];
    if (found.join() !== hosts.peek().join()) hosts.value = found;
  }, [id, cid, ...drawnFor]);
  useLayoutEffect(() => {
    if (!cid || !host.current) return;
    if (allowed === true) showPictures(host.current, id, wayOf(cid));
    else hidePictures(host.current, id, allowed === undefined ? null : () => askHere(cid, id));
  }, [id, cid, allowed, ...drawnFor]);
  const has = hosts.value.length > 0;
  useLayoutEffect(() => (cid && has ? meetPictures(cid, id) : undefined), [id, cid, has]);
  return cid && has && askedAt(cid) === id ? h(Question, { cid, id, hosts: hosts.value, isWanted: outsideOf(cid).value.wanted === id }) : null;
}

/** The same for a text that is being written: nobody is asked before it is complete. @param {HTMLElement} host @param {ChatNode} node */
export function showPicturesNow(host, node) {
  const cid = cardOf(node);
  if (!cid || !host.querySelector("[data-outside]")) return;
  learnOutside(cid);
  if (outsideOf(cid).value.allowed === true) showPictures(host, node.id, wayOf(cid));
}

/** @param {{cid: Id, id: Id, hosts: string[], isWanted: boolean}} props `isWanted`: a reader asked for it, and is led to it */
function Question({ cid, id, hosts, isWanted }) {
  const yes = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => void (isWanted && yes.current?.focus()), [isWanted]);
  const answer = async (/** @type {boolean} */ allowed) => {
    if (await allowOutside(cid, allowed)) focusMessage(id);
  };
  const name = characterById(cid)?.name ?? t("narrator");
  return html`<div class="outside-question" role="group" aria-label=${t("outside.ask", { name })}>${icon("picture")}<div><p><strong>${t("outside.ask", { name })}</strong></p>
    <p>${t("outside.learns", { hosts: new Intl.ListFormat(locale.value).format(hosts) })}</p>
    <div class="actions"><button type="button" ref=${yes} onClick=${() => answer(true)}>${t("outside.show")}</button><button type="button" class="link" onClick=${() => answer(false)}>${t("outside.never")}</button></div></div></div>`;
}
