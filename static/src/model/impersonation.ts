// The user's next message while a model drafts it (impersonate).
import { computed, signal } from "../../vendor/preact.js";
import { session } from "./session-store.ts";
import type { Draft, Id } from "../lib/wire.d.ts";

export interface Impersonation {
  sid: Id;
  text: string;
  status: Draft["status"];
  place: number;
}

const current = signal<Impersonation | null>(null);

export const impersonation = computed(() => (current.value?.sid === session.value?.id ? current.value : null));

export function setImpersonation(next: Impersonation | null) {
  current.value = next;
}
