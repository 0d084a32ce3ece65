// The operations that plugins proposed, as they are stored, and the differences of two states. For plugin authors.
import { Fragment, h } from "../../vendor/preact.js";
import { addEnglish, t } from "../lib/i18n.ts";
import words from "../lib/strings/en-trace.ts";
import { compactJson, escapeStep } from "../lib/text.ts";
import { pathLabel } from "../model/world.ts";
import { secretMark } from "./secret.tsx";
import type { Change, Json, Operation } from "../lib/wire.d.ts";

addEnglish(words);

/** Returns an operation on one line, such as "add /purse/gold 5". */
export const operationText = ({ op, path, key, from, value }: Operation) =>
  [op, path, key, from && `← ${from}`, value === undefined ? "" : valueJson(value)].filter(Boolean).join(" ");

/** Returns the path where an operation puts its value. */
const placeOf = ({ path, key }: Operation) => (key === undefined ? path : `${path}/${escapeStep(key)}`);

/** Returns a value on one line, as JSON. */
const valueJson = (value: Json) =>
  typeof value === "object" || typeof value === "string" ? JSON.stringify(value) : String(value);

export const OperationList = ({ operations }: { operations: Operation[] }) =>
  operations.length === 0 ? (
    <p class="aside">{t("operations.none")}</p>
  ) : (
    <ul class="deeds">
      {operations.map((one, i) => (
        <li key={i}>
          <code>{operationText(one)}</code>
          {(one.in ?? "vars") === "vars" && secretMark(placeOf(one))}
          {one.why && (
            <>
              {" "}
              <small>{one.why}</small>
            </>
          )}
        </li>
      ))}
    </ul>
  );

export const ValueChanges = ({ changes }: { changes: Change[] }) => (
  <ul class="deeds">
    {changes.map(({ path, before, after }) => (
      <li key={path}>
        <span title={path}>{pathLabel(path)}</span>
        {secretMark(path)}{" "}
        <b>
          {compactJson(before)} → {compactJson(after)}
        </b>
      </li>
    ))}
  </ul>
);
