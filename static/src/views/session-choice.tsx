// The choice of another story as the target of a copy. Loaded when first opened.
import { h } from "../../vendor/preact.js";
import { readMoreSessions } from "../actions/library.ts";
import { copyToSession } from "../actions/move.ts";
import { excerpt } from "../lib/excerpt.ts";
import { t } from "../lib/i18n.ts";
import { quoteText } from "../lib/hidden-tags.ts";
import { loading, moreSessions, sessions } from "../model/library.ts";
import { session } from "../model/session-store.ts";
import { Ago } from "./fork-message.tsx";
import { EmptyState, Modal, LoadingRows, icon } from "./common.tsx";
import type { Session } from "../lib/wire.d.ts";

export function SessionChoice() {
  const others = sessions.value.filter(({ id, mode }) => id !== session.value?.id && mode !== "linear");
  return (
    <Modal title={t("command.elsewhere")} class="wide">
      <div class="stash">
        <p class="aside">{t("stories.text")}</p>
        {loading.value.state !== "ready" ? (
          <LoadingRows rows={3} />
        ) : others.length === 0 ? (
          <EmptyState symbol="book" title={t("stories.none")} />
        ) : (
          <ul>
            {others.map((one) => (
              <Row key={one.id} session={one} />
            ))}
          </ul>
        )}
        {moreSessions.value && (
          <button type="button" onClick={readMoreSessions}>
            {t("library.more")}
          </button>
        )}
      </div>
    </Modal>
  );
}

function Row({ session: { id, title, preview = "", counts, updatedAt } }: { session: Session }) {
  const length = [
    counts && t("library.turns", { n: counts.turns }),
    counts && counts.branches > 1 && t("library.branches", { n: counts.branches }),
  ]
    .filter(Boolean)
    .join(" · ");
  return (
    <li class="fragment branch">
      <article aria-label={title}>
        <span class="aside">{icon("book")}</span>
        <div>
          <h3>{title}</h3>
          <p class="aside">
            {preview && <span>{excerpt(quoteText(preview), 80)}</span>}
            <span>
              {length && `${length} · `}
              <Ago timestamp={updatedAt} />
            </span>
          </p>
        </div>
        <button type="button" onClick={() => copyToSession(id)}>
          {icon("right")}
          <span>{t("stories.choose")}</span>
        </button>
      </article>
    </li>
  );
}
