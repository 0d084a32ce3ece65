// "Why is it so?": the history of a value of the state, message by message. Loaded when first opened.
import { Fragment, h, useSignal } from "../../vendor/preact.js";
import { moveHeadTo } from "../actions/branches.ts";
import { attempt } from "../actions/error-text.ts";
import { readValueHistory } from "../actions/value-history.ts";
import { formulaOf } from "../lib/causes.ts";
import { excerpt } from "../lib/excerpt.ts";
import { addEnglish, clock, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-history.ts";
import { quoteText } from "../lib/hidden-tags.ts";
import { plainText, steps } from "../lib/text.ts";
import { valueText, pathLabel, rows } from "../model/world.ts";
import { ApiError } from "../net/api.ts";
import { speakerName as speaker } from "../tree/speaker.ts";
import { Causes } from "./causes.tsx";
import { Modal, LoadingRows, icon } from "./common.tsx";
import { QueryError, useQuery } from "./use-query.tsx";
import { secretMark } from "./secret.tsx";
import type { ValueEvent, ValueHistory } from "../actions/value-history.ts";
import type { Change, ChatNode, Json } from "../lib/wire.d.ts";

addEnglish(words);

/** Maximum length of the start of a message in its title, in characters. */
const BEGINNING = 60;

export function ValueHistoryDialog({ path }: { path: string }) {
  const row = rows.value.get(path);
  const found = useQuery(() => readValueHistory(path), path);
  const name = pathLabel(path);
  const formula = formulaOf(row?.schema["x-computed"]);
  return (
    <Modal title={t("history.title", { name })} class="wide history">
      {row && (
        <p class="aside">
          <code>{path}</code>
          {row.description && <> · {row.description}</>}
        </p>
      )}
      {formula.length > 0 && (
        <div>
          <p>{t("history.computed")}</p>
          <ul class="causes">
            {formula.map((one, i) => (
              <li key={i}>
                <code>{one}</code>
              </li>
            ))}
          </ul>
        </div>
      )}
      {found === null ? (
        <LoadingRows rows={3} />
      ) : found instanceof ApiError ? (
        <QueryError error={found} />
      ) : (
        <Line key={path} path={path} first={found} />
      )}
    </Modal>
  );
}

function Line({ path, first }: { path: string; first: ValueHistory }) {
  const all = useSignal(first);
  const isBusy = useSignal(false);
  const more = async () => {
    if (isBusy.peek()) return;
    isBusy.value = true;
    const found = await attempt(() => readValueHistory(path, all.peek().next));
    isBusy.value = false;
    if (found) all.value = { events: [...all.peek().events, ...found.events], next: found.next };
  };
  const { events, next } = all.value;
  return (
    <>
      {events.length === 0 && <p class="aside">{t(next ? "history.noneYet" : "history.none")}</p>}
      {events.length > 0 && (
        <ol class="events">
          {events.map((event) => (
            <ValueEventItem key={event.delta.nodeId} path={path} event={event} />
          ))}
        </ol>
      )}
      {next && (
        <div class="actions start">
          <button type="button" aria-disabled={isBusy.value ? "true" : undefined} onClick={more}>
            {icon("rewind")}
            <span>{t("history.more")}</span>
          </button>
        </div>
      )}
    </>
  );
}

function ValueEventItem({ path, event: { delta, node, changes, causes } }: { path: string; event: ValueEvent }) {
  const name = titleOf(node);
  const isMessage = node !== null && node.kind !== "change" && node.kind !== "root";
  return (
    <li>
      <p class="differences">
        {changes.map((change) => (
          <Difference key={change.path} path={path} change={change} />
        ))}
      </p>
      <p class="aside">
        {isMessage ? (
          <button type="button" class="link" onClick={() => moveHeadTo(delta.nodeId, false)}>
            {name}
          </button>
        ) : (
          name
        )}
      </p>
      {causes.length > 0 ? <Causes causes={causes} /> : <p class="aside">{t("history.unknown")}</p>}
    </li>
  );
}

function titleOf(node: ChatNode | null) {
  if (!node) return t("history.gone");
  if (node.kind === "root") return t("history.root");
  if (node.kind === "change") return `${t("history.beside")}, ${clock(node.timestamp)}`;
  const text = node.role === "user" ? plainText(node.content) : quoteText(node.display ?? node.content);
  return `${speaker(node)}, ${clock(node.timestamp)}: ${excerpt(text, BEGINNING)}`;
}

/** A change such as "15 → 22". A value inside the displayed one has its relative path before it. */
function Difference({ path, change }: { path: string; change: Change }) {
  const inner = change.path.startsWith(`${path}/`) ? steps(change.path).slice(steps(path).length).join(" · ") : "";
  const valueOrDash = (value: Json | undefined) =>
    value === undefined ? t("history.nothing") : valueText(rows.value.get(change.path), value);
  return (
    <b>
      {inner && `${inner}: `}
      {valueOrDash(change.before)} → {valueOrDash(change.after)}
      {secretMark(change.path)}
    </b>
  );
}
