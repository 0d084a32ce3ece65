// The generation parameters of the open session.
import { t } from "../lib/i18n.ts";
import { notify, openDialog } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/generation.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import type { Id, Preset, Session } from "../lib/wire.d.ts";

/** Replaces the parameters. A parameter that is absent has the value of the preset. */
export async function changeParams(params: Session["params"]) {
  const open = store.session.peek();
  const changed = open && (await attempt(() => api.setParams(open.id, params)));
  if (changed && store.session.peek()?.id === changed.id) store.updateSession({ params: changed.params });
  return Boolean(changed);
}

/**
 * Reads which parameters the model server of the open session takes.
 * @param presetId a preset whose parameters are asked about; default: those of the session
 */
export async function readParameters(presetId?: Id) {
  const open = store.session.peek();
  return open && (await attempt(() => api.parameters(open.id, presetId)));
}

/** Takes over the samplers of a preset for the open session. */
export async function takeSamplers({ id, name }: Preset) {
  const open = store.session.peek();
  const changed = open && (await attempt(() => api.takeParams(open.id, id)));
  if (!changed) return;
  if (store.session.peek()?.id === changed.id) store.updateSession({ params: changed.params });
  notify({ tone: "quiet", text: t("preset.samplersTaken", { name }) });
}

register({
  id: "session.generation",
  label: "command.generation",
  icon: "edit",
  scope: "page",
  enabled: () => store.session.value !== null,
  run: () => openDialog({ kind: "generation" }),
});
