// The versions of a message side by side. Loaded when first used.
import { h, useEffect, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { readVersions, goToVersion } from "../actions/navigation.ts";
import { closeVersions } from "../actions/turn-bar.ts";
import { t } from "../lib/i18n.ts";
import { quoteText } from "../lib/hidden-tags.ts";
import { plainText } from "../lib/text.ts";
import { siblingsOf, nodeOf } from "../model/session-store.ts";
import { icon } from "./common.tsx";
import type { ChatNode, Id } from "../lib/wire.d.ts";

export function Versions({ node }: { node: ChatNode }) {
  const ids = siblingsOf(node).value;
  const list = useRef<HTMLOListElement | null>(null);
  useEffect(() => void readVersions(node), [ids]);
  useLayoutEffect(() => {
    const card = list.current?.querySelector("[aria-current]") as HTMLElement | null;
    if (list.current && card)
      list.current.scrollLeft = card.offsetLeft - (list.current.clientWidth - card.offsetWidth) / 2;
  }, [node.id]);
  return (
    <section class="fan" aria-label={t("versions.title", { n: ids.length })}>
      <header>
        <h2>{t("versions.title", { n: ids.length })}</h2>
        <button
          type="button"
          class="round"
          aria-label={t("versions.close")}
          title={t("versions.close")}
          onClick={() => closeVersions(node.id)}
        >
          {icon("close")}
        </button>
      </header>
      <ol ref={list}>
        {ids.map((id, i) => (
          <li key={id}>
            <button
              type="button"
              class="option"
              aria-current={id === node.id ? "true" : undefined}
              onClick={() => id !== node.id && goToVersion(node, id)}
            >
              <strong>{t("versions.option", { i: i + 1 })}</strong>
              <span>{previewOf(id)}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

function previewOf(id: Id) {
  const node = nodeOf(id);
  if (!node) return t("loading");
  if (node.status === "generating") return t("phase.waiting");
  return (
    (node.role === "user" ? plainText(node.content) : quoteText(node.display ?? node.content)) ||
    t(node.status === "error" ? "message.failed" : "stash.nameless")
  );
}
