// Before the door: a device that is not paired shows its code. Loaded with the door.
import { t } from "../lib/i18n.js";
import { codeOf } from "../lib/pairing.js";
import { enter, tell } from "../model/page.js";
import { ApiError, me } from "../net/api.js";
import { claim } from "../net/devices.js";
import { navigate } from "./travel.js";

/** @typedef {"code" | "often" | "cookie" | "offline" | "other"} Refusal */

/** Shows a code. @param {string} typed @returns {Promise<Refusal | null>} why the door stays shut */
export async function knock(typed) {
  let isPaired = false;
  try {
    const { name } = await claim(codeOf(typed));
    isPaired = true;
    enter(await me());
    tell({ tone: "quiet", stays: true, text: t("door.done", { name }), act: { label: "door.rename", run: () => navigate("/settings") } });
    return null;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // It was paired, and its browser did not keep what says so.
    if (isPaired && error.status === 401) return "cookie";
    return error.code === "forbidden" ? "code" : error.code === "rate_limited" ? "often" : error.code === "offline" ? "offline" : "other";
  }
}

/** Somebody may have paired this browser in another tab. @returns {Promise<void>} */
export const lookAgain = () => me().then(enter, () => {});
