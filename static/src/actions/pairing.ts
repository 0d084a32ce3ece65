// The screen for a device that is not paired: it sends a pairing code. Loaded with that screen.
import { t } from "../lib/i18n.ts";
import { codeOf } from "../lib/pairing.ts";
import { acceptDevice, notify } from "../model/page.ts";
import { ApiError, me } from "../net/api.ts";
import { claim } from "../net/devices.ts";
import { navigate } from "./navigation.ts";

export type PairingRefusal = "code" | "often" | "cookie" | "offline" | "other";

/**
 * Sends a pairing code.
 * @returns why the device is not let in; null if it is
 */
export async function submitPairingCode(typed: string): Promise<PairingRefusal | null> {
  let isPaired = false;
  try {
    const { name } = await claim(codeOf(typed));
    isPaired = true;
    acceptDevice(await me());
    notify({
      tone: "quiet",
      stays: true,
      text: t("door.done", { name }),
      action: { label: "door.rename", run: () => navigate("/settings") },
    });
    return null;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // The device was paired, but the browser did not keep the cookie.
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

/** Checks whether this browser was paired in another tab. */
export const recheckAccess = (): Promise<void> => me().then(acceptDevice, () => {});
