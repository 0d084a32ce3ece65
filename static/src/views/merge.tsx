// The dialog that merges another branch: what it brings along, and how conflicts between both branches are resolved.
// Loaded when first opened.
import { Fragment, h, useSignal } from "../../vendor/preact.js";
import { readDiff } from "../actions/branches.ts";
import { merge, readBoth } from "../actions/merge.ts";
import { t } from "../lib/i18n.ts";
import { fault } from "../lib/fields.ts";
import { valueAt } from "../lib/text.ts";
import { openDialog } from "../model/page.ts";
import { head } from "../model/session-store.ts";
import { isWithheld, labelOf, valueText, rows } from "../model/world.ts";
import { ApiError } from "../net/api.ts";
import { Field } from "./edit-value.tsx";
import { Labels } from "./label.tsx";
import { Ago, LoadedForkMessage } from "./fork-message.tsx";
import { EmptyState, Modal, LoadingRows, icon } from "./common.tsx";
import { QueryError, useQuery } from "./use-query.tsx";
import { reasonsOf } from "./reasons.ts";
import { RunChooser, runOf } from "./run-chooser.tsx";
import { takeFocus } from "./confirmation.tsx";
import type { Row } from "../lib/schema.ts";
import type { ChatNode, Conflict, DiffSide, Id, Json } from "../lib/wire.d.ts";
import type { Key } from "../lib/i18n.ts";

/**
 * Renders the merge dialog.
 * @param props `from`: the leaf of the other branch
 */
export function Merge({ from }: { from: Id }) {
  const known = useQuery(() => readDiff(head.peek() ?? from, from), from);
  return (
    <Modal title={t("command.merge")} class="wide">
      <p class="aside">{t("merge.text")}</p>
      {known === null ? (
        <LoadingRows rows={3} />
      ) : known instanceof ApiError ? (
        <QueryError error={known} />
      ) : known.to.count === 0 ? (
        <EmptyState symbol="merge" title={t("compare.nothing")} />
      ) : (
        <Parts side={known.to} ancestorId={known.ancestorId} />
      )}
    </Modal>
  );
}

interface OpenConflicts {
  path: string;
  theirs: Json | undefined;
  ours: Json | undefined;
  conflict: Conflict;
}

/** A choice for a conflict: one of the sides, or a value of the user; an Error names what was expected. */
type ConflictChoice = "ours" | "theirs" | { value: Json | Error };

/**
 * Renders the form of a merge.
 * @param props what the other branch has since the common ancestor
 */
function Parts({ side: { leafId, count, items }, ancestorId }: { side: DiffSide; ancestorId: Id }) {
  const nodes = items.filter(({ kind, status }) => kind !== "change" && status === "complete");
  const run = useSignal({ first: nodes[0]?.id ?? "", last: nodes.at(-1)?.id ?? "" });
  const alone = useSignal(nodes.length === 0);
  const open = useSignal<OpenConflicts[]>([]);
  const chosen = useSignal<{ [path: string]: ConflictChoice }>({});
  const wrong = useSignal<{ [path: string]: string }>({});
  const busy = useSignal(false);
  // A different choice of nodes can have different conflicts.
  const anew = () => (open.value = []);
  const save = async (event: Event) => {
    event.preventDefault();
    if (busy.peek()) return;
    wrong.value = faultsOf(open.peek(), chosen.peek());
    if (Object.keys(wrong.peek()).length > 0) return;
    busy.value = true;
    const ids = alone.peek() ? [] : withChanges(items, runOf(nodes, run.peek().first, run.peek().last));
    const conflicts = await merge(
      leafId,
      ids,
      open.peek().length > 0 ? (chosen.peek() as { [path: string]: Json }) : {},
    );
    if (conflicts) await ask(conflicts);
    busy.value = false;
  };
  const ask = async (conflicts: Conflict[]) => {
    const both = await readBoth(leafId);
    chosen.value = Object.fromEntries(conflicts.map(({ path }) => [path, "ours"]));
    open.value = conflicts.map((conflict) => ({
      path: conflict.path,
      conflict,
      theirs: at(both.theirs, conflict.path),
      ours: at(both.ours, conflict.path),
    }));
  };
  const hold = (path: string, value: ConflictChoice) => {
    chosen.value = { ...chosen.peek(), [path]: value };
    wrong.value = { ...wrong.peek(), [path]: "" };
  };
  const what = (is: boolean, word: "messages" | "alone") => (
    <label class="check">
      <input
        type="radio"
        name="what"
        checked={alone.value === is}
        disabled={!is && nodes.length === 0}
        onChange={() => (anew(), (alone.value = is))}
      />
      <span>
        {t(`merge.${word}`)}
        <small>{t(`merge.${word}Hint`)}</small>
      </span>
    </label>
  );
  return (
    <form novalidate onSubmit={save}>
      <p class="aside">
        <Labels nid={leafId} />
        <LoadedForkMessage nid={ancestorId} />
        {nodes.length > 0 && (
          <span>
            {t("stash.count", { n: nodes.length })} · <Ago timestamp={nodes.at(-1)?.timestamp ?? ""} />
          </span>
        )}
      </p>
      <fieldset>
        <legend>{t("merge.what")}</legend>
        {what(false, "messages")}
        {what(true, "alone")}
      </fieldset>
      {!alone.value && (
        <>
          <RunChooser
            nodes={nodes}
            {...run.value}
            onChange={(first, last) => (anew(), (run.value = { first, last }))}
          />
          {count > items.length && <p class="aside">{t("compare.older", { n: count - items.length })}</p>}
        </>
      )}
      {open.value.length > 0 && (
        <section class="conflicts" ref={takeFocus} tabindex={-1} aria-labelledby="conflicts">
          <h3 id="conflicts">
            {icon("warning")}
            {t("merge.conflicts", { n: open.value.length })}
          </h3>
          {open.value.map((one) => (
            <Choice
              key={one.path}
              open={one}
              wrong={wrong.value[one.path] ?? ""}
              put={(value) => hold(one.path, value)}
            />
          ))}
        </section>
      )}
      <div class="actions">
        <button type="button" onClick={() => openDialog(null)}>
          {t("cancel")}
        </button>
        <button type="submit" class="primary" aria-disabled={busy.value}>
          {icon("merge")}
          <span>{t("merge.take")}</span>
        </button>
      </div>
    </form>
  );
}

/** Returns the ids of a run and of the change nodes that follow its messages. */
function withChanges(items: ChatNode[], run: ChatNode[]) {
  const from = items.findIndex(({ id }) => id === run[0]?.id);
  const after = items.findIndex(
    ({ kind }, i) => i > items.findIndex(({ id }) => id === run.at(-1)?.id) && kind !== "change",
  );
  return items.slice(from, after < 0 ? undefined : after).map(({ id }) => id);
}

/**
 * Returns the value at a path.
 * @param path a path in `vars`, or one that starts with the name of another part of the state
 */
const at = (vars: Json, path: string) => (path.startsWith("/") ? valueAt(vars, path) : undefined);

const isPlain = (value: Json | undefined) => typeof value === "number" || typeof value === "string";

/**
 * Returns the row that the state panel shows for a value, or a row whose schema demands only the kind of the present
 * value.
 */
function rowOf({ path, theirs, ours }: OpenConflicts): Row {
  const kind = typeof theirs === "number" || typeof ours === "number" ? "number" : "text";
  return (
    rows.value.get(path) ?? {
      path,
      label: labelOf(path) ?? "",
      description: "",
      kind,
      schema: {},
      value: ours,
      rows: [],
    }
  );
}

/** Describes the faults of the values that the user entered, by path. */
function faultsOf(open: OpenConflicts[], chosen: { [path: string]: ConflictChoice }) {
  const words: { [path: string]: string } = {};
  for (const one of open) {
    const held = chosen[one.path];
    const found = typeof held === "object" ? fault(rowOf(one).schema, held.value) : null;
    if (found) words[one.path] = t(`expected.${found.key}` as Key, found.vars);
  }
  return words;
}

function Choice({ open, wrong, put }: { open: OpenConflicts; wrong: string; put: (value: ConflictChoice) => void }) {
  const { path, theirs, ours, conflict } = open;
  const own = useSignal(false);
  const row = rowOf(open);
  const value = (it: Json | undefined) =>
    it === undefined ? (path.startsWith("/") ? t("change.gone") : "") : valueText(row, it);
  const isOut = isWithheld(path);
  const side = (which: "ours" | "theirs", it: Json | undefined) => (
    <label class="check">
      <input
        type="radio"
        name={path}
        defaultChecked={which === "ours"}
        onChange={() => ((own.value = false), put(which))}
      />
      <span>
        {t(`merge.${which}`)}{" "}
        {!isOut && (
          <>
            <b>{value(it)}</b>
            <small>{reasonsOf(conflict[which], path)}</small>
          </>
        )}
      </span>
    </label>
  );
  // Typed text is always a value, even if it reads like the name of a side.
  const typed = (next: Json | Error) => put({ value: next });
  return (
    <fieldset class="conflict">
      <legend>{labelOf(path) ?? t("merge.hidden")}</legend>
      {side("ours", ours)}
      {side("theirs", theirs)}
      {!isOut && isPlain(ours) && isPlain(theirs) && (
        <>
          <label class="check">
            <input type="radio" name={path} onChange={() => ((own.value = true), put({ value: ours ?? null }))} />
            <span>{t("merge.own")}</span>
          </label>
          {own.value && (
            <div class="own edit-value" ref={focusWithin}>
              <Field
                row={row}
                kind={row.kind}
                schema={row.schema}
                value={ours ?? null}
                name={t("merge.ownValue", { name: row.label })}
                onChange={typed}
              />
            </div>
          )}
        </>
      )}
      {wrong && (
        <p class="hint bad" role="alert">
          {wrong}
        </p>
      )}
    </fieldset>
  );
}

const focusWithin = (box: HTMLElement | null) =>
  takeFocus((box?.querySelector("input, select, textarea") as HTMLElement | null | undefined) ?? null);
