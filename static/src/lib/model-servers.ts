// The common model servers: their API types, base URLs, and whether they need a key.

/** `name`: the product's name; empty if the page has its own text. */
export interface CommonServer {
  id: string;
  name: string;
  kind: string;
  baseUrl: string;
  wantsKey: boolean;
}

export const COMMON_SERVERS: CommonServer[] = [
  { id: "local", name: "", kind: "openai", baseUrl: "http://127.0.0.1:8080/v1", wantsKey: false },
  { id: "ollama", name: "Ollama", kind: "ollama", baseUrl: "http://127.0.0.1:11434", wantsKey: false },
  { id: "claude", name: "Claude (Anthropic)", kind: "anthropic", baseUrl: "https://api.anthropic.com", wantsKey: true },
  {
    id: "gemini",
    name: "Gemini (Google)",
    kind: "gemini",
    baseUrl: "https://generativelanguage.googleapis.com",
    wantsKey: true,
  },
  { id: "chatgpt", name: "OpenAI", kind: "openai", baseUrl: "https://api.openai.com/v1", wantsKey: true },
  { id: "openrouter", name: "OpenRouter", kind: "openai", baseUrl: "https://openrouter.ai/api/v1", wantsKey: true },
  { id: "deepseek", name: "DeepSeek", kind: "openai", baseUrl: "https://api.deepseek.com/v1", wantsKey: true },
  { id: "koboldcpp", name: "KoboldCpp", kind: "koboldcpp", baseUrl: "http://127.0.0.1:5001", wantsKey: false },
  {
    id: "llamacpp",
    name: "llama.cpp (/completion)",
    kind: "llamacpp",
    baseUrl: "http://127.0.0.1:8080",
    wantsKey: false,
  },
  { id: "openai", name: "", kind: "openai", baseUrl: "", wantsKey: true },
];

/** Returns the common server that is most similar to a server. */
export const closestServer = ({ kind, baseUrl }: { kind: string; baseUrl: string }): CommonServer =>
  COMMON_SERVERS.find((one) => one.kind === kind && one.baseUrl === baseUrl) ??
  COMMON_SERVERS.findLast((one) => one.kind === kind) ??
  (COMMON_SERVERS.at(-1) as CommonServer);

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
