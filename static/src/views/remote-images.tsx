// Images from other servers in messages. The page asks once per character, inside the message, whether to show them.
import { h, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import {
  setImagePermission,
  askAtMessage,
  ensureImagePermission,
  registerImages,
  pictureAt,
  readImagePermission,
} from "../actions/remote-images.ts";
import { focusMessage } from "../lib/focus.ts";
import { addEnglish, locale, t } from "../lib/i18n.ts";
import { hideImages, hostsIn, showImages } from "../lib/remote-images.ts";
import words from "../lib/strings/en-remote-images.ts";
import { characterById } from "../model/library.ts";
import { askingMessage, imagePermissionOf } from "../model/remote-images.ts";
import { nodeOf } from "../model/session-store.ts";
import { icon } from "./common.tsx";
import type { ChatNode, Id } from "../lib/wire.d.ts";

addEnglish(words);

/** Returns the character whose permission applies. User messages, and messages without an author, never load images. */
const cardOf = (node: ChatNode | null) => (node && node.role !== "user" ? (node.characterId ?? null) : null);

const imageSourceOf = (cid: Id) => ({
  url: (address: string) => pictureAt(cid, address),
  onFail: () => void readImagePermission(cid),
});

/**
 * Shows the images of a text that was just rendered, or asks for permission.
 * @param id the id of the message
 * @returns the question, if it belongs in this message
 */
export function useRemoteImages(host: { current: HTMLElement | null }, id: Id, drawnFor: unknown[]) {
  const cid = cardOf(nodeOf(id));
  const hosts = useSignal<string[]>([]);
  const allowed = cid === null ? null : imagePermissionOf(cid).value.allowed;
  useLayoutEffect(() => {
    const found = cid && host.current ? hostsIn(host.current) : [];
    if (found.join() !== hosts.peek().join()) hosts.value = found;
  }, [id, cid, ...drawnFor]);
  useLayoutEffect(() => {
    if (!cid || !host.current) return;
    if (allowed === true) showImages(host.current, id, imageSourceOf(cid));
    else hideImages(host.current, id, allowed === undefined ? null : () => askAtMessage(cid, id));
  }, [id, cid, allowed, ...drawnFor]);
  const has = hosts.value.length > 0;
  useLayoutEffect(() => (cid && has ? registerImages(cid, id) : undefined), [id, cid, has]);
  return cid && has && askingMessage(cid) === id ? (
    <Question cid={cid} id={id} hosts={hosts.value} isWanted={imagePermissionOf(cid).value.askAt === id} />
  ) : null;
}

/**
 * Shows the images of a text that is still being generated. It never asks: the question waits until the text is
 * complete.
 */
export function showRemoteImages(host: HTMLElement, node: ChatNode) {
  const cid = cardOf(node);
  if (!cid || !host.querySelector("[data-outside]")) return;
  ensureImagePermission(cid);
  if (imagePermissionOf(cid).value.allowed === true) showImages(host, node.id, imageSourceOf(cid));
}

/**
 * Asks whether images may be loaded.
 * @param props `isWanted`: the user opened the question, and it gets the focus
 */
function Question({ cid, id, hosts, isWanted }: { cid: Id; id: Id; hosts: string[]; isWanted: boolean }) {
  const yes = useRef<HTMLButtonElement | null>(null);
  useLayoutEffect(() => void (isWanted && yes.current?.focus()), [isWanted]);
  const answer = async (allowed: boolean) => {
    if (await setImagePermission(cid, allowed)) focusMessage(id);
  };
  const name = characterById(cid)?.name ?? t("narrator");
  return (
    <div class="outside-question" role="group" aria-label={t("outside.ask", { name })}>
      {icon("picture")}
      <div>
        <p>
          <strong>{t("outside.ask", { name })}</strong>
        </p>
        <p>{t("outside.learns", { hosts: new Intl.ListFormat(locale.value).format(hosts) })}</p>
        <div class="actions">
          <button type="button" ref={yes} onClick={() => answer(true)}>
            {t("outside.show")}
          </button>
          <button type="button" class="link" onClick={() => answer(false)}>
            {t("outside.never")}
          </button>
        </div>
      </div>
    </div>
  );
}
