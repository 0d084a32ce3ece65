// The model servers as this server last listed them.
import { signal } from "../../vendor/preact.js";
import type { Providers } from "../lib/wire.d.ts";

/** null: not known yet. */
export const providers = signal<Providers | null>(null);

export function putProviders(next: Providers) {
  providers.value = next;
}
