// The versions of a card with a comparison by fields, and the question where a changed card is used. Loaded when first
// opened.
import { Fragment, h, useEffect, useMemo, useRef, useSignal } from "../../vendor/preact.js";
import {
  importNewerCard,
  readCardVersions,
  readComparison,
  restoreCardVersion,
  useNewestCard,
} from "../actions/card-versions.ts";
import { CARD_EXTENSIONS } from "../actions/cards.ts";
import { attempt } from "../actions/error-text.ts";
import { filePicker } from "../lib/file-picker.ts";
import { addEnglish, moment, optionalText, t } from "../lib/i18n.ts";
import cards from "../lib/strings/en-cards.ts";
import words from "../lib/strings/en-card-versions.ts";
import { characterById } from "../model/library.ts";
import { openDialog } from "../model/page.ts";
import { session } from "../model/session-store.ts";
import { ApiError } from "../net/api.ts";
import { LoadingRows, Modal, icon } from "./common.tsx";
import { QueryError, useQuery } from "./use-query.tsx";
import type { CardVersionHead, Character, Id } from "../lib/wire.d.ts";

addEnglish(cards);
addEnglish(words);

export function CardVersions({ characterId }: { characterId: Id }) {
  return (
    <Modal title={t("cardVersions.title", { name: characterById(characterId)?.name ?? "" })} class="wide">
      <CardVersionList characterId={characterId} />
    </Modal>
  );
}

/** The versions of a card, newest first. Each opens a comparison with the current card. */
export function CardVersionList({ characterId }: { characterId: Id }) {
  const list = useSignal<CardVersionHead[] | null>(null);
  const next = useSignal<string | null>(null);
  const chosen = useSignal<number | null>(null);
  const read = async () => {
    const page = await attempt(() => readCardVersions(characterId, next.peek()));
    list.value = [...(list.peek() ?? []), ...(page?.items ?? [])];
    next.value = page?.next ?? null;
  };
  useEffect(() => void read(), []);
  const pick = useMemo(
    () => filePicker(([file]) => file && importNewerCard(characterId, file), { accept: CARD_EXTENSIONS }),
    [],
  );
  const newest = list.value?.[0]?.number;
  return (
    <>
      {list.value === null ? (
        <LoadingRows rows={4} />
      ) : (
        <ol class="card-versions">
          {list.value.map((version) => (
            <li key={version.number}>
              <VersionRow
                version={version}
                isNewest={version.number === newest}
                isChosen={version.number === chosen.value}
                onChoose={() => (chosen.value = chosen.peek() === version.number ? null : version.number)}
              />
              {version.number === chosen.value && (
                <Comparison characterId={characterId} number={version.number} isNewest={version.number === newest} />
              )}
            </li>
          ))}
        </ol>
      )}
      <div class="actions">
        {next.value !== null && (
          <button type="button" onClick={read}>
            {t("cardVersions.more")}
          </button>
        )}
        <button type="button" onClick={pick}>
          {icon("upload")}
          <span>{t("cardVersions.import")}</span>
        </button>
      </div>
    </>
  );
}

interface VersionRowProps {
  version: CardVersionHead;
  isNewest: boolean;
  isChosen: boolean;
  onChoose: () => void;
}

function VersionRow({ version, isNewest, isChosen, onChoose }: VersionRowProps) {
  const { number, createdAt, origin, changedFields } = version;
  return (
    <button type="button" class="card-version" aria-expanded={isChosen} onClick={onChoose}>
      <strong>{t(isNewest ? "cardVersions.present" : "cardVersions.number", { n: number })}</strong>
      <span>
        {t(`cardVersions.origin.${origin}`)}, {moment(createdAt)}
      </span>
      {changedFields.length > 0 && (
        <small>{t("cardVersions.changed", { fields: changedFields.map(fieldName).join(", ") })}</small>
      )}
    </button>
  );
}

/** Returns the name of a field in the user's language, or its own. */
const fieldName = (field: string) =>
  optionalText(`character.${field}`) || optionalText(`cardVersions.field.${field}`) || field;

function Comparison({ characterId, number, isNewest }: { characterId: Id; number: number; isNewest: boolean }) {
  const found = useQuery(() => readComparison(characterId, number), `card ${characterId} ${number}`);
  const busy = useRef(false);
  if (found === null) return <LoadingRows rows={3} />;
  if (found instanceof ApiError) return <QueryError error={found} />;
  const restore = async () => {
    if (busy.current) return;
    busy.current = true;
    await restoreCardVersion(characterId, number);
    busy.current = false;
  };
  const differences = differencesOf(found.older, found.now);
  return (
    <section aria-label={t("cardVersions.compared", { n: number })}>
      {differences.length === 0 && <p class="aside">{t("cardVersions.same")}</p>}
      {differences.map(({ field, older, now }) => (
        <Fragment key={field}>
          <h3>{fieldName(field)}</h3>
          <div class="sides">
            <section aria-label={t("cardVersions.number", { n: number })}>
              <h4>{t("cardVersions.number", { n: number })}</h4>
              <p class="card-text">{older || t("cardVersions.empty")}</p>
            </section>
            <section aria-label={t("cardVersions.now")}>
              <h4>{t("cardVersions.now")}</h4>
              <p class="card-text">{now || t("cardVersions.empty")}</p>
            </section>
          </div>
        </Fragment>
      ))}
      {!isNewest && (
        <button type="button" onClick={restore}>
          {icon("undo")}
          <span>{t("cardVersions.restore")}</span>
        </button>
      )}
    </section>
  );
}

/** The fields of a card that versions have, in the order of the editor. */
const FIELDS = [
  "name",
  "description",
  "personality",
  "scenario",
  "firstMessage",
  "alternateGreetings",
  "tags",
  "exampleMessages",
  "systemPrompt",
  "postHistoryInstructions",
  "creatorNotes",
] as const;

interface FieldDifference {
  field: string;
  older: string;
  now: string;
}

function differencesOf(older: Character, now: Character): FieldDifference[] {
  const text = (value: unknown) => {
    if (value === undefined || value === null) return "";
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value.join("\n\n");
    return typeof value === "string" ? value : JSON.stringify(value, null, 2);
  };
  const metadata = (card: Character): Record<string, unknown> => ({ ...card.metadata });
  const names = [...new Set([...Object.keys(metadata(older)), ...Object.keys(metadata(now))])].sort();
  const all = [
    ...FIELDS.map((field) => ({ field, older: text(older[field]), now: text(now[field]) })),
    ...names.map((name) => ({
      field: `metadata.${name}`,
      older: text(metadata(older)[name]),
      now: text(metadata(now)[name]),
    })),
  ];
  return all.filter((one) => one.older !== one.now);
}

export function UseCard({ characterId, sessionIds }: { characterId: Id; sessionIds: Id[] }) {
  const busy = useRef(false);
  const open = session.value && sessionIds.includes(session.value.id) ? session.value : null;
  const put = async (ids: Id[]) => {
    if (busy.current) return;
    busy.current = true;
    await useNewestCard(characterId, ids);
    busy.current = false;
  };
  const name = characterById(characterId)?.name ?? "";
  return (
    <Modal title={t("useCard.title", { name })}>
      <p>{t("useCard.text")}</p>
      <div class="actions">
        <button type="button" onClick={() => openDialog(null)}>
          {t("useCard.none")}
        </button>
        {(!open || sessionIds.length > 1) && (
          <button type="button" class={open ? "" : "primary"} onClick={() => put(sessionIds)}>
            {t("useCard.all", { n: sessionIds.length })}
          </button>
        )}
        {open && (
          <button type="button" class="primary" onClick={() => put([open.id])}>
            {t("useCard.this", { name: open.title })}
          </button>
        )}
      </div>
    </Modal>
  );
}
