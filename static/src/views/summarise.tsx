// The form for a manual summary of a run: its messages, and the text, which a model can draft. Loaded when first
// opened.
import { h, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { canArrange } from "../actions/message-state.ts";
import { canDraft, draftSummary, readMoreMessages, summarise } from "../actions/summarise.ts";
import { t } from "../lib/i18n.ts";
import { openDialog } from "../model/page.ts";
import { loadingOlder, nodeOf, olderCursor } from "../model/session-store.ts";
import { shownIds } from "../tree/shown-branch.ts";
import { Modal, icon } from "./common.tsx";
import { RunChooser, runOf } from "./run-chooser.tsx";
import type { ChatNode, Id } from "../lib/wire.d.ts";
import type { DraftProgress } from "../actions/model-drafts.ts";

/**
 * Renders the form.
 * @param props without `first`, the run starts with the first message that is not summarised yet
 */
export function Summarise({ first, last }: { first: Id | null; last: Id }) {
  const nodes = shownIds.value.map(nodeOf).filter(canArrange) as ChatNode[];
  const run = useSignal({ first: first ?? unsummarised(nodes, last), last });
  const text = useSignal("");
  const drafting = useSignal<DraftProgress | null>(null);
  const end = useRef(() => {});
  useLayoutEffect(() => () => end.current(), []);
  const ids = runOf(nodes, run.value.first, run.value.last).map((node) => node.id);
  const stop = () => {
    end.current();
    drafting.value = null;
  };
  const begin = () => {
    text.value = "";
    drafting.value = { text: "", status: "waiting", place: 1 };
    end.current = draftSummary(ids, (now) => {
      text.value = now.text;
      drafting.value = now.status === "done" || now.status === "error" ? null : now;
    });
  };
  const put = (from: Id, to: Id) => {
    stop();
    run.value = { first: from, last: to };
  };
  const save = async (event: Event) => {
    event.preventDefault();
    stop();
    if (text.peek().trim()) await summarise(ids, text.peek());
  };
  const making = drafting.value;
  return (
    <Modal title={t("summarise.title")} class="wide" keeps>
      <form onSubmit={save}>
        <p class="aside">{t("summarise.text")}</p>
        <RunChooser nodes={nodes} first={run.value.first} last={run.value.last} onChange={put} />
        {olderCursor.value !== null && (
          <button
            type="button"
            class="start"
            aria-disabled={loadingOlder.value}
            onClick={() => loadingOlder.peek() || readMoreMessages()}
          >
            {t("summarise.older")}
          </button>
        )}
        <label>
          {t("speaker.summary")}
          <textarea
            rows={8}
            required
            value={text.value}
            aria-busy={making !== null}
            placeholder={making ? phaseOf(making) : ""}
            onInput={(event: Event) => (stop(), (text.value = (event.target as HTMLTextAreaElement).value))}
          />
        </label>
        <div class="actions">
          {canDraft() &&
            (making ? (
              <button key="stop" type="button" class="start" onClick={stop}>
                {icon("stop")}
                <span>{t("command.stopDraft")}</span>
              </button>
            ) : (
              <button key="draft" type="button" class="start" onClick={begin}>
                {icon("draft")}
                <span>{t("summarise.draft")}</span>
              </button>
            ))}
          <button type="button" onClick={() => openDialog(null)}>
            {t("cancel")}
          </button>
          <button type="submit" class="primary" disabled={!text.value.trim()}>
            {t("summarise.take")}
          </button>
        </div>
      </form>
    </Modal>
  );
}

const phaseOf = ({ status, place }: DraftProgress) =>
  status === "queued" ? t("phase.queued", { n: place }) : t(status === "thinking" ? "phase.thinking" : "phase.waiting");

/** Returns the first message after the newest summary above `last`. */
function unsummarised(nodes: ChatNode[], last: Id) {
  const run = runOf(nodes, nodes[0]?.id ?? last, last);
  const after = run.findLastIndex((node) => node.kind === "summary" && node.id !== last) + 1;
  return run[after]?.id ?? last;
}
