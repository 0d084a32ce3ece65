// Before the door: a device that is not paired shows its code. Loaded with the door.
import { t } from "../lib/i18n.ts";
import { codeOf } from "../lib/pairing.ts";
import { enter, tell } from "../model/page.ts";
import { ApiError, me } from "../net/api.ts";
import { claim } from "../net/devices.ts";
import { navigate } from "./travel.ts";

export type Refusal = "code" | "often" | "cookie" | "offline" | "other";

/**
 * Shows a code.
 * @returns why the door stays shut
 */
export async function knock(typed: string): Promise<Refusal | null> {
  let isPaired = false;
  try {
    const { name } = await claim(codeOf(typed));
    isPaired = true;
    enter(await me());
    tell({
      tone: "quiet",
      stays: true,
      text: t("door.done", { name }),
      act: { label: "door.rename", run: () => navigate("/settings") },
    });
    return null;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // It was paired, and its browser did not keep what says so.
    if (isPaired && error.status === 401) return "cookie";
    return error.code === "forbidden"
      ? "code"
      : error.code === "rate_limited"
        ? "often"
        : error.code === "offline"
          ? "offline"
          : "other";
  }
}

/** Somebody may have paired this browser in another tab. */
export const lookAgain = (): Promise<void> => me().then(enter, () => {});
