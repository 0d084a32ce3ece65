// What a lorebook is linked to: everything, or chosen sessions, personas and characters.
import { h, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { readLinkTargets, readLinks, setLinks } from "../actions/lore.ts";
import { excerpt } from "../lib/excerpt.ts";
import { t } from "../lib/i18n.ts";
import { icon } from "./common.tsx";
import type { Key } from "../lib/i18n.ts";
import type { LinkTargets } from "../actions/lore.ts";
import type { Id, LorebookBindings } from "../lib/wire.d.ts";

/** What a lorebook can be linked to besides everything: field and texts of each kind. */
const KINDS: { field: "sessionIds" | "personaIds" | "characterIds"; label: Key; add: Key }[] = [
  { field: "sessionIds", label: "lore.holdsSessions", add: "lore.holdsAddSession" },
  { field: "characterIds", label: "lore.holdsCharacters", add: "lore.holdsAddCharacter" },
  { field: "personaIds", label: "lore.holdsPersonas", add: "lore.holdsAddPersona" },
];

export function LoreLinks({ id }: { id: Id }) {
  const holds = useSignal<LorebookBindings | null>(null);
  const holders = useSignal<LinkTargets | null>(null);
  useEffect(() => {
    void readLinks(id).then((result) => (holds.value = result ?? null));
  }, []);
  const open = (event: Event) => {
    const isOpen = (event.currentTarget as HTMLDetailsElement).open;
    if (isOpen && holders.peek() === null)
      void readLinkTargets(holds.peek()).then((result) => (holders.value = result ?? null));
  };
  const put = async (next: LorebookBindings) => {
    const saved = await setLinks(id, next);
    // If the change failed, a copy of the old value resets the fields.
    holds.value = saved ?? (holds.peek() && { ...(holds.peek() as LorebookBindings) });
  };
  const now = holds.value;
  if (!now) return null;
  return (
    <details class="holds lore-keys" onToggle={open}>
      <summary>
        {t("lore.holds")} <b>{summaryOf(now)}</b>
      </summary>
      <label class="check">
        <input
          type="checkbox"
          checked={now.everything}
          onChange={(event: Event) => put({ ...now, everything: (event.target as HTMLInputElement).checked })}
        />
        <span>
          {t("lore.holdsEverything")}
          <small>{t("lore.holdsEverythingHint")}</small>
        </span>
      </label>
      {holders.value &&
        KINDS.map(({ field, label, add }) => (
          <LinkList
            key={field}
            label={label}
            add={add}
            all={(holders.value as LinkTargets)[field]}
            ids={now[field]}
            onChange={(ids) => put({ ...now, [field]: ids })}
          />
        ))}
    </details>
  );
}

/** Returns a short summary of the links. */
function summaryOf({ everything, sessionIds, personaIds, characterIds }: LorebookBindings) {
  const counts = [
    everything && t("lore.holdsEverything"),
    sessionIds.length > 0 && t("lore.holdsInSessions", { n: sessionIds.length }),
    characterIds.length > 0 && t("lore.holdsInCharacters", { n: characterIds.length }),
    personaIds.length > 0 && t("lore.holdsInPersonas", { n: personaIds.length }),
  ].filter(Boolean);
  return counts.length > 0 ? counts.join(", ") : t("lore.holdsNothing");
}

interface LinkListProps {
  label: Key;
  add: Key;
  all: { id: Id; name: string }[];
  ids: Id[];
  onChange: (ids: Id[]) => void;
}

function LinkList({ label, add, all, ids, onChange }: LinkListProps) {
  const choice = useRef<HTMLSelectElement | null>(null);
  const others = all.filter(({ id }) => !ids.includes(id));
  const nameOf = (id: Id) => excerpt(all.find((one) => one.id === id)?.name ?? id, 60);
  const drop = (id: Id) => {
    onChange(ids.filter((one) => one !== id));
    // The button with the focus disappears.
    choice.current?.focus();
  };
  const choose = () => {
    const id = choice.current?.value;
    if (id) onChange([...ids, id]);
    if (choice.current) choice.current.value = "";
  };
  if (all.length === 0) return null;
  return (
    <div role="group" aria-label={t(label)}>
      <p class="aside">{t(label)}</p>
      {ids.length > 0 && (
        <ul class="chips">
          {ids.map((id) => (
            <li key={id} class="chip">
              <span>{nameOf(id)}</span>
              <button
                type="button"
                aria-label={t("lore.holdsDrop", { name: nameOf(id) })}
                title={t("lore.holdsDrop", { name: nameOf(id) })}
                onClick={() => drop(id)}
              >
                {icon("close")}
              </button>
            </li>
          ))}
        </ul>
      )}
      <select ref={choice} aria-label={t(add)} onChange={choose}>
        <option value="">{t(add)}</option>
        {others.map(({ id, name }) => (
          <option key={id} value={id}>
            {excerpt(name, 60)}
          </option>
        ))}
      </select>
    </div>
  );
}
