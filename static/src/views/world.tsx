// The state panel: variables rendered by their schemas, with the changes of this turn and a form for each value.
import { Fragment, h, useRef, useSignal } from "../../vendor/preact.js";
import { errorText } from "../actions/error-text.ts";
import "../actions/value-chart.ts";
import { SEARCH_FROM, findRows, valuesIn, queryWords } from "../lib/find-rows.ts";
import { t } from "../lib/i18n.ts";
import { MVU, changeAt, fullness, isChip, isDanger, isOpen, isUndeclared, placeOf } from "../lib/schema.ts";
import { compactJson } from "../lib/text.ts";
import { openDialog } from "../model/page.ts";
import { viewedLeaf, session } from "../model/session-store.ts";
import {
  worldError,
  groups,
  isWorldStale,
  loadedWorld,
  storyEvents,
  valueText,
  turnRolls,
  turnChanges,
} from "../model/world.ts";
import { writtenReply } from "../tree/shown-branch.ts";
import { RollChip, differenceOf, toneOf } from "./changes.tsx";
import { EditValue } from "./edit-value.tsx";
import { EmptyState, CommandButton, LoadingRows, icon } from "./common.tsx";
import { secretMark } from "./secret.tsx";
import type { Row, Turn } from "../lib/schema.ts";
import type { Json } from "../lib/wire.d.ts";

export function World() {
  return (
    <aside class="world" aria-label={t("world.title")} aria-busy={isWorldStale.value}>
      <div class="world-inner">
        <header>
          <h2>{t("world.title")}</h2>
          <CommandButton id="session.plot" />
        </header>
        <Contents key={session.value?.id} />
      </div>
    </aside>
  );
}

function Contents() {
  const sought = useSignal("");
  if (worldError.value)
    return (
      <EmptyState symbol="warning" title={errorText(worldError.value).text} hint={errorText(worldError.value).hint} />
    );
  if (!loadedWorld.value) return <LoadingRows rows={5} />;
  if (groups.value.length === 0 && storyEvents.value.length === 0)
    return <EmptyState symbol="world" title={t("world.empty")} hint={t("world.emptyHint")} />;
  const all = valuesIn(groups.value);
  const words = queryWords(sought.value);
  const shown = words.length > 0 ? findRows(groups.value, words, shownAs) : { groups: groups.value, found: all };
  return (
    <>
      {(all > SEARCH_FROM || sought.value !== "") && (
        <Search
          sought={sought.value}
          put={(text) => (sought.value = text)}
          said={words.length > 0 ? t("world.found", { found: shown.found, n: all }) : ""}
        />
      )}
      {shown.groups.map((group) => (
        <section key={group.plugin}>
          {groups.value.length > 1 && <h3>{group.title || t(group.plugin === MVU ? "world.card" : "world.free")}</h3>}
          <ul class="variables">
            {group.rows.map((row) => (
              <Variable key={row.path} row={row} />
            ))}
          </ul>
        </section>
      ))}
      {words.length === 0 && turnRolls.value.length > 0 && (
        <section>
          <h3>{t("world.dice")}</h3>
          <ul class="changes">
            {turnRolls.value.map((roll, i) => (
              <RollChip key={i} roll={roll} />
            ))}
          </ul>
        </section>
      )}
      {words.length === 0 && storyEvents.value.length > 0 && (
        <section class="story-events">
          <h3>{t("world.events")}</h3>
          <ol reversed>
            {storyEvents.value.map((event, i) => (
              <li key={i}>{event}</li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}

/** Returns the displayed text of a row where it differs from the stored value. */
function shownAs(row: Row) {
  if (row.kind === "flag") return t(row.value ? "yes" : "no");
  if (row.kind === "list")
    return Array.isArray(row.visible) ? row.visible.map((item) => valueText(row, item)).join("\n") : "";
  if (row.kind === "map")
    return Object.keys(isObject(row.visible) ? row.visible : {})
      .map((key) => valueText(row, key))
      .join("\n");
  return valueText(row, row.visible);
}

function Search({ sought, put, said }: { sought: string; put: (text: string) => void; said: string }) {
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || sought === "") return;
    event.preventDefault();
    put("");
  };
  return (
    <search>
      <div class="search-field">
        {icon("search")}
        <input
          type="search"
          aria-label={t("world.find")}
          placeholder={t("world.find")}
          value={sought}
          onInput={(event: InputEvent) => put((event.target as HTMLInputElement).value)}
          onKeyDown={keys}
        />
      </div>
      <p class="aside" role="status">
        {said}
      </p>
    </search>
  );
}

function Variable({ row }: { row: Row }) {
  const editing = useSignal(false);
  const button = useRef<HTMLButtonElement | null>(null);
  const close = () => {
    editing.value = false;
    button.current?.focus();
  };
  const change = changeAt(turnChanges.value, placeOf(row));
  // A group without a schema accepts the values that its author would add.
  const isFree = row.kind === "group" && isUndeclared(row.schema);
  const edit = t("world.edit", { name: row.label });
  // If parts of a value are hidden, a form would show or lose them.
  const isWhole = row.kind === "bar" || isFree || JSON.stringify(row.visible) === JSON.stringify(row.value);
  const mayEdit =
    isWhole &&
    viewedLeaf.value === null &&
    !writtenReply.value &&
    !row.schema.readOnly &&
    row.schema["x-computed"] === undefined;
  const pencil = mayEdit && (
    <button
      ref={button}
      type="button"
      class="round small"
      aria-label={edit}
      title={edit}
      aria-expanded={editing.value}
      onClick={() => (editing.value = !editing.value)}
    >
      {icon("edit")}
    </button>
  );
  if (row.kind === "group") {
    if (row.rows.length === 0 && !isOpen(row.schema) && !isFree) return null;
    return (
      <li class="group variable" data-path={row.path}>
        <div class="variable-head">
          <h3 title={row.description}>{row.label}</h3>
          {row.isSecret && secretMark(row.path)}
          {(isOpen(row.schema) || isFree) && pencil}
        </div>
        {editing.value && <EditValue row={row} close={close} />}
        <ul class="variables">
          {row.rows.map((inner) => (
            <Variable key={inner.path} row={inner} />
          ))}
        </ul>
      </li>
    );
  }
  return (
    <li class={`variable ${change ? "changed" : ""}`} data-path={row.path}>
      <div class="variable-head">
        <span class="label" title={row.description}>
          {row.label}
        </span>
        {row.isSecret && secretMark(row.path)}
        {pencil}
        <ValueButton row={row} change={change} isEdited={editing.value} />
      </div>
      {editing.value ? <EditValue row={row} close={close} /> : <LongValue row={row} change={change} />}
      {row.isPair && typeof row.value === "string" && <p class="aside">{row.description}</p>}
      {change?.why && <p class="why">{change.why}</p>}
    </li>
  );
}

/** Renders the value as a button that explains it. */
function ValueButton({ row, change, isEdited }: { row: Row; change: Turn | null; isEdited: boolean }) {
  const ask = t("world.ask", { name: row.label });
  const isShort = !isEdited && ShortValue({ row }) !== null;
  return (
    <button
      type="button"
      class="now"
      title={ask}
      aria-haspopup="dialog"
      onClick={() => openDialog({ kind: "history", path: placeOf(row) })}
    >
      {change && <ChangeMark row={row} change={change} />}
      {isShort ? (
        <ShortValue row={row} />
      ) : (
        <>
          {icon("why")}
          <span class="hidden">{ask}</span>
        </>
      )}
    </button>
  );
}

const ChangeMark = ({ row, change }: { row: Row; change: Turn }) => (
  <b class={`mark ${toneOf(change)}`}>{markOf(row, change)}</b>
);

function markOf(row: Row, change: Turn) {
  if (typeof change.before === "number" || Array.isArray(change.before)) return differenceOf(change);
  const named = row.kind === "choice" && change.before !== undefined;
  return named ? t("change.was", { value: valueText(row, change.before) }) : t("change.changed");
}

// Values

/** Renders the part of a value beside the label. */
function ShortValue({ row }: { row: Row }) {
  const { kind, value, schema } = row;
  if (kind === "bar")
    return (
      <span class="value">
        <b>{compactJson(value)}</b>
        <small> / {schema.maximum}</small>
      </span>
    );
  const chip = isChip(schema) ? "chip" : "";
  if (kind === "number")
    return (
      <span class={`value ${chip}`}>
        <b>{compactJson(value)}</b>
      </span>
    );
  if (kind === "choice") return <span class="value chip">{valueText(row, value)}</span>;
  if (kind === "flag") return <span class={`value chip ${value ? "on" : ""}`}>{t(value ? "yes" : "no")}</span>;
  if (kind === "text" && !isLong(value)) return <span class={`value ${chip}`}>{valueText(row, value)}</span>;
  return null;
}

/** Renders the part of a value below the label. */
function LongValue({ row, change }: { row: Row; change: Turn | null }) {
  const { kind, visible: value } = row;
  if (kind === "bar") return <Bar row={row} change={change} />;
  if (kind === "list") return <Items items={Array.isArray(value) ? value.map((item) => valueText(row, item)) : []} />;
  if (kind === "map")
    return (
      <Items
        items={Object.entries(isObject(value) ? value : {})
          .filter(([, inner]) => inner !== 0)
          .map(([key, inner]) => pair(valueText(row, key), inner))}
      />
    );
  if (kind === "text" && isLong(value)) return <p class="long">{compactJson(value)}</p>;
  return null;
}

const isLong = (value: Json | undefined) => compactJson(value).length > 24;
const isObject = (value: Json | undefined): value is { [key: string]: Json } =>
  value !== null && typeof value === "object" && !Array.isArray(value);

/** Formats an item as "Rope × 2" or "Affinity: 5". */
function pair(name: string, value: Json) {
  if (value === true || value === 1) return name;
  return typeof value === "number" ? `${name} × ${value}` : `${name}: ${compactJson(value)}`;
}

/** Renders a bar. It shrinks at once, and the lost part fades afterwards. */
function Bar({ row, change }: { row: Row; change: Turn | null }) {
  const full = fullness(row);
  const before = typeof change?.before === "number" ? fullness({ ...row, value: change.before }) : full;
  return (
    <div
      class={`meter ${isDanger(row) ? "danger" : ""}`}
      role="meter"
      aria-label={row.label}
      aria-valuenow={Number(row.value ?? 0)}
      aria-valuemin={row.schema.minimum}
      aria-valuemax={row.schema.maximum}
      style={{ "--full": full, "--before": Math.max(full, before) }}
    >
      <span class="lost" />
      <span class="fill" />
    </div>
  );
}

function Items({ items }: { items: string[] }) {
  if (items.length === 0) return <p class="nothing">{t("world.nothing")}</p>;
  return (
    <ul class="items">
      {items.map((item, i) => (
        <li key={i}>{item}</li>
      ))}
    </ul>
  );
}
