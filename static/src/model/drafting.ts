// The user's next message while a model drafts it (impersonate).
import { computed, signal } from "../../vendor/preact.js";
import { session } from "./story.ts";
import type { Draft, Id } from "../lib/wire.d.ts";

export interface Drafting {
  sid: Id;
  text: string;
  status: Draft["status"];
  place: number;
}

const known = signal<Drafting | null>(null);

export const drafting = computed(() => (known.value?.sid === session.value?.id ? known.value : null));

export function putDrafting(next: Drafting | null) {
  known.value = next;
}
