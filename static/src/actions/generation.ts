// The generation parameters of the open session.
import { openDialog } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/generation.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import type { Session } from "../lib/wire.d.ts";

/** Replaces the parameters. A parameter that is absent has the value of the preset. */
export async function changeParams(params: Session["params"]) {
  const open = store.session.peek();
  const changed = open && (await attempt(() => api.setParams(open.id, params)));
  if (changed && store.session.peek()?.id === changed.id) store.updateSession({ params: changed.params });
  return Boolean(changed);
}

register({
  id: "session.generation",
  label: "command.generation",
  icon: "edit",
  scope: "page",
  enabled: () => store.session.value !== null,
  run: () => openDialog({ kind: "generation" }),
});
