// Why a value is what it is on a line: what was done to it there.
import { t } from "../lib/i18n.ts";
import type { Operation } from "../lib/wire.d.ts";

/** So many reasons are given. */
const REASONS = 3;

/** The newest first. What was put there anew has nothing to do with what came before it. */
export function reasonsOf(done: Operation[], path: string) {
  const put = done.findLastIndex((one) => one.op === "set" && one.path === path);
  const reasons = done
    .slice(Math.max(0, put))
    .reverse()
    .map((one) => [one.by === "user" ? t("merge.byHand") : "", one.why].filter(Boolean).join(": "));
  return [...new Set(reasons.filter(Boolean))].slice(0, REASONS).join("; ");
}
