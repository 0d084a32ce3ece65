// The report of an import: what works, what was translated, what is kept without effect, and what was left out. A long
// report is counted, filtered, grouped by file or finding, and rendered in parts.
import { Fragment, h, useMemo, useRef, useSignal } from "../../vendor/preact.js";
import { importAfterDryRun } from "../actions/transfers.ts";
import { navigate } from "../actions/navigation.ts";
import { copyText } from "../lib/clipboard.ts";
import { findingContent, groupContent } from "../lib/finding-text.ts";
import {
  FATES,
  countFates,
  filterItems,
  foldRepeated,
  groupFindings,
  hasOwnNumbers,
  isSameContent,
  kindsOf,
} from "../lib/findings.ts";
import { addEnglish, t, optionalText } from "../lib/i18n.ts";
import { number } from "../lib/units.ts";
import words from "../lib/strings/en-cards.ts";
import { labelFromKey, sentence } from "../lib/text.ts";
import { openDialog, notify } from "../model/page.ts";
import { imports } from "../model/transfers.ts";
import { Modal, icon } from "./common.tsx";
import type { RepeatedFinding, FindingGroup, FindingFilter } from "../lib/findings.ts";
import type { ForeignImportResult, ImportFate, Finding, Report as Told, ReportItem } from "../lib/wire.d.ts";
import type { ComponentType } from "../../vendor/preact.js";

addEnglish(words);

/** Number of items rendered at first, and added by each "more". */
const PAGE_SIZE = 100;
/** Maximum number of items of a report that is shown without filters. */
const FILTERS_FROM = 5;

export function ImportReport({
  report,
  characterId,
  n,
}: {
  report: Told;
  characterId: string | null;
  n: number | null;
}) {
  const row = imports.value.find((one) => one.n === n) ?? null;
  // Stays the same when the row of the import is closed, so that the report does not change its wording.
  const isDry = useRef(row?.isDry === true).current;
  const wanted = useSignal<FindingFilter>({ fate: null, kind: "", text: "" });
  const byFile = useSignal(true);
  const items = useMemo(() => filterItems(report.items, wanted.value, findingText), [report, wanted.value]);
  const copy = async () => {
    const totals = row?.result ? [totalsOf(row.result, isDry)] : [];
    if (await copyText([...totals, ...report.items.map(asText)].join("\n")))
      notify({ tone: "quiet", text: t("notice.copied") });
  };
  const isLong = report.items.length > FILTERS_FROM;
  return (
    <Modal title={t(isDry ? "report.dryTitle" : "report.title")} class={isLong ? "report wide" : "report"}>
      {row?.result && <p class="totals">{totalsOf(row.result, isDry)}</p>}
      {isLong && (
        <ReportFilters
          report={report}
          filter={wanted.value}
          setWanted={(next) => (wanted.value = { ...wanted.peek(), ...next })}
          byFile={byFile.value}
          read={(by) => (byFile.value = by)}
        />
      )}
      {items.length === 0 ? (
        <p class="aside">
          {t(report.items.length > 0 ? "report.none" : isDry ? "report.wouldCome" : "report.nothing")}
        </p>
      ) : byFile.value ? (
        <PagedList key={JSON.stringify(wanted.value)} all={items} piece={isDry ? DryItem : Item} />
      ) : (
        <PagedList
          key={`said ${JSON.stringify(wanted.value)}`}
          all={groupFindings(items)}
          piece={isDry ? DryFinding : FindingLine}
        />
      )}
      <div class="actions foot-actions">
        <button type="button" onClick={copy}>
          {icon("copy")}
          <span>{t("report.copy")}</span>
        </button>
        {row?.dryRun && isDry && (
          <button type="button" class="primary" onClick={() => importAfterDryRun(row)}>
            {icon("upload")}
            <span>{t("bring.now")}</span>
          </button>
        )}
        {characterId && (
          <button type="button" class="primary" onClick={() => openDialog({ kind: "start", characterId })}>
            {icon("play")}
            <span>{t("notice.play")}</span>
          </button>
        )}
      </div>
    </Modal>
  );
}

interface ReportFiltersProps {
  report: Told;
  filter: FindingFilter;
  setWanted: (next: Partial<FindingFilter>) => void;
  byFile: boolean;
  read: (byFile: boolean) => void;
}

function ReportFilters({ report, filter, setWanted, byFile, read }: ReportFiltersProps) {
  const counts = useMemo(() => countFates(report.items), [report]);
  const kinds = useMemo(() => kindsOf(report.items), [report]);
  const chip = (fate: ImportFate | null, label: string, count: number) => (
    <button
      type="button"
      class={filter.fate === fate ? "chip on" : "chip"}
      aria-pressed={filter.fate === fate}
      onClick={() => setWanted({ fate })}
    >
      {label} <b>{number(count)}</b>
    </button>
  );
  return (
    <search class="sieve">
      <div class="filters" role="group" aria-label={t("report.fates")}>
        {chip(null, t("report.all"), report.items.length)}
        {FATES.map((fate) => counts[fate] > 0 && chip(fate, t(`report.${fate}`), counts[fate]))}
      </div>
      <div class="row">
        <input
          type="search"
          aria-label={t("report.find")}
          placeholder={t("report.find")}
          value={filter.text}
          onInput={(event: InputEvent) => setWanted({ text: (event.target as HTMLInputElement).value })}
        />
        {kinds.length > 1 && (
          <select
            aria-label={t("report.kind")}
            onChange={(event: Event) => setWanted({ kind: (event.target as HTMLSelectElement).value })}
          >
            <option value="">{t("report.allKinds")}</option>
            {kinds.map((kind) => (
              <option key={kind} value={kind} selected={kind === filter.kind}>
                {kindName(kind)}
              </option>
            ))}
          </select>
        )}
        <select
          aria-label={t("report.order")}
          onChange={(event: Event) => read((event.target as HTMLSelectElement).value === "file")}
        >
          <option value="file" selected={byFile}>
            {t("report.byFile")}
          </option>
          <option value="said" selected={!byFile}>
            {t("report.bySaid")}
          </option>
        </select>
      </div>
    </search>
  );
}

/** Renders the start of a list of any length, and the rest on demand. */
function PagedList<T>({ all, piece }: { all: T[]; piece: ComponentType<{ one: T }> }) {
  const drawn = useSignal(PAGE_SIZE);
  const left = all.length - drawn.value;
  return (
    <>
      {all.slice(0, drawn.value).map((one, n) => h(piece, { key: n, one }))}
      {left > 0 && (
        <button type="button" onClick={() => (drawn.value += PAGE_SIZE)}>
          {t("report.more", { n: Math.min(left, PAGE_SIZE), left: number(left) })}
        </button>
      )}
    </>
  );
}

/** A dry run stored nothing, so its items have no links. */
const DryItem = ({ one }: { one: ReportItem }) => <Item one={{ ...one, id: null }} isDry />;

const DryFinding = ({ one }: { one: FindingGroup }) => (
  <FindingLine one={{ ...one, at: one.at.map(({ item, finding }) => ({ item: { ...item, id: null }, finding })) }} />
);

function Item({ one: { kind, name, file, id, fate, findings }, isDry = false }: { one: ReportItem; isDry?: boolean }) {
  return (
    <section aria-label={name}>
      <h3>
        {name}
        {file && (
          <>
            {" "}
            <small>{file}</small>
          </>
        )}
        {id && <ItemLinks kind={kind} id={id} name={name} />}
      </h3>
      {findings.length === 0 ? (
        <p>{fate === "works" ? t(isDry ? "report.wouldCome" : "report.nothing") : t(`report.${fate}`)}</p>
      ) : (
        <ul>
          {foldRepeated(findings).map((finding, i) => (
            <li key={i}>
              {finding.code !== "would_send" && (
                <span class={`chip ${finding.fate}`}>{t(`report.${finding.fate}`)}</span>
              )}{" "}
              <span>{repeatedFindingText(finding)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Renders links to an imported item. */
function ItemLinks({ kind, id, name }: { kind: string; id: string; name: string }) {
  const open = (event: Event) => (event.preventDefault(), navigate(`/s/${id}`));
  if (kind === "session")
    return (
      <>
        {" "}
        <a href={`/s/${id}`} aria-label={t("report.openNamed", { name })} onClick={open}>
          {t("notice.open")}
        </a>
      </>
    );
  if (kind === "character")
    return (
      <>
        {" "}
        <button
          type="button"
          class="link"
          aria-label={t("report.playNamed", { name })}
          onClick={() => openDialog({ kind: "start", characterId: id })}
        >
          {t("notice.play")}
        </button>
      </>
    );
  if (kind === "lorebook")
    return (
      <>
        {" "}
        <button
          type="button"
          class="link"
          aria-label={t("report.openNamed", { name })}
          onClick={() => openDialog({ kind: "lore", bookId: id, uid: null })}
        >
          {t("notice.open")}
        </button>
      </>
    );
  if (kind === "preset" || kind === "regex")
    return (
      <>
        {" "}
        <button
          type="button"
          class="link"
          aria-label={t("report.openNamed", { name })}
          onClick={() => openDialog({ kind: "presets", presetId: id })}
        >
          {t("notice.open")}
        </button>
      </>
    );
  return null;
}

function FindingLine({ one: { code, fate, count, at } }: { one: FindingGroup }) {
  const first = at[0];
  if (!first) return null;
  const isSame = at.every(({ finding }) => isSameContent(finding, first.finding));
  const isOfAll = at.length === 1 || (isSame && !hasOwnNumbers(first.finding));
  const summary = isOfAll
    ? findingText({ ...first.finding, count, line: null })
    : groupContent(code, count) || labelFromKey(code);
  return (
    <section aria-label={summary}>
      <h3>
        {code !== "would_send" && <span class={`chip ${fate}`}>{t(`report.${fate}`)}</span>} {summary}
      </h3>
      <details>
        <summary>{t("report.files", { n: at.length })}</summary>
        <PagedList all={at} piece={isSame ? Place : DifferingPlace} />
      </details>
    </section>
  );
}

const Place = ({ one: { item, finding } }: { one: FindingGroup["at"][number] }) => (
  <p class="aside">
    {item.name}
    {item.file && (
      <>
        {" "}
        <small>{item.file}</small>
      </>
    )}
    {finding.line ? (
      <>
        {" "}
        <small>{t("report.line", { line: finding.line })}</small>
      </>
    ) : (
      ""
    )}{" "}
    {item.id && <ItemLinks kind={item.kind} id={item.id} name={item.name} />}
  </p>
);

/** Shows a place whose message differs from the others of its group. */
const DifferingPlace = ({ one }: { one: FindingGroup["at"][number] }) => (
  <>
    <Place one={one} />
    <p class="told">{findingText({ ...one.finding, line: null })}</p>
  </>
);

const kindName = (kind: string) => optionalText(`report.kind.${kind}`) || kind;

/** Returns the totals of an import in words. What was left out is counted as in the report. */
const totalsOf = ({ totals, report }: ForeignImportResult, isDry: boolean) => {
  const parts = Object.entries({ ...totals, skipped: countFates(report.items).skipped })
    .map(([key, n]) => (n > 0 ? optionalText(`totals.${key}`, { n, count: number(n) }) : ""))
    .filter(Boolean);
  return t(isDry ? "totals.would" : "totals.came", { what: parts.join(t("totals.and")) || t("totals.nothing") });
};

/** Returns the text of a finding with its line and names. Without a text for its code, that is the server's sentence. */
function findingText(finding: Finding) {
  const { line, message, names = [] } = finding;
  const own = findingContent(finding);
  const at = line ? `${t("report.line", { line })} ` : "";
  const named = own && names.length > 0 ? ` (${names.join(t("totals.and"))})` : "";
  return `${at}${own || sentence(message)}${named}`;
}

/** Returns the text of a finding that occurs in several lines. */
function repeatedFindingText(finding: RepeatedFinding) {
  const { lines, times } = finding;
  if (times === 1) return findingText(finding);
  const where = t(times > lines.length ? "report.linesMore" : "report.lines", {
    lines: lines.map(number).join(", "),
    n: times - lines.length,
    left: number(times - lines.length),
  });
  return `${where} ${findingText({ ...finding, line: null })}`;
}

const asText = (item: ReportItem) =>
  [
    `${item.name} ${item.file ?? ""}`.trim(),
    ...foldRepeated(item.findings).map(
      (finding) => `  ${t(`report.${finding.fate}`)}: ${repeatedFindingText(finding)}`,
    ),
  ].join("\n");

export { totalsOf };
