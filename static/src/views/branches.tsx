// The branches of a session with their labels, and two branches side by side. Loaded when first opened.
import { Fragment, h, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { compare, moveHeadTo, readBranches, readDiff, readForkMessages } from "../actions/branches.ts";
import { attempt } from "../actions/error-text.ts";
import { openMergeDialog } from "../actions/merge.ts";
import { locale, t } from "../lib/i18n.ts";
import { excerpt } from "../lib/excerpt.ts";
import { quoteText } from "../lib/hidden-tags.ts";
import { compactJson, signed } from "../lib/text.ts";
import { labelsOf } from "../model/arrangement.ts";
import { mayRearrange } from "../model/page.ts";
import { head, purgeCount, session } from "../model/session-store.ts";
import {
  valueText as nameOfValue,
  isNotNull,
  pathLabel,
  rows,
  visibleChange,
  visibleOperation,
} from "../model/world.ts";
import { ApiError } from "../net/api.ts";
import { namesOf } from "../tree/branches.ts";
import { highlightDifferences } from "./diff-highlights.ts";
import { Labels } from "./label.tsx";
import { Ago, ForkMessage, LoadedForkMessage } from "./fork-message.tsx";
import { Modal, LoadingRows, icon } from "./common.tsx";
import { QueryError, useQuery } from "./use-query.tsx";
import { reasonsOf } from "./reasons.ts";
import { Text } from "./run-chooser.tsx";
import { HiddenNote, secretMark } from "./secret.tsx";
import type { Branch, ChatNode, Diff, DiffSide, Difference, Id, Json } from "../lib/wire.d.ts";

export function Branches() {
  const list = useSignal<Branch[] | null>(null);
  const next = useSignal<string | null>(null);
  const chosen = useSignal<Id[]>([]);
  const partings = useSignal<Map<Id, ChatNode>>(new Map());
  const read = async () => {
    const page = await attempt(() => readBranches(next.peek() ?? undefined));
    if (!page) return;
    list.value = [...(list.peek() ?? []), ...page.items];
    next.value = page.next;
    const more = await readForkMessages(
      page.items.filter(({ leafId, partingId }) => leafId !== partingId).map(({ partingId }) => partingId),
    );
    partings.value = new Map([...partings.peek(), ...more]);
  };
  useEffect(() => {
    list.value = next.value = null;
    chosen.value = [];
    partings.value = new Map();
    void read();
  }, [session.value?.id, purgeCount.value]);
  const turn = (id: Id) => {
    const others = chosen.peek().filter((one) => one !== id);
    chosen.value = others.length === chosen.peek().length ? [...others.slice(-1), id] : others;
  };
  const [one, two] = chosen.value;
  const others = chosen.value.filter((id) => id !== head.value);
  const names = namesOf(list.value ?? []);
  return (
    <Modal title={t("command.branches")} class="wide">
      <div class="stash">
        <p class="aside">{t("branches.text")}</p>
        {list.value === null ? (
          <LoadingRows rows={3} />
        ) : (
          <ul>
            {list.value.map((branch) => (
              <Row
                key={branch.leafId}
                branch={branch}
                name={names.get(branch.leafId) ?? ""}
                fork={partings.value.get(branch.partingId) ?? null}
                isChosen={chosen.value.includes(branch.leafId)}
                onToggle={() => turn(branch.leafId)}
              />
            ))}
          </ul>
        )}
        {next.value && (
          <button type="button" onClick={read}>
            {t("stash.more")}
          </button>
        )}
        <div class="actions foot-actions">
          <span class="aside">{t(two ? "branches.ready" : "branches.choose")}</span>
          {mayRearrange.value && (
            <button
              type="button"
              disabled={others.length !== 1 || !others[0]}
              onClick={() => others[0] && openMergeDialog(others[0])}
            >
              {icon("merge")}
              <span>{t("command.merge")}</span>
            </button>
          )}
          <button type="button" class="primary" disabled={!one || !two} onClick={() => one && two && compare(one, two)}>
            {icon("compare")}
            <span>{t("command.compare")}</span>
          </button>
        </div>
      </div>
    </Modal>
  );
}

interface RowProps {
  branch: Branch;
  name: string;
  fork: ChatNode | null;
  isChosen: boolean;
  onToggle: () => void;
}

function Row({
  branch: { leafId, preview, turns, timestamp, isTrunk, status },
  name,
  fork,
  isChosen,
  onToggle,
}: RowProps) {
  const title = labelsOf(leafId).length > 0 ? excerpt(quoteText(preview)) || t("stash.nameless") : name;
  return (
    <li class="fragment branch">
      <article aria-label={name}>
        <label class="check">
          <input type="checkbox" checked={isChosen} aria-label={t("branches.pick", { name })} onChange={onToggle} />
        </label>
        <div>
          <h3>{title}</h3>
          <p class="aside">
            <Labels nid={leafId} />
            {isTrunk && (
              <>
                <span class="chip">
                  {icon("here")}
                  {t("branches.current")}
                </span>{" "}
              </>
            )}
            {status !== "complete" && (
              <>
                <span class="chip">
                  {icon(status === "error" ? "warning" : "edit")}
                  {t(`branches.${status}`)}
                </span>{" "}
              </>
            )}
            <span>
              {t("library.turns", { n: turns })} · <Ago timestamp={timestamp} />
            </span>
            <ForkMessage node={fork} />
          </p>
        </div>
        {!isTrunk && status === "complete" && (
          <button type="button" onClick={() => moveHeadTo(leafId)}>
            {icon("right")}
            <span>{t("branches.go")}</span>
          </button>
        )}
      </article>
    </li>
  );
}

// Two branches side by side

export const Compare = ({ from, to }: { from: Id; to: Id }) => (
  <Modal title={t("command.compare")} class="widest">
    <Comparison from={from} to={to} />
  </Modal>
);

/** The differences between two branches. */
export function Comparison({ from, to }: { from: Id; to: Id }) {
  const known = useQuery(() => readDiff(from, to), `${from} ${to}`);
  return (
    <div class="compare">
      {known === null ? (
        <LoadingRows rows={4} />
      ) : known instanceof ApiError ? (
        <QueryError error={known} />
      ) : (
        <Sides diff={known} />
      )}
    </div>
  );
}

function Sides({ diff }: { diff: Diff }) {
  const box = useRef<HTMLDivElement | null>(null);
  useEffect(() => highlightDifferences(box.current), [diff, locale.value]);
  return (
    <>
      <p class="aside">
        <LoadedForkMessage nid={diff.ancestorId} />
      </p>
      <div class="sides" ref={box}>
        <Side side={diff.from} n={1} isOther={diff.to.leafId === head.value} />
        <Side side={diff.to} n={2} isOther={diff.from.leafId === head.value} />
      </div>
      <section>
        <h3>{t("compare.world")}</h3>
        {diff.world.length === 0 ? <p class="aside">{t("compare.same")}</p> : <ValueDifferences world={diff.world} />}
      </section>
    </>
  );
}

/** @param props `isOther`: whether the other side is the branch with HEAD */
function Side({ side: { leafId, count, items }, n, isOther }: { side: DiffSide; n: number; isOther: boolean }) {
  const shown = items.filter(({ kind }) => kind !== "change");
  return (
    <section aria-label={t("compare.line", { n })}>
      <h3>
        {t("compare.line", { n })}{" "}
        {leafId === head.value && (
          <span class="chip">
            {icon("here")}
            {t("branches.current")}
          </span>
        )}
        <Labels nid={leafId} />
      </h3>
      {shown.length > 0 && (
        <p class="aside">
          {t("stash.count", { n: shown.length })} · <Ago timestamp={shown.at(-1)?.timestamp ?? ""} />
        </p>
      )}
      {count > items.length && <p class="aside">{t("compare.older", { n: count - items.length })}</p>}
      {shown.length === 0 ? (
        <p class="aside">{t("compare.nothing")}</p>
      ) : (
        <ol class="contents">
          {shown.map((node) => (
            <Text key={node.id} node={node} />
          ))}
        </ol>
      )}
      {leafId !== head.value && (
        <div class="actions">
          <button type="button" onClick={() => moveHeadTo(leafId)}>
            {icon("right")}
            <span>{t("branches.go")}</span>
          </button>
          {isOther && count > 0 && mayRearrange.value && (
            <button type="button" onClick={() => openMergeDialog(leafId)}>
              {icon("merge")}
              <span>{t("command.merge")}</span>
            </button>
          )}
        </div>
      )}
    </section>
  );
}

/** Returns how a value differs from the first branch to the second. */
const kindOf = ({ from, to }: Difference) => (from === undefined ? "added" : to === undefined ? "removed" : "changed");

const SIDES = ["from", "to"] as const;

/** Removes hidden values from a difference; null if nothing visible is left. */
function visibleDifference({ path, from, to, operations }: Difference): Difference | null {
  const seen = visibleChange({
    path,
    ...(from !== undefined && { before: from }),
    ...(to !== undefined && { after: to }),
  });
  const done = (list: Difference["operations"]["from"]) => list.map(visibleOperation).filter(isNotNull);
  return (
    seen && {
      path,
      ...(seen.before !== undefined && { from: seen.before }),
      ...(seen.after !== undefined && { to: seen.after }),
      operations: { ...operations, from: done(operations.from), to: done(operations.to) },
    }
  );
}

function ValueDifferences({ world: all }: { world: Difference[] }) {
  const world = all.map(visibleDifference).filter(isNotNull);
  const value = (path: string, it: Json | undefined) => {
    if (it === undefined) return <span class="aside">{t("compare.notThere")}</span>;
    if (typeof it === "boolean") return t(it ? "yes" : "no");
    return rows.value.has(path) ? nameOfValue(rows.value.get(path), it) : compactJson(it);
  };
  const why = ({ path, operations }: Difference) =>
    SIDES.map((side, i) => ({ n: i + 1, reasons: reasonsOf(operations[side], path) })).map(
      ({ n, reasons }) =>
        reasons && (
          <p key={n}>
            <b>{t("compare.line", { n })}:</b> {reasons}
          </p>
        ),
    );
  if (world.length === 0) return <HiddenNote />;
  return (
    <>
      {world.length < all.length && <HiddenNote />}
      <div class="table" tabindex={0}>
        <table>
          <thead>
            <tr>
              <th>{t("compare.value")}</th>
              <th>{t("compare.line", { n: 1 })}</th>
              <th>{t("compare.line", { n: 2 })}</th>
              <th>{t("compare.direction")}</th>
              <th>{t("why.reason")}</th>
            </tr>
          </thead>
          <tbody>
            {world.map((row) => (
              <tr key={row.path}>
                <th title={row.path}>
                  {pathLabel(row.path)}
                  {secretMark(row.path)}
                </th>
                <td>{value(row.path, row.from)}</td>
                <td>{value(row.path, row.to)}</td>
                <td>
                  {t(`compare.${kindOf(row)}`)}
                  {typeof row.from === "number" && typeof row.to === "number" && (
                    <>
                      {" "}
                      <b>{signed(row.to - row.from)}</b>
                    </>
                  )}
                </td>
                <td>{why(row)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
