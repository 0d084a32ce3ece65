// The dialogs that only have a few fields or a question. Search and "why?" have their own files.
import { h, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { installedVersionOf } from "../actions/embedded-plugin.ts";
import { startSession, changeModel, createCharacter, deleteSession, renameSession } from "../actions/library.ts";
import { rerollWith } from "../actions/replies.ts";
import { withRefusedPermissions } from "../actions/session-plugins.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import edits from "../lib/strings/en-edit.ts";
import lore from "../lib/strings/en-lore.ts";
import words from "../lib/strings/en-story.ts";
import { withNames } from "../lib/text.ts";
import { saveFormDraft } from "../model/form-drafts.ts";
import { characterById, models, plugins, chatModels } from "../model/library.ts";
import { dialog, openDialog } from "../model/page.ts";
import { session } from "../model/session-store.ts";
import { formValues, fillForm, useFormDraft } from "./form-drafts.ts";
import { Search } from "./search.tsx";
import { Models } from "./library.tsx";
import { Modal, LoadingRows, icon, lazyView } from "./common.tsx";
import { useLatestResult } from "./use-query.tsx";
import type { PluginChoice } from "../lib/wire.d.ts";
import type { Dialog } from "../model/page.ts";
import type { ComponentChildren } from "../../vendor/preact.js";

addEnglish(words);
addEnglish(edits);
addEnglish(lore);

export function OpenDialog({ open }: { open: Dialog }) {
  switch (open.kind) {
    case "search":
      return <Search key={open.text} text={open.text} focused={open.at} />;
    case "trace":
      return <TraceDialog key={open.nid} nid={open.nid} />;
    case "rename":
      return <Rename open={open} />;
    case "delete":
      return <Delete open={open} />;
    case "arrangeSessions":
      return <ArrangeSessions key={open.ids.join()} ids={open.ids} />;
    case "model":
      return <OtherModel open={open} />;
    case "otherModel":
      return <ReplyWith key={open.nid} nid={open.nid} />;
    case "start":
      return <Start characterId={open.characterId} />;
    case "character":
      return <NewCharacter />;
    case "label":
      return <LabelDialog key={open.nid} nid={open.nid} />;
    case "stash":
      return <Stash opened={open.fragmentId ?? null} />;
    case "usage":
      return <UsageDialog key={open.sid} sid={open.sid} />;
    case "note":
      return <Note />;
    case "generation":
      return <Generation />;
    case "recall":
      return <RecallDialog />;
    case "branches":
      return <Branches />;
    case "compare":
      return <Compare key={open.from + open.to} from={open.from} to={open.to} />;
    case "merge":
      return <Merge key={open.from} from={open.from} />;
    case "summarise":
      return <Summarise key={`${open.first} ${open.last}`} first={open.first} last={open.last} />;
    case "sessionChoice":
      return <SessionChoice />;
    case "valueChart":
      return <ValueChart />;
    case "gitTerms":
      return <GitTerms />;
    case "history":
      return <ValueHistoryDialog key={open.path} path={open.path} />;
    case "plugins":
      return <SessionPlugins />;
    case "requestedSettings":
      return <RequestedSettings />;
    case "presetScripts":
      return <PresetScripts key={open.presetIds.join()} presetIds={open.presetIds} back={open.back} />;
    case "workshop":
      return <Workshop pluginId={open.pluginId} />;
    case "purge":
      return <PurgeMessage key={open.nid} nid={open.nid} />;
    case "trash":
      return <Trash />;
    case "report":
      return <Report report={open.report} characterId={open.characterId} n={open.n ?? null} />;
    case "connect":
      return <Connect key={open.providerId} id={open.providerId} back={open.back} />;
    case "removeServer":
      return <RemoveServer id={open.providerId} />;
    case "pair":
      return <PairDevice />;
    case "nameDevice":
      return <NameDevice key={open.device.id} device={open.device} />;
    case "revokeDevice":
      return <RevokeDevice key={open.device.id} device={open.device} />;
    case "personas":
      return <Personas />;
    case "presets":
      return <Presets presetId={open.presetId} />;
    case "profiles":
      return <ConnectionProfiles />;
    case "export":
      return <ExportDialog key={open.sid} open={open} />;
    case "importOptions":
      return <ImportOptionsDialog />;
    case "useImported":
      return <UseImported key={open.items.map(({ id }) => id).join()} sid={open.sid} items={open.items} />;
    case "lore":
      return <Lore key={open.bookId} bookId={open.bookId} uid={open.uid} />;
    case "saveLoreEntry":
      return <SaveLoreEntry passage={open.passage} />;
    case "editCharacter":
      return <EditCharacter key={open.characterId} characterId={open.characterId} />;
    case "cardVersions":
      return <CardVersions key={open.characterId} characterId={open.characterId} />;
    case "useCard":
      return <UseCard key={open.characterId} characterId={open.characterId} sessionIds={open.sessionIds} />;
  }
}

const Connect = lazyView(() => import("./connect.tsx").then((module) => module.Connect), 0);
const ArrangeSessions = lazyView(() => import("./arrange-sessions.tsx").then((module) => module.ArrangeSessions), 0);
const RemoveServer = lazyView(() => import("./remove-server.tsx").then((module) => module.RemoveServer), 0);
const Report = lazyView(() => import("./import-report.tsx").then((module) => module.ImportReport));
const devices = () => import("./devices.tsx");
const PairDevice = lazyView(() => devices().then((module) => module.PairDevice), 0);
const NameDevice = lazyView(() => devices().then((module) => module.NameDevice), 0);
const RevokeDevice = lazyView(() => devices().then((module) => module.RevokeDevice), 0);
const personas = () => import("./personas.tsx");
const Presets = lazyView(() => import("./presets.tsx").then((module) => module.Presets), 0);
const Personas = lazyView(() => personas().then((module) => module.Personas), 0);
const PersonaChoice = lazyView(() => personas().then((module) => module.PersonaChoice), 0);
const ExportDialog = lazyView(() => import("./export.tsx").then((module) => module.ExportDialog), 0);
const ImportOptionsDialog = lazyView(
  () => import("./import-options.tsx").then((module) => module.ImportOptionsDialog),
  0,
);
const UseImported = lazyView(() => import("./use-imported.tsx").then((module) => module.UseImported), 0);
const requested = () => import("./requested-settings.tsx");
const RequestedSettings = lazyView(() => requested().then((module) => module.RequestedSettings), 0);
const PresetScripts = lazyView(() => requested().then((module) => module.PresetScripts), 0);
const profiles = () => import("./connection-profiles.tsx");
const ConnectionProfiles = lazyView(() => profiles().then((module) => module.ConnectionProfiles), 0);
const ProfileChoice = lazyView(() => profiles().then((module) => module.ProfileChoice), 2);
const EditCharacter = lazyView(() => import("./character.tsx").then((module) => module.EditCharacter));
const cardVersions = () => import("./card-versions.tsx");
const CardVersions = lazyView(() => cardVersions().then((module) => module.CardVersions));
const UseCard = lazyView(() => cardVersions().then((module) => module.UseCard), 0);
const Lore = lazyView(() => import("./lore.tsx").then((module) => module.Lore));
const SaveLoreEntry = lazyView(() => import("./save-lore-entry.tsx").then((module) => module.SaveLoreEntry));
const TraceDialog = lazyView(() => import("./trace.tsx").then((module) => module.TraceDialog));
const LabelDialog = lazyView(() => import("./label.tsx").then((module) => module.LabelDialog), 0);
const Generation = lazyView(() => import("./generation.tsx").then((module) => module.Generation), 0);
const Note = lazyView(() => import("./note.tsx").then((module) => module.Note), 0);
const RecallDialog = lazyView(() => import("./recall.tsx").then((module) => module.RecallDialog), 0);
const branches = () => import("./branches.tsx");
const UsageDialog = lazyView(() => import("./usage.tsx").then((module) => module.UsageDialog), 0);
const Branches = lazyView(() => branches().then((module) => module.Branches), 0);
const Compare = lazyView(() => branches().then((module) => module.Compare), 0);
const Merge = lazyView(() => import("./merge.tsx").then((module) => module.Merge), 0);
const Summarise = lazyView(() => import("./summarise.tsx").then((module) => module.Summarise), 0);
const SessionChoice = lazyView(() => import("./session-choice.tsx").then((module) => module.SessionChoice), 0);
const ValueChart = lazyView(() => import("./value-chart.tsx").then((module) => module.ValueChart), 0);
const GitTerms = lazyView(() => import("./git-terms.tsx").then((module) => module.GitTerms), 0);
const ValueHistoryDialog = lazyView(() => import("./value-history.tsx").then((module) => module.ValueHistoryDialog), 0);
const pluginDialogs = () => import("./session-plugins.tsx");
const SessionPlugins = lazyView(() => pluginDialogs().then((module) => module.SessionPlugins), 0);
const PluginChoices = lazyView(() => pluginDialogs().then((module) => module.PluginChoices), 2);
const Workshop = lazyView(() => import("./workshop.tsx").then((module) => module.Workshop), 0);
const Trash = lazyView(() => import("./trash.tsx").then((module) => module.Trash), 0);
const PurgeMessage = lazyView(() => import("./purge.tsx").then((module) => module.PurgeMessage), 0);
const Stash = lazyView(() => import("./stash.tsx").then((module) => module.Stash), 0);

function submitted(event: Event): FormData {
  event.preventDefault();
  return new FormData(event.target as HTMLFormElement);
}

const text = (form: FormData, name: string) => String(form.get(name) ?? "").trim();

const Actions = ({ label, danger = false }: { label: string; danger?: boolean }) => (
  <div class="actions">
    <button type="button" onClick={() => openDialog(null)}>
      {t("cancel")}
    </button>
    <button type="submit" class={danger ? "primary danger" : "primary"}>
      {label}
    </button>
  </div>
);

function Rename({ open }: { open: Extract<Dialog, { kind: "rename" }> }) {
  const save = (event: Event) => {
    const title = text(submitted(event), "title");
    if (title) void renameSession(open.sid, title);
  };
  return (
    <Modal title={t("command.rename")}>
      <form onSubmit={save}>
        <label>
          {t("rename.label")}
          <input name="title" required maxlength={200} autofocus defaultValue={open.title} />
        </label>
        <Actions label={t("save")} />
      </form>
    </Modal>
  );
}

function Delete({ open }: { open: Extract<Dialog, { kind: "delete" }> }) {
  return (
    <Modal title={t("command.delete")}>
      <form onSubmit={(e: Event) => (e.preventDefault(), void deleteSession(open.sid))}>
        <p>{t("delete.text", { name: open.title })}</p>
        <Actions label={t("command.delete")} danger />
      </form>
    </Modal>
  );
}

const OtherModel = ({ open }: { open: Extract<Dialog, { kind: "model" }> }) => (
  <ChooseModel
    title={t("command.model")}
    above={<ProfileChoice />}
    now={session.value?.id === open.sid ? (session.value.model ?? "") : open.model}
    hint={t("start.otherModel")}
    label={t("save")}
    choose={(model) => changeModel(open.sid, model)}
  />
);

const ReplyWith = ({ nid }: { nid: string }) => (
  <ChooseModel
    title={t("command.otherModel")}
    now={session.peek()?.model ?? ""}
    hint={t("start.oneReply")}
    label={t("command.reroll")}
    choose={(model) => rerollWith(nid, model)}
  />
);

interface ChooseModelProps {
  title: string;
  /** What is shown above the choice. */
  above?: ComponentChildren;
  now: string;
  hint: string;
  label: string;
  choose: (model: string) => unknown;
}

function ChooseModel({ title, above, now, hint, label, choose }: ChooseModelProps) {
  if (models.value === null)
    return (
      <Modal title={title}>
        <LoadingRows rows={3} />
      </Modal>
    );
  const names = new Set([now, ...chatModels.value.map((model) => model.id)].filter(Boolean));
  if (names.size < 2)
    return (
      <Modal title={title}>
        <Models />
      </Modal>
    );
  const save = (event: Event) => void choose(text(submitted(event), "model"));
  return (
    <Modal title={title}>
      {above}
      <form onSubmit={save}>
        <label>
          {t("start.model")}
          <select name="model">
            {[...names].map((name) => (
              <option key={name} value={name} selected={name === now}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <p class="aside">{hint}</p>
        <div class="actions start">
          <button type="button" onClick={() => openDialog({ kind: "connect", providerId: null, back: dialog.peek() })}>
            {icon("plug")}
            <span>{t("models.connect")}</span>
          </button>
        </div>
        <Actions label={label} />
      </form>
    </Modal>
  );
}

function Start({ characterId }: { characterId: string }) {
  const character = characterById(characterId);
  const busy = useRef(false);
  const chosen = useRef<PluginChoice[] | null>(null);
  /** The plugin of the card, if it is installed; null = not known yet. */
  const brought = useSignal<PluginChoice[] | null>(null);
  useLatestResult(
    () => (character ? installedVersionOf(character) : null),
    (rules) => (brought.value = rules),
    [character?.id],
  );
  if (!character) return null;
  const list = chatModels.value;
  if (models.value === null || brought.value === null)
    return (
      <Modal title={character.name}>
        <LoadingRows rows={3} />
      </Modal>
    );
  const all = plugins.value.filter((plugin) => !plugin.narrates && plugin.isOk !== false);
  const requested = [...(character.metadata?.clotho?.plugins ?? []), ...brought.value].filter(
    ({ id }, i, both) => all.some((plugin) => plugin.id === id) && both.findIndex((one) => one.id === id) === i,
  );
  const start = async (event: Event) => {
    const form = submitted(event);
    if (busy.current) return;
    busy.current = true;
    await startSession(character, {
      model: text(form, "model"),
      // The choice is not there before the personas have arrived, or if there are none.
      ...(form.has("persona") && { personaId: text(form, "persona") || null }),
      ...(all.length ? { plugins: withRefusedPermissions(all, chosen.current ?? requested) } : {}),
    });
    busy.current = false;
  };
  if (list.length === 0)
    return (
      <Modal title={character.name}>
        <p>{t("start.noModel")}</p>
        <Models />
      </Modal>
    );
  return (
    <Modal title={character.name}>
      <form onSubmit={start}>
        <p class="long">{withNames(character.description, { char: character.name, user: t("library.reader") })}</p>
        <label>
          {t("start.model")}
          <select name="model">
            {list.map((model) => (
              <option key={model.id} value={model.id} selected={model.isDefault}>
                {model.id}
              </option>
            ))}
          </select>
        </label>
        <PersonaChoice characterId={character.id} />
        {all.length > 0 && (
          <fieldset>
            <legend>{t("start.rules")}</legend>
            <PluginChoices all={all} begin={requested} isStart onChange={(next) => void (chosen.current = next)} />
          </fieldset>
        )}
        <Actions label={t("start.begin")} />
      </form>
    </Modal>
  );
}

/** Key of the unsaved input for a new character. It survives a reload and the back button. */
const NEW_CHARACTER = "character.new";

function NewCharacter() {
  const busy = useRef(false);
  const draft = useFormDraft(NEW_CHARACTER);
  const form = useRef<HTMLFormElement | null>(null);
  useLayoutEffect(() => {
    if (draft && form.current) fillForm(form.current, draft);
  }, []);
  const keep = () => saveFormDraft(NEW_CHARACTER, formValues(form.current as HTMLFormElement));
  const save = async (event: Event) => {
    const form = submitted(event);
    if (busy.current) return;
    busy.current = true;
    await createCharacter({
      name: text(form, "name"),
      description: text(form, "description"),
      firstMessage: text(form, "firstMessage"),
    });
    busy.current = false;
  };
  return (
    <Modal title={t("library.create")} keeps>
      <form ref={form} onSubmit={save} onInput={keep}>
        <label>
          {t("character.name")}
          <input name="name" required maxlength={100} autofocus />
        </label>
        <label>
          {t("character.description")}
          <textarea name="description" rows={6} />
          <small>{t("character.descriptionHint")}</small>
        </label>
        <label>
          {t("character.firstMessage")}
          <textarea name="firstMessage" rows={4} />
        </label>
        <Actions label={t("save")} />
      </form>
    </Modal>
  );
}
