// The form for a model server: kind, address, key and model. It can be tried before it is saved. Loaded when first
// opened.
import { h, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { changeProvider, connect, readProviders, testNewServer } from "../actions/providers.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import { modelFailureText } from "../lib/model-failure.ts";
import { closestService, freeName, nextStep } from "../lib/model-servers.ts";
import words from "../lib/strings/en-settings.ts";
import { chatModels } from "../model/library.ts";
import { dropDialogNotices, openDialog } from "../model/page.ts";
import { providers } from "../model/providers.ts";
import { Modal, LoadingRows, icon } from "./common.tsx";
import type { ModelService, Provider, ProviderTestProblem, ProviderTestResult } from "../lib/wire.d.ts";
import type { Dialog } from "../model/page.ts";

addEnglish(words);

/** @param props `id`: the server to edit; null = a new one. `back`: the dialog to return to */
export function Connect({ id, back }: { id: string | null; back: Dialog | null }) {
  useEffect(() => void readProviders(), []);
  const all = providers.value;
  const title = id ? t("settings.edit", { name: id }) : t("models.title");
  if (all === null)
    return (
      <Modal title={title}>
        <LoadingRows rows={4} />
      </Modal>
    );
  const known = all.items.find((one) => one.id === id) ?? null;
  return (
    <Modal title={title} keeps>
      <Form
        known={known}
        services={all.services}
        taken={all.items.map((one) => one.id)}
        close={() => openDialog(back)}
      />
    </Modal>
  );
}

const nameOf = ({ id, name }: ModelService) => name || t(id === "local" ? "connect.kind.local" : "connect.kind.openai");

/** The request that is running, if any. */
type ConnectRequest = "" | "looking" | "testing" | "saving";

interface FormProps {
  known: Provider | null;
  services: ModelService[];
  taken: string[];
  close: () => void;
}

function Form({ known, services, taken, close }: FormProps) {
  const usual = useSignal(known ? closestService(services, known) : (services[0] as ModelService));
  const seen = useSignal<ProviderTestResult | null>(null);
  const doing = useSignal<ConnectRequest>("");
  const form = useRef<HTMLFormElement | null>(null);
  const asked = useRef<AbortController | null>(null);
  const trial = useRef<Promise<void>>(Promise.resolve());
  const isSaving = useRef(false);
  // The dialog opened before the known servers were loaded, so the form sets the focus itself.
  useLayoutEffect(() => {
    field("usual").focus();
    return () => asked.current?.abort();
  }, []);
  const field = (name: string) => form.current?.elements.namedItem(name) as HTMLInputElement;
  const value = (name: string) => field(name)?.value.trim() ?? "";
  const choose = (event: Event) => {
    const before = usual.peek();
    const next = services.find(({ id }) => id === (event.target as HTMLSelectElement).value) ?? before;
    usual.value = next;
    // An address or name that the user typed stays.
    if (["", before.baseUrl].includes(value("baseUrl"))) field("baseUrl").value = next.baseUrl;
    if (!known && value("id") === freeName(before.id, taken)) field("id").value = freeName(next.id, taken);
    changed();
  };
  /** Drops the result of a trial, because it belongs to another server. */
  const changed = () => {
    asked.current?.abort();
    dropDialogNotices();
    doing.value = "";
    seen.value = null;
  };
  /** Returns the key as typed; without the field if the stored key stays. */
  const key = () => {
    const typed = value("key");
    if (typed) return { key: typed };
    return known?.hasKey && !field("drop")?.checked ? {} : { key: null };
  };
  const server = () => ({ kind: usual.peek().kind, baseUrl: value("baseUrl") });
  const tryIt = (model: string) => {
    if (!form.current?.reportValidity() || doing.peek()) return;
    trial.current = ask(model);
  };
  const ask = async (model: string) => {
    dropDialogNotices();
    doing.value = model ? "testing" : "looking";
    const asking = (asked.current = new AbortController());
    const result = await testNewServer(
      { ...(known && { id: known.id }), ...server(), ...key(), ...(model && { model }) },
      asking.signal,
    );
    if (asked.current !== asking || asking.signal.aborted) return;
    doing.value = "";
    // A request that failed keeps the last result.
    if (result) seen.value = result;
  };
  const save = async (event: Event) => {
    event.preventDefault();
    if (isSaving.current) return;
    isSaving.current = true;
    // The list of models may be on its way. The model that it offers is saved too.
    await trial.current;
    if (!form.current) return;
    doing.value = "saving";
    const model = value("model");
    const isListed = seen.peek()?.models.some((one) => one.id === model) ?? false;
    // A model that the server does not list is stored with the server, so that it can be chosen.
    const models =
      model && seen.peek() && !isListed ? [...new Set([...(known?.models ?? []), model])] : (known?.models ?? []);
    const first = field("default")?.checked && model ? model : null;
    const contextTokens = value("contextTokens") ? Number(value("contextTokens")) : null;
    const saved = known
      ? await changeProvider(known.id, { ...server(), ...key(), models, contextTokens }, first)
      : await connect({ id: value("id"), ...server(), key: value("key") || null, models, contextTokens }, first);
    doing.value = "";
    isSaving.current = false;
    if (saved) close();
  };
  const { needsKey, keyUrl } = usual.value;
  return (
    <form ref={form} class="connect" onSubmit={save}>
      <p class="aside">{t("connect.text")}</p>
      <label>
        {t("connect.what")}
        <select name="usual" onChange={choose}>
          {services.map((one) => (
            <option key={one.id} value={one.id} selected={one.id === usual.peek().id}>
              {nameOf(one)}
            </option>
          ))}
        </select>
      </label>
      <label>
        {t("connect.address")}
        <input
          name="baseUrl"
          type="text"
          inputmode="url"
          required
          maxlength={1000}
          spellcheck={false}
          onInput={changed}
          defaultValue={known?.baseUrl ?? usual.peek().baseUrl}
        />
        <small>{t("connect.addressHint")}</small>
      </label>
      <label>
        {t("connect.key")}
        <input name="key" type="password" maxlength={4000} autocomplete="off" spellcheck={false} onInput={changed} />
        <small>{t(known?.hasKey ? "connect.keyKept" : needsKey ? "connect.keyNeeded" : "connect.keyNone")}</small>
      </label>
      {keyUrl && (
        <p class="aside">
          <a href={keyUrl} target="_blank" rel="noopener noreferrer">
            {t("connect.keyPage", { name: nameOf(usual.value) })}
          </a>
        </p>
      )}
      {known?.hasKey && (
        <label class="check">
          <input name="drop" type="checkbox" onChange={changed} />
          {t("connect.keyDrop")}
        </label>
      )}
      {!known && (
        <label>
          {t("connect.name")}
          <input
            name="id"
            required
            maxlength={64}
            pattern={"[a-z0-9_\\-]+"}
            spellcheck={false}
            defaultValue={freeName(usual.peek().id, taken)}
          />
          <small>{t("connect.nameHint")}</small>
        </label>
      )}
      <label>
        {t("connect.context")}
        <input
          name="contextTokens"
          type="number"
          min={512}
          max={16000000}
          step={1}
          defaultValue={String(known?.contextTokens ?? "")}
        />
        <small>{t("connect.contextHint")}</small>
      </label>
      <div class="actions start">
        <button type="button" aria-disabled={doing.value !== ""} onClick={() => tryIt("")}>
          {icon("search")}
          <span>{t("connect.look")}</span>
        </button>
      </div>
      {seen.value !== null && <ModelField seen={seen.value} />}
      <div role="status" class="tried">
        {doing.value === "looking" || doing.value === "testing"
          ? t(`connect.${doing.value}`)
          : seen.value && <Result seen={seen.value} />}
      </div>
      {seen.value !== null && (
        <label class="check">
          <input name="default" type="checkbox" defaultChecked={!known && chatModels.value.length === 0} />
          {t("connect.default")}
        </label>
      )}
      <div class="actions">
        <button type="button" onClick={close}>
          {t("cancel")}
        </button>
        {seen.value !== null && (
          <button
            type="button"
            aria-disabled={doing.value !== ""}
            onClick={() => (value("model") ? tryIt(value("model")) : field("model").focus())}
          >
            {icon("play")}
            <span>{t("connect.test")}</span>
          </button>
        )}
        <button type="submit" class="primary" aria-disabled={doing.value === "saving"}>
          {icon("plug")}
          <span>{t(known ? "save" : "connect.connect")}</span>
        </button>
      </div>
    </form>
  );
}

/**
 * The model: a choice from the server's list, or a text field if it lists none. A later result without models keeps the
 * list.
 */
function ModelField({ seen }: { seen: ProviderTestResult }) {
  const listed = useRef(seen.models);
  if (seen.models.length > 0) listed.current = seen.models;
  const all = listed.current;
  if (all.length === 0)
    return (
      <label>
        {t("connect.model")}
        <input name="model" maxlength={200} spellcheck={false} />
        <small>{t("connect.modelHint")}</small>
      </label>
    );
  return (
    <label>
      {t("connect.model")}
      <select name="model">
        {all.map(({ id }) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
      </select>
      <small>{t("connect.found", { n: all.length })}</small>
    </label>
  );
}

/** The result of a trial. */
export function Result({ seen }: { seen: ProviderTestResult }) {
  const problem = seen.replyProblem ?? (seen.reply ? null : seen.listProblem);
  if (problem) return <Failed problem={problem} />;
  if (seen.reply) {
    const s = (seen.reply.firstTokenMs / 1000).toFixed(1);
    return (
      <p class="well">
        {icon("check")}
        <span>
          {seen.reply.text ? t("connect.said", { s, text: seen.reply.text.trim() }) : t("connect.thought", { s })}
        </span>
      </p>
    );
  }
  return (
    <p class="well">
      {icon("check")}
      <span>{seen.models.length > 0 ? t("connect.found", { n: seen.models.length }) : t("connect.foundNone")}</span>
    </p>
  );
}

const Failed = ({ problem }: { problem: ProviderTestProblem }) => (
  <div class="problem">
    {icon("warning")}
    <div>
      <p>
        <b>{t("connect.failed")}</b> {modelFailureText(problem)}
      </p>
      <p>{t(`connect.next.${nextStep(problem)}`)}</p>
    </div>
  </div>
);
