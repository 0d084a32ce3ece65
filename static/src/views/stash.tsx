// The stash: removed parts of the story, which can be read, restored, moved, renamed or purged. Loaded when first
// opened.
import { Fragment, h, useEffect, useSignal } from "../../vendor/preact.js";
import { startMovingFragment } from "../actions/move.ts";
import { restoreFragment, readFragment, renameFragment } from "../actions/stash.ts";
import { attempt } from "../actions/error-text.ts";
import { ago, moment, t } from "../lib/i18n.ts";
import { excerpt } from "../lib/excerpt.ts";
import { plainText } from "../lib/text.ts";
import { fragments } from "../model/arrangement.ts";
import { mayRearrange, openDialog } from "../model/page.ts";
import { purgeCount } from "../model/session-store.ts";
import { fragmentOrder } from "../tree/fragment.ts";
import { speakerName } from "../tree/speaker.ts";
import { handleOfFragment } from "./drag.ts";
import { ReadOnly } from "./message.tsx";
import { EmptyState, Modal, LoadingRows, icon } from "./common.tsx";
import { Purge } from "./purge.tsx";
import { takeFocus } from "./confirmation.tsx";
import type { Key } from "../lib/i18n.ts";
import type { ChatNode, Fragment as StashFragment, Id } from "../lib/wire.d.ts";

/**
 * Renders the stash.
 * @param props the id of the fragment that is opened at once
 */
export function Stash({ opened }: { opened: Id | null }) {
  const list = fragments.value;
  return (
    <Modal title={t("command.stash")} class="wide">
      <div class="stash">
        {list === null ? (
          <LoadingRows rows={3} />
        ) : list.length === 0 ? (
          <EmptyState symbol="stash" title={t("stash.empty")} hint={t("stash.emptyHint")} />
        ) : (
          <ul>
            {list.map((fragment) => (
              <Row key={fragment.id} fragment={fragment} isOpened={fragment.id === opened} />
            ))}
          </ul>
        )}
      </div>
    </Modal>
  );
}

type FragmentAction = "" | "read" | "rename" | "purge";

/** Returns the name of a fragment, or the start of its text if it has none. */
export const titleOf = ({ name, firstLine }: StashFragment) => name || excerpt(firstLine) || t("stash.nameless");

function Row({ fragment, isOpened }: { fragment: StashFragment; isOpened: boolean }) {
  const doing = useSignal<FragmentAction>(isOpened ? "read" : "");
  const name = titleOf(fragment);
  const turn = (to: FragmentAction) => (doing.value = doing.peek() === to ? "" : to);
  const button = (label: Key, symbol: string, act: () => unknown, open?: boolean) => (
    <button type="button" aria-expanded={open} onClick={act}>
      {icon(symbol)}
      <span>{t(label)}</span>
    </button>
  );
  return (
    <li class="fragment">
      <article aria-label={name}>
        <h3 {...(mayRearrange.value ? handleOfFragment(fragment.id, name) : {})}>{name}</h3>
        <p class="aside">
          {fragment.name && fragment.firstLine && (
            <>
              <q>{excerpt(plainText(fragment.firstLine))}</q> ·{" "}
            </>
          )}
          {t("stash.count", { n: fragment.count })} ·{" "}
          <time datetime={fragment.createdAt} title={moment(fragment.createdAt)}>
            {ago(fragment.createdAt, Date.now())}
          </time>
        </p>
        {!fragment.canReturn && (
          <p class="aside no-return">
            {icon("warning")}
            <span>{t(fragment.originId ? "stash.originOut" : "stash.originGone")}</span>
          </p>
        )}
        <div class="actions">
          {mayRearrange.value && (
            <>
              {fragment.canReturn && button("stash.putBack", "undo", () => restoreFragment(fragment.id))}
              {button("stash.putBelow", "move", () => startMovingFragment(fragment.id, name, false))}
              {button("stash.copyBelow", "copyTo", () => startMovingFragment(fragment.id, name, true))}
            </>
          )}
          {button("stash.read", "eye", () => turn("read"), doing.value === "read")}
          {button("command.keepLore", "lore", () =>
            openDialog({ kind: "saveLoreEntry", passage: { fragmentId: fragment.id } }),
          )}
          {button("stash.rename", "edit", () => turn("rename"), doing.value === "rename")}
          {mayRearrange.value && button("command.purge", "shred", () => turn("purge"), doing.value === "purge")}
        </div>
        {doing.value === "read" && <Contents id={fragment.id} />}
        {doing.value === "rename" && <Rename fragment={fragment} done={() => (doing.value = "")} />}
        {doing.value === "purge" && <Purge piece={{ fragmentId: fragment.id }} keep={() => (doing.value = "")} />}
      </article>
    </li>
  );
}

export function Rename({ fragment, done }: { fragment: StashFragment; done: () => void }) {
  const save = async (event: Event) => {
    event.preventDefault();
    const name = String(new FormData(event.target as HTMLFormElement).get("name") ?? "").trim();
    if (await renameFragment(fragment.id, name)) done();
  };
  return (
    <form onSubmit={save}>
      <label>
        {t("stash.name")}
        <input name="name" maxlength={100} ref={takeFocus} defaultValue={fragment.name ?? ""} />
      </label>
      <div class="actions">
        <button type="button" onClick={done}>
          {t("cancel")}
        </button>
        <button type="submit" class="primary">
          {t("save")}
        </button>
      </div>
    </form>
  );
}

// Reading

/** Maximum number of indentation steps; deeper branches stay at the last one. */
const MAX_INDENT = 6;

/** Shows the messages of a fragment. Later branches are indented further. */
export function Contents({ id }: { id: Id }) {
  const nodes = useSignal<ChatNode[]>([]);
  const next = useSignal<string | null | undefined>(undefined);
  const more = async () => {
    const page = await attempt(() => readFragment(id, next.peek() ?? undefined));
    if (!page) return;
    nodes.value = [...nodes.peek(), ...page.items];
    next.value = page.next;
  };
  useEffect(() => {
    nodes.value = [];
    next.value = undefined;
    void more();
  }, [id, purgeCount.value]);
  if (next.value === undefined) return <LoadingRows rows={2} />;
  return (
    <>
      <ol class="contents" aria-label={t("stash.contents")}>
        {fragmentOrder(nodes.value).map(({ node, steps }) => (
          <li key={node.id} class={`steps-${Math.min(steps, MAX_INDENT)}`}>
            <b>{speakerName(node)}</b>
            <ReadOnly node={node} />
          </li>
        ))}
      </ol>
      {next.value && (
        <button type="button" onClick={more}>
          {t("stash.more")}
        </button>
      )}
    </>
  );
}
