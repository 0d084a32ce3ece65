// What was said of a try before is done with when it is tried again.
import { dismiss, notices } from "../model/page.ts";

/** Takes the errors of the open dialog away. */
export const doneWithErrors = () =>
  notices.peek().forEach(({ id, tone, inDialog }) => tone === "error" && inDialog && dismiss(id));
