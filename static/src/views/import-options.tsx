// The dialog before an import of several files, or of another program's data: a dry run, if one is possible, or the
// import. It also asks for what the files do not say, such as the time zone.
import { h, useRef } from "../../vendor/preact.js";
import { runImport } from "../actions/transfers.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import { bytes, number } from "../lib/units.ts";
import words from "../lib/strings/en-cards.ts";
import { openDialog } from "../model/page.ts";
import { pendingSources } from "../model/transfers.ts";
import { Modal, icon } from "./common.tsx";
import type { ImportSource } from "../model/transfers.ts";

addEnglish(words);

export function ImportOptionsDialog() {
  const sources = pendingSources.value;
  const form = useRef<HTMLFormElement | null>(null);
  const others = sources.filter(({ to }) => !to);
  const homes = sources.flatMap(({ data }) => (data.length > 1 ? data.map(({ home }) => home) : []));
  const go = (event: SubmitEvent) => {
    event.preventDefault();
    const input = new FormData(form.current as HTMLFormElement);
    const isDry = event.submitter?.getAttribute("value") === "look";
    openDialog(null);
    void runImport(sources, { isDry, hours: Number(input.get("hours")) || 0, home: String(input.get("home") ?? "") });
  };
  return (
    <Modal title={t(others.length > 0 ? "bring.title" : "bring.own")}>
      <form ref={form} class="bring" onSubmit={go}>
        <ul>
          {sources.map((source, n) => (
            <li key={n}>
              {icon(source.file ? "book" : "stash")}
              <span>
                <strong>{source.name}</strong>
                <small>{sizeOf(source)}</small>
              </span>
            </li>
          ))}
        </ul>
        <p class="aside">{t(others.length > 0 ? "bring.text" : "bring.each")}</p>
        {others.length > 0 && others.length < sources.length && <p class="aside">{t("bring.unlooked")}</p>}
        {homes.length > 1 && (
          <label>
            {t("bring.home")}
            <select name="home">
              {homes.map((home) => (
                <option key={home} value={home} selected={home.endsWith("default-user/")}>
                  {home}
                </option>
              ))}
            </select>
          </label>
        )}
        {others.length > 0 && (
          <label>
            {t("bring.hours")}
            <input
              name="hours"
              type="number"
              min="-25"
              max="25"
              step="0.25"
              defaultValue={String(-new Date().getTimezoneOffset() / 60)}
            />
            <small>{t("bring.hoursHint")}</small>
          </label>
        )}
        <div class="actions">
          {others.length > 0 ? (
            <button type="submit" value="look">
              {icon("search")}
              <span>{t("bring.look")}</span>
            </button>
          ) : (
            <button type="button" onClick={() => openDialog(null)}>
              {t("cancel")}
            </button>
          )}
          <button type="submit" class="primary" value="bring" autofocus>
            {icon("upload")}
            <span>{t("bring.go")}</span>
          </button>
        </div>
      </form>
    </Modal>
  );
}

function sizeOf({ file, data }: ImportSource) {
  if (file) return bytes(file.size);
  const count = data.reduce((all, { parts }) => all + parts.length, 0);
  const aside = data.reduce((all, one) => all + one.skipped.length, 0);
  const size = bytes(data.reduce((all, one) => all + one.bytes, 0));
  return [
    t("bring.files", { n: count, count: number(count), size }),
    aside > 0 && t("bring.aside", { n: aside, count: number(aside) }),
  ]
    .filter(Boolean)
    .join(" ");
}
