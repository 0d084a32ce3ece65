// What the form for a model server needs to know: which known service a server is, and what to do about failures.
import type { ModelService } from "./wire.d.ts";

/** Returns the known service that is most similar to a server. The last of a kind stands for all others of it. */
export const closestService = (
  services: ModelService[],
  { kind, baseUrl }: { kind: string; baseUrl: string },
): ModelService =>
  services.find((one) => one.kind === kind && one.baseUrl === baseUrl) ??
  services.findLast((one) => one.kind === kind) ?? { ...OTHER_SERVICE, kind };

/** Any other server. */
const OTHER_SERVICE: ModelService = {
  id: "openai",
  name: "",
  kind: "openai",
  baseUrl: "",
  keyUrl: null,
  needsKey: true,
};

/** Returns a name that is not taken. */
export function freeName(wanted: string, taken: string[]) {
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? wanted : `${wanted}-${n}`;
    if (!taken.includes(name)) return name;
  }
}

type Next = "unreachable" | "timeout" | "key" | "credit" | "missing" | "garbled" | "wait" | "other";

/** Returns what to do about a failed connection test. */
export function nextStep({ code, status }: { code: string; status: number | null }): Next {
  if (status === 401 || status === 403) return "key";
  if (status === 402) return "credit";
  if (status === 404) return "missing";
  const by = {
    provider_unreachable: "unreachable",
    provider_timeout: "timeout",
    provider_garbled: "garbled",
    cut_off: "garbled",
    provider_no_credit: "credit",
    provider_rate_limited: "wait",
    provider_resting: "wait",
  } as Record<string, Next>;
  return by[code] ?? "other";
}
