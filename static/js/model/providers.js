// The model servers as this server last listed them.
import { signal } from "../../vendor/preact.js";

/** @import { Providers } from "../lib/wire.d.ts" */

/** null: not known yet. */
export const providers = signal(/** @type {Providers | null} */ (null));

/** @param {Providers} next */
export function putProviders(next) {
  providers.value = next;
}
