// The paired devices: the section of the settings, and the dialogs that pair, name and remove one.
import { Fragment, h, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { findNewDevice, nameDevice, requestPairingCode, readDevices, revokeDevice } from "../actions/devices.ts";
import { copyText } from "../lib/clipboard.ts";
import { addEnglish, ago, moment, t } from "../lib/i18n.ts";
import { QUIET_ZONE, darkPath, minutes, siteOf, groupedCode } from "../lib/pairing.ts";
import words from "../lib/strings/en-devices.ts";
import { pairedDevices } from "../model/devices.ts";
import { openDialog, notify } from "../model/page.ts";
import { EmptyState, Modal, LoadingRows, icon } from "./common.tsx";
import type { Device, Id, Pairing } from "../lib/wire.d.ts";

addEnglish(words);

const COMMAND = "clotho serve --lan";

const copy = async (text: string) => (await copyText(text)) && notify({ tone: "quiet", text: t("notice.copied") });

// The section of the settings

export function Devices() {
  useEffect(() => void readDevices(), []);
  const seen = pairedDevices.value;
  if (!seen) return <LoadingRows rows={2} />;
  const { servesHouse, devices } = seen;
  const list = devices.length > 0 && (
    <ul class="servers">
      {devices.map((device) => (
        <Row key={device.id} device={device} />
      ))}
    </ul>
  );
  if (!servesHouse)
    return (
      <>
        <p>{t("devices.off")}</p>
        <div class="shell">
          <code>{COMMAND}</code>
          <button
            type="button"
            class="round"
            aria-label={t("devices.copy")}
            title={t("devices.copy")}
            onClick={() => copy(COMMAND)}
          >
            {icon("copy")}
          </button>
        </div>
        <p class="aside">{t("devices.offFile")}</p>
        {list && (
          <>
            <p class="aside">{t("devices.offOld")}</p>
            {list}
          </>
        )}
      </>
    );
  return (
    <>
      <p class="aside">{t("devices.text")}</p>
      {list || <EmptyState symbol="phone" title={t("devices.none")} hint={t("devices.noneHint")} />}
      <div class="actions start">
        <button type="button" class={list ? "" : "primary"} onClick={() => openDialog({ kind: "pair" })}>
          {icon("phone")}
          <span>{t("devices.pair")}</span>
        </button>
      </div>
      <p class="aside">{t("devices.plain")}</p>
    </>
  );
}

const HOUR = 3_600_000;

/** Returns when a device was last seen. Within an hour it counts as now, because the server stores it once an hour. */
const lastSeenText = (iso: string) =>
  Date.now() - Date.parse(iso) < HOUR ? t("devices.seenNow") : t("devices.seen", { when: ago(iso, Date.now()) });

function Row({ device }: { device: Device }) {
  const { name, createdAt, lastSeenAt, isThis } = device;
  const button = (label: "devices.rename" | "devices.revoke", symbol: string, kind: "nameDevice" | "revokeDevice") => (
    <button
      type="button"
      class="round"
      aria-label={t(label, { name })}
      title={t(label, { name })}
      onClick={() => openDialog({ kind, device })}
    >
      {icon(symbol)}
    </button>
  );
  return (
    <li class="server">
      <article aria-label={name}>
        <div>
          <h3>
            {name}
            {isThis && (
              <>
                {" "}
                <span class="chip on">{t("devices.this")}</span>
              </>
            )}
          </h3>
          <p class="aside">
            {t("devices.paired", { when: moment(createdAt) })} · {lastSeenText(lastSeenAt)}
          </p>
        </div>
        <div class="actions">
          {button("devices.rename", "edit", "nameDevice")}
          {button("devices.revoke", "trash", "revokeDevice")}
        </div>
      </article>
    </li>
  );
}

export const NameDevice = ({ device }: { device: Device }) => (
  <Modal title={t("devices.rename", { name: device.name })} keeps>
    <NameForm device={device} label={t("save")} cancel />
  </Modal>
);

function NameForm({ device, label, cancel }: { device: Device; label: string; cancel: boolean }) {
  const save = (event: Event) => {
    event.preventDefault();
    const name = String(new FormData(event.target as HTMLFormElement).get("name") ?? "").trim();
    if (name === device.name) openDialog(null);
    else if (name) void nameDevice(device.id, name);
  };
  return (
    <form onSubmit={save}>
      <label>
        {t(cancel ? "devices.name" : "pair.call")}
        <input name="name" required maxlength={80} autofocus autocomplete="off" defaultValue={device.name} />
      </label>
      <div class="actions">
        {cancel && (
          <button type="button" onClick={() => openDialog(null)}>
            {t("cancel")}
          </button>
        )}
        <button type="submit" class="primary">
          {label}
        </button>
      </div>
    </form>
  );
}

export function RevokeDevice({ device }: { device: Device }) {
  const { name, isThis } = device;
  const yes = (event: Event) => (event.preventDefault(), void revokeDevice(device));
  return (
    <Modal title={t("devices.revoke", { name })}>
      <form onSubmit={yes}>
        <p>{t("devices.revokeText", { name })}</p>
        {isThis && <p>{t("devices.revokeThis")}</p>}
        <div class="actions">
          <button type="button" autofocus onClick={() => openDialog(null)}>
            {t("cancel")}
          </button>
          <button type="submit" class="primary danger">
            {t("devices.revokeYes")}
          </button>
        </div>
      </form>
    </Modal>
  );
}

// Pairing

/** Time between two checks for a new device, in milliseconds. */
const POLL_INTERVAL = 1500;

/** A pairing code. `known`: devices from before it; `until`: its end by the clock of this machine, in milliseconds. */
interface Offer {
  pairing: Pairing;
  known: Set<Id>;
  until: number;
}

export function PairDevice() {
  const offer = useSignal<Offer | null>(null);
  const paired = useSignal<Device | null>(null);
  const isFailed = useSignal(false);
  const fresh = async () => {
    isFailed.value = false;
    paired.value = offer.value = null;
    const code = await requestPairingCode();
    isFailed.value = !code;
    if (code) offer.value = { ...code, until: Date.now() + code.pairing.expiresInS * 1000 };
  };
  useEffect(() => void fresh(), []);
  const waited = offer.value;
  useEffect(() => {
    if (!waited) return undefined;
    let isOver = false;
    const look = async () => {
      const found = await findNewDevice(waited.known);
      if (isOver) return;
      if (found) paired.value = found;
      else timer = setTimeout(look, POLL_INTERVAL);
    };
    let timer = setTimeout(look, POLL_INTERVAL);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [waited]);
  const what = paired.value ? (
    <PairedDevice device={paired.value} again={() => void fresh()} />
  ) : waited ? (
    <Code key={waited.pairing.code} offer={waited} fresh={() => void fresh()} />
  ) : isFailed.value ? (
    <div class="actions">
      <button type="button" class="primary" onClick={fresh}>
        {t("retry")}
      </button>
    </div>
  ) : (
    <LoadingRows rows={4} />
  );
  return (
    <Modal title={t("devices.pair")} class={paired.value ? "" : "pairing"}>
      {what}
    </Modal>
  );
}

function Code({ offer: { pairing, until }, fresh }: { offer: Offer; fresh: () => void }) {
  const at = useSignal(0);
  const left = useSignal(secondsUntil(until));
  useEffect(() => {
    const timer = setInterval(() => (left.value = secondsUntil(until)), 500);
    return () => clearInterval(timer);
  }, []);
  const isOver = left.value === 0;
  const link = pairing.links[at.value];
  const again = (
    <button type="button" class={isOver ? "primary" : ""} onClick={fresh}>
      {icon("reroll")}
      <span>{t("pair.fresh")}</span>
    </button>
  );
  if (!link)
    return (
      <>
        <p>{t("pair.lonely")}</p>
        <div class="actions">{again}</div>
      </>
    );
  const choose = (event: Event) => (at.value = Number((event.target as HTMLSelectElement).value));
  return (
    <>
      <p>{t("pair.text")}</p>
      <div class={`scan ${isOver ? "over" : ""}`}>
        <QrCode link={link} />
        <div class="typed">
          {pairing.links.length > 1 && (
            <label>
              {t("pair.where")}
              <select onChange={choose}>
                {pairing.links.map(({ address }, i) => (
                  <option key={address} value={i} selected={i === at.value}>
                    {siteOf(address)}
                  </option>
                ))}
              </select>
              <small>{t("pair.other")}</small>
            </label>
          )}
          <p>{t("pair.typed")}</p>
          <p class="site">
            <code>{siteOf(link.address)}</code>
          </p>
          <p class="short">
            <span class="hidden">{t("pair.code")} </span>
            <code>{groupedCode(pairing.shortCode)}</code>
          </p>
        </div>
      </div>
      <p class="aside ends" role="status">
        {isOver ? (
          <strong>{t("pair.ended")}</strong>
        ) : (
          <span class="hidden">{t("pair.ends", { time: minutes(Math.ceil(left.value / 60) * 60) })}</span>
        )}
        {!isOver && <span aria-hidden="true">{t("pair.ends", { time: minutes(left.value) })}</span>}
      </p>
      <div class="actions">
        {!isOver && (
          <button type="button" onClick={() => copy(link.address)}>
            {icon("copy")}
            <span>{t("pair.copy")}</span>
          </button>
        )}
        {again}
      </div>
    </>
  );
}

const secondsUntil = (until: number) => Math.max(0, Math.ceil((until - Date.now()) / 1000));

/** The QR code. It is dark on light in every theme, because cameras need that. */
function QrCode({ link: { address, modules } }: { link: Pairing["links"][number] }) {
  const side = modules.length + 2 * QUIET_ZONE;
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${side} ${side}`}
      role="img"
      aria-label={t("pair.qr", { address: siteOf(address) })}
      shape-rendering="crispEdges"
    >
      <rect width={side} height={side} />
      <path d={darkPath(modules)} />
    </svg>
  );
}

function PairedDevice({ device, again }: { device: Device; again: () => void }) {
  const status = useRef<HTMLParagraphElement | null>(null);
  useEffect(() => status.current?.focus(), []);
  return (
    <>
      <p class="came" role="status" tabindex={-1} ref={status}>
        {icon("check")}
        <span>{t("pair.done", { name: device.name })}</span>
      </p>
      <NameForm device={device} label={t("pair.finish")} cancel={false} />
      <div class="actions again">
        <button type="button" class="link" onClick={again}>
          {t("pair.another")}
        </button>
      </div>
    </>
  );
}
