// Why a value differs on a branch: the operations that changed it there.
import { t } from "../lib/i18n.ts";
import type { Operation } from "../lib/wire.d.ts";

/** Maximum number of reasons. */
const REASONS = 3;

/**
 * Returns the reasons for a value, newest first. Operations before the last `set` are ignored: they do not affect the
 * value.
 */
export function reasonsOf(done: Operation[], path: string) {
  const put = done.findLastIndex((one) => one.op === "set" && one.path === path);
  const reasons = done
    .slice(Math.max(0, put))
    .reverse()
    .map((one) => [one.by === "user" ? t("merge.byHand") : "", one.why].filter(Boolean).join(": "));
  return [...new Set(reasons.filter(Boolean))].slice(0, REASONS).join("; ");
}
