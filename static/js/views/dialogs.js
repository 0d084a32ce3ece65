// The dialogs that need only a field or a question; search and "why?" have their own files.
import { h, html, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { broughtRules } from "../actions/card-rules.js";
import { begin, changeModel, createCharacter, remove, rename } from "../actions/library.js";
import { rerollWith } from "../actions/replies.js";
import { withRefused } from "../actions/rules.js";
import { addEnglish, t } from "../lib/i18n.js";
import edits from "../lib/strings/en-edit.js";
import lore from "../lib/strings/en-lore.js";
import words from "../lib/strings/en-story.js";
import { withNames } from "../lib/text.js";
import { keepBegun } from "../model/begun.js";
import { characterById, models, plugins, spokenModels } from "../model/library.js";
import { dialog, openDialog } from "../model/page.js";
import { session } from "../model/story.js";
import { fieldsOf, fillIn, useBegun } from "./begun.js";
import { Search } from "./search.js";
import { Models } from "./library.js";
import { Modal, Waiting, icon, later } from "./parts.js";
import { useLatest } from "./reading.js";

/** @import { PluginChoice } from "../lib/wire.d.ts" */
/** @import { Dialog } from "../model/page.js" */

addEnglish(words);
addEnglish(edits);
addEnglish(lore);

/** @param {{open: Dialog}} props */
export function OpenDialog({ open }) {
  switch (open.kind) {
    case "search":
      return h(Search, { key: open.text, text: open.text, focused: open.at });
    case "why":
      return h(Why, { key: open.nid, nid: open.nid });
    case "rename":
      return h(Rename, { open });
    case "delete":
      return h(Delete, { open });
    case "model":
      return h(OtherModel, { open });
    case "otherModel":
      return h(ReplyWith, { key: open.nid, nid: open.nid });
    case "start":
      return h(Start, { characterId: open.characterId });
    case "character":
      return h(NewCharacter, {});
    case "label":
      return h(LabelPlace, { key: open.nid, nid: open.nid });
    case "stash":
      return h(Stash, { opened: open.fragmentId ?? null });
    case "spent":
      return h(Spent, { key: open.sid, sid: open.sid });
    case "note":
      return h(Note, {});
    case "recall":
      return h(RecallOf, {});
    case "branches":
      return h(Branches, {});
    case "compare":
      return h(Compare, { key: open.from + open.to, from: open.from, to: open.to });
    case "merge":
      return h(Merge, { key: open.from, from: open.from });
    case "summarise":
      return h(Summarise, { key: `${open.first} ${open.last}`, first: open.first, last: open.last });
    case "stories":
      return h(Stories, {});
    case "plot":
      return h(Plot, {});
    case "git":
      return h(GitWords, {});
    case "history":
      return h(HistoryOf, { key: open.path, path: open.path });
    case "rules":
      return h(Rules, {});
    case "workshop":
      return h(Workshop, { pluginId: open.pluginId });
    case "purge":
      return h(PurgeMessage, { key: open.nid, nid: open.nid });
    case "trash":
      return h(Trash, {});
    case "report":
      return h(Report, { report: open.report, characterId: open.characterId, n: open.n ?? null });
    case "connect":
      return h(Connect, { key: open.providerId, id: open.providerId, back: open.back });
    case "forget":
      return h(Forget, { id: open.providerId });
    case "pair":
      return h(PairDevice, {});
    case "nameDevice":
      return h(NameDevice, { key: open.device.id, device: open.device });
    case "revokeDevice":
      return h(RevokeDevice, { key: open.device.id, device: open.device });
    case "personas":
      return h(Personas, {});
    case "presets":
      return h(Presets, { presetId: open.presetId });
    case "takeout":
      return h(TakeOut, { key: open.sid, open });
    case "bring":
      return h(Bring, {});
    case "lore":
      return h(Lore, { key: open.bookId, bookId: open.bookId, uid: open.uid });
    case "keepLore":
      return h(KeepLore, { passage: open.passage });
    case "editCharacter":
      return h(EditCharacter, { key: open.characterId, characterId: open.characterId });
  }
}

const Connect = later(() => import("./connect.js").then((module) => module.Connect), 0);
const Forget = later(() => import("./forget.js").then((module) => module.Forget), 0);
const Report = later(() => import("./report.js").then((module) => module.Report));
const devices = () => import("./devices.js");
const PairDevice = later(() => devices().then((module) => module.PairDevice), 0);
const NameDevice = later(() => devices().then((module) => module.NameDevice), 0);
const RevokeDevice = later(() => devices().then((module) => module.RevokeDevice), 0);
const personas = () => import("./personas.js");
const Presets = later(() => import("./presets.js").then((module) => module.Presets), 0);
const Personas = later(() => personas().then((module) => module.Personas), 0);
const PlayedBy = later(() => personas().then((module) => module.PlayedBy), 0);
const TakeOut = later(() => import("./takeout.js").then((module) => module.TakeOut), 0);
const Bring = later(() => import("./bring.js").then((module) => module.Bring), 0);
const EditCharacter = later(() => import("./character.js").then((module) => module.EditCharacter));
const Lore = later(() => import("./lore.js").then((module) => module.Lore));
const KeepLore = later(() => import("./keep-lore.js").then((module) => module.KeepLore));
const Why = later(() => import("./why.js").then((module) => module.Why));
const LabelPlace = later(() => import("./label.js").then((module) => module.LabelPlace), 0);
const Note = later(() => import("./note.js").then((module) => module.Note), 0);
const RecallOf = later(() => import("./recall.js").then((module) => module.RecallOf), 0);
const branches = () => import("./branches.js");
const Spent = later(() => import("./spent.js").then((module) => module.Spent), 0);
const Branches = later(() => branches().then((module) => module.Branches), 0);
const Compare = later(() => branches().then((module) => module.Compare), 0);
const Merge = later(() => import("./merge.js").then((module) => module.Merge), 0);
const Summarise = later(() => import("./summarise.js").then((module) => module.Summarise), 0);
const Stories = later(() => import("./stories.js").then((module) => module.Stories), 0);
const Plot = later(() => import("./plot.js").then((module) => module.Plot), 0);
const GitWords = later(() => import("./git.js").then((module) => module.GitWords), 0);
const HistoryOf = later(() => import("./history.js").then((module) => module.HistoryOf), 0);
const rules = () => import("./rules.js");
const Rules = later(() => rules().then((module) => module.Rules), 0);
const Choices = later(() => rules().then((module) => module.Choices), 2);
const Workshop = later(() => import("./workshop.js").then((module) => module.Workshop), 0);
const Trash = later(() => import("./trash.js").then((module) => module.Trash), 0);
const PurgeMessage = later(() => import("./purge.js").then((module) => module.PurgeMessage), 0);
const Stash = later(() => import("./stash.js").then((module) => module.Stash), 0);

/** @param {Event} event @returns {FormData} */
function submitted(event) {
  event.preventDefault();
  return new FormData(/** @type {HTMLFormElement} */ (event.target));
}

/** @param {FormData} form @param {string} name */
const text = (form, name) => String(form.get(name) ?? "").trim();

const Actions = (/** @type {{label: string, danger?: boolean}} */ { label, danger = false }) =>
  html`<div class="actions"><button type="button" onClick=${() => openDialog(null)}>${t("cancel")}</button>
    <button class=${danger ? "primary danger" : "primary"}>${label}</button></div>`;

/** @param {{open: Extract<Dialog, {kind: "rename"}>}} props */
function Rename({ open }) {
  const save = (/** @type {Event} */ event) => {
    const title = text(submitted(event), "title");
    if (title) void rename(open.sid, title);
  };
  return h(Modal, { title: t("command.rename") }, html`<form onSubmit=${save}>
    <label>${t("rename.label")}<input name="title" required maxlength="200" autofocus defaultValue=${open.title} /></label>${h(Actions, { label: t("save") })}</form>`);
}

/** @param {{open: Extract<Dialog, {kind: "delete"}>}} props */
function Delete({ open }) {
  return h(Modal, { title: t("command.delete") }, html`<form onSubmit=${(/** @type {Event} */ e) => (e.preventDefault(), void remove(open.sid))}>
    <p>${t("delete.text", { name: open.title })}</p>${h(Actions, { label: t("command.delete"), danger: true })}</form>`);
}

/** @param {{open: Extract<Dialog, {kind: "model"}>}} props */
const OtherModel = ({ open }) => h(ChooseModel, { title: t("command.model"), now: open.model, hint: t("start.otherModel"), label: t("save"), choose: (model) => changeModel(open.sid, model) });

/** @param {{nid: string}} props */
const ReplyWith = ({ nid }) => h(ChooseModel, { title: t("command.otherModel"), now: session.peek()?.model ?? "", hint: t("start.oneReply"), label: t("command.reroll"), choose: (model) => rerollWith(nid, model) });

/** @param {{title: string, now: string, hint: string, label: string, choose: (model: string) => unknown}} props */
function ChooseModel({ title, now, hint, label, choose }) {
  if (models.value === null) return h(Modal, { title }, h(Waiting, { rows: 3 }));
  const names = new Set([now, ...spokenModels.value.map((model) => model.id)].filter(Boolean));
  if (names.size < 2) return h(Modal, { title }, h(Models, {}));
  const save = (/** @type {Event} */ event) => void choose(text(submitted(event), "model"));
  return h(Modal, { title }, html`<form onSubmit=${save}>
    <label>${t("start.model")}<select name="model">${[...names].map((name) => html`<option key=${name} value=${name} selected=${name === now}>${name}</option>`)}</select></label>
    <p class="aside">${hint}</p>
    <div class="actions start"><button type="button" onClick=${() => openDialog({ kind: "connect", providerId: null, back: dialog.peek() })}>${icon("plug")}<span>${t("models.connect")}</span></button></div>${h(Actions, { label })}</form>`);
}

/** @param {{characterId: string}} props */
function Start({ characterId }) {
  const character = characterById(characterId);
  const busy = useRef(false);
  const chosen = useRef(/** @type {PluginChoice[] | null} */ (null));
  /** The rules that its card brought here; null: not known yet. */
  const brought = useSignal(/** @type {PluginChoice[] | null} */ (null));
  useLatest(() => (character ? broughtRules(character) : null), (rules) => (brought.value = rules), [character?.id]);
  if (!character) return null;
  const list = spokenModels.value;
  if (models.value === null || brought.value === null) return h(Modal, { title: character.name }, h(Waiting, { rows: 3 }));
  const all = plugins.value.filter((plugin) => !plugin.narrates && plugin.isOk !== false);
  const wish = [...(character.metadata?.clotho?.plugins ?? []), ...brought.value].filter(({ id }, i, both) => all.some((plugin) => plugin.id === id) && both.findIndex((one) => one.id === id) === i);
  const start = async (/** @type {Event} */ event) => {
    const form = submitted(event);
    if (busy.current) return;
    busy.current = true;
    const personaId = text(form, "persona");
    await begin(character, { model: text(form, "model"), ...(personaId && { personaId }), ...(all.length ? { plugins: withRefused(all, chosen.current ?? wish) } : {}) });
    busy.current = false;
  };
  if (list.length === 0) return h(Modal, { title: character.name }, html`<p>${t("start.noModel")}</p>${h(Models, {})}`);
  return h(Modal, { title: character.name }, html`<form onSubmit=${start}><p class="long">${withNames(character.description, { char: character.name, user: t("library.reader") })}</p>
    <label>${t("start.model")}<select name="model">${list.map((model) => html`<option key=${model.id} value=${model.id} selected=${model.isDefault}>${model.id}</option>`)}</select></label>
    ${h(PlayedBy, {})}
    ${all.length > 0 && html`<fieldset><legend>${t("start.rules")}</legend>${h(Choices, { all, begin: wish, isStart: true, put: (next) => void (chosen.current = next) })}</fieldset>`}${h(Actions, { label: t("start.begin") })}</form>`);
}

/** The words of one who is not kept yet, by the name under which they outlast a reload and the way back. */
const NEWCOMER = "character.new";

function NewCharacter() {
  const busy = useRef(false);
  const begun = useBegun(NEWCOMER);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  useLayoutEffect(() => {
    if (begun && form.current) fillIn(form.current, begun);
  }, []);
  const keep = () => keepBegun(NEWCOMER, fieldsOf(/** @type {HTMLFormElement} */ (form.current)));
  const save = async (/** @type {Event} */ event) => {
    const form = submitted(event);
    if (busy.current) return;
    busy.current = true;
    await createCharacter({ name: text(form, "name"), description: text(form, "description"), firstMessage: text(form, "firstMessage") });
    busy.current = false;
  };
  return h(Modal, { title: t("library.create"), keeps: true }, html`<form ref=${form} onSubmit=${save} onInput=${keep}>
    <label>${t("character.name")}<input name="name" required maxlength="100" autofocus /></label>
    <label>${t("character.description")}<textarea name="description" rows="6"></textarea><small>${t("character.descriptionHint")}</small></label>
    <label>${t("character.firstMessage")}<textarea name="firstMessage" rows="4"></textarea></label>${h(Actions, { label: t("save") })}</form>`);
}
