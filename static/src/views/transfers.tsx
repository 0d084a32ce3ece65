// Imports on the first page: the ways to import, the progress, the errors, and the link to the report. Loaded
// separately from the page.
import { Fragment, h, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { run } from "../actions/commands.ts";
import { openReport, dismissAllImports, dismissImport } from "../actions/foreign-import.ts";
import "../actions/lore.ts";
import "../actions/personas.ts";
import "../actions/presets.ts";
import "../actions/export.ts";
import { importDropped, resumeJobs } from "../actions/transfers.ts";
import "../actions/workshop.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import { bytes, rate, span } from "../lib/units.ts";
import storyTexts from "../lib/strings/en-story.ts";
import cards from "../lib/strings/en-cards.ts";
import words from "../lib/strings/en-edit.ts";
import lore from "../lib/strings/en-lore.ts";
import presets from "../lib/strings/en-presets.ts";
import workshop from "../lib/strings/en-workshop.ts";
import { dialog } from "../model/page.ts";
import { imports } from "../model/transfers.ts";
import { CommandButton, icon } from "./common.tsx";
import { totalsOf } from "./import-report.tsx";
import type { Key } from "../lib/i18n.ts";
import type { ImportRow, PhaseProgress } from "../model/transfers.ts";

addEnglish(words);
addEnglish(cards);
addEnglish(lore);
addEnglish(presets);
addEnglish(workshop);
addEnglish(storyTexts);

/** Commands for the other stored things, for imports and for exports. */
const LIBRARY_COMMANDS: [Key, string[]][] = [
  ["foot.rooms", ["page.lore", "page.personas", "page.presets", "page.workshop", "page.trash"]],
  ["foot.in", ["page.importFolder", "page.importForeign", "page.importCard", "page.import"]],
  ["foot.out", ["page.exportAll"]],
];

export function Transfers() {
  const list = useRef<HTMLUListElement | null>(null);
  const rows = imports.value.filter(({ isUnasked }) => !isUnasked);
  const newest = rows.at(-1)?.n;
  useEffect(resumeJobs, []);
  // Scrolls to the newest row, as the import may have been started from the top of a long page.
  useLayoutEffect(() => list.current?.lastElementChild?.scrollIntoView({ block: "nearest" }), [newest]);
  return (
    <>
      {rows.length > 0 && (
        <ul ref={list} class="incoming" aria-label={t("import.list")}>
          {rows.map((one) => (
            <Row key={one.n} one={one} />
          ))}
        </ul>
      )}
      {rows.filter(({ result }) => result).length > 1 && (
        <button type="button" onClick={dismissAllImports}>
          {icon("close")}
          <span>{t("bring.closeAll")}</span>
        </button>
      )}
      <nav class="foot" aria-label={t("foot.label")}>
        {LIBRARY_COMMANDS.map(([name, ids]) => (
          <section key={name}>
            <h2>{t(name)}</h2>
            {ids.map((id) => (
              <CommandButton key={id} id={id} wide />
            ))}
          </section>
        ))}
      </nav>
      <PageDropArea />
    </>
  );
}

/** The button for new users who import years of chats. */
export const ImportHistoryButton = () => (
  <button type="button" class="card new" onClick={() => run("page.importFolder")}>
    {icon("upload")}
    <strong>{t("bring.years")}</strong>
    <span>{t("bring.yearsHint")}</span>
  </button>
);

function Row({ one }: { one: ImportRow }) {
  const { n, name, phase, progress, failure, result, cancel, isDry = false } = one;
  const close = (
    <button type="button" onClick={() => dismissImport(n)}>
      {t("close")}
    </button>
  );
  if (failure)
    return (
      <li>
        <div class="failure" role="alert">
          {icon("warning")}
          <div>
            <p>
              <strong>{name}</strong>
            </p>
            <p>{failure.text}</p>
            {failure.hint && <p class="hint">{failure.hint}</p>}
            <p class="hint">{t(failure.isEmpty ? "import.nothing" : "bring.stays")}</p>
            <div class="actions">{close}</div>
          </div>
        </div>
      </li>
    );
  if (result)
    return (
      <li class="coming">
        <span>{name}</span>
        <small>{t(isDry ? "bring.looked" : "bring.in")}</small>
        <p class="aside" role="status">
          {totalsOf(result, isDry)}
        </p>
        <div class="actions">
          <button type="button" onClick={() => openReport(n)}>
            {icon("book")}
            <span>{t("report.open")}</span>
          </button>
          {close}
        </div>
      </li>
    );
  return (
    <li class="coming">
      <span>{name}</span>
      <small>{t(`import.${phase}`)}</small>
      <progress aria-label={name} max="1" value={progress ? progress.done / Math.max(1, progress.total) : 0} />
      <small>{progress && progressText(progress)}</small>
      {cancel && (
        <button type="button" class="link" aria-label={t("bring.cancelNamed", { name })} onClick={cancel}>
          {t("cancel")}
        </button>
      )}
    </li>
  );
}

/** Describes the amount, the speed and the remaining time. */
function progressText({ done, total, from, since }: PhaseProgress) {
  const much = t("bring.of", { done: bytes(done), total: bytes(total) });
  const seconds = (performance.now() - since) / 1000;
  const speed = (done - from) / seconds;
  return seconds < 1 || speed <= 0
    ? much
    : [much, rate(speed), t("bring.rest", { time: span((total - done) / speed) })].join(" · ");
}

/** Imports files that are dropped anywhere on the page. */
export function PageDropArea() {
  const isOver = useSignal(false);
  useEffect(() => {
    const handleDrag = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      if (dialog.peek()) return;
      isOver.value = event.type === "dragover" || (event.type === "dragleave" && event.relatedTarget !== null);
      if (event.type === "drop") void importDropped(event.dataTransfer);
    };
    const kinds = ["dragover", "dragleave", "drop"] as const;
    kinds.forEach((kind) => addEventListener(kind, handleDrag));
    return () => kinds.forEach((kind) => removeEventListener(kind, handleDrag));
  }, []);
  return isOver.value ? (
    <p class="drop" role="status">
      {icon("upload")}
      {t("import.drop")}
    </p>
  ) : null;
}
