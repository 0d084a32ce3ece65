// The model servers, as last listed by the server.
import { signal } from "../../vendor/preact.js";
import type { Providers } from "../lib/wire.d.ts";

/** `null` if not loaded yet. */
export const providers = signal<Providers | null>(null);

export function setProviders(next: Providers) {
  providers.value = next;
}
