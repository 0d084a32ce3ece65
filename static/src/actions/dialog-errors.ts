// Errors of an earlier attempt are no longer needed when the user tries again.
import { dismiss, notices } from "../model/page.ts";

/** Removes the errors from the open dialog. */
export const clearDialogErrors = () =>
  notices.peek().forEach(({ id, tone, inDialog }) => tone === "error" && inDialog && dismiss(id));
