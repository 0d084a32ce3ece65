// What an import says of what came in: what works, what was translated, what is kept and does nothing here.
import { h, html } from "../../vendor/preact.js";
import { copyText } from "../lib/clipboard.js";
import { t, wordFor } from "../lib/i18n.js";
import { sentence } from "../lib/text.js";
import { openDialog, tell } from "../model/page.js";
import { Modal, icon } from "./parts.js";

/** @import { Finding, Report as Told, ReportItem } from "../lib/wire.d.ts" */

/** @param {{report: Told, characterId: string | null}} props */
export function Report({ report, characterId }) {
  const copy = async () => {
    if (await copyText(report.items.map(asText).join("\n"))) tell({ tone: "quiet", text: t("notice.copied") });
  };
  return h(Modal, { title: t("report.title"), class: "report" }, html`${report.items.map((item, n) => html`<section key=${n} aria-label=${item.name}>
      <h3>${item.name}${item.file && html` <small>${item.file}</small>`}</h3>
      ${item.findings.length === 0 ? html`<p>${t("report.nothing")}</p>` : html`<ul>${item.findings.map((finding, i) => html`<li key=${i}><span class="chip">${t(`report.${finding.fate}`)}</span> <span>${wordsOf(finding)}</span></li>`)}</ul>`}</section>`)}
    <div class="actions"><button type="button" onClick=${copy}>${icon("copy")}<span>${t("report.copy")}</span></button>
      ${characterId && html`<button type="button" class="primary" onClick=${() => openDialog({ kind: "start", characterId })}>${icon("play")}<span>${t("notice.play")}</span></button>`}</div>`);
}

/** The page's own words where it has some: what is counted reads alike, what differs each time is the server's. @param {Finding} finding */
function wordsOf({ code, count, line, message }) {
  const own = wordFor(`finding.${code}`).replace("{n}", String(count));
  const at = line ? `${t("report.line", { line })} ` : "";
  return `${at}${own || sentence(message)}`;
}

/** @param {ReportItem} item */
const asText = (item) => [`${item.name} ${item.file ?? ""}`.trim(), ...item.findings.map((finding) => `  ${t(`report.${finding.fate}`)}: ${wordsOf(finding)}`)].join("\n");
