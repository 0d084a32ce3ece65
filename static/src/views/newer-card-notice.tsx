// The notice that a card of the open story has a newer version. Loaded when one has.
import { useEffect } from "../../vendor/preact.js";
import { offerNewerCard } from "../actions/card-versions.ts";
import { session } from "../model/session-store.ts";

/** Offers the newer card of a character, once for each version. */
export function NewerCardNotice() {
  const open = session.value;
  const newer = open?.cards?.filter(({ hasNewer }) => hasNewer).map((card) => card.newestVersion);
  useEffect(() => void offerNewerCard(), [open?.id, newer?.join()]);
  return null;
}
