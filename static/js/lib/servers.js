// The usual model servers: what each speaks, where its API begins, and whether it wants a key.

/** @typedef {{id: string, name: string, kind: string, baseUrl: string, wantsKey: boolean}} Usual `name`: as its maker calls it; empty where the page has words for it */

/** @type {Usual[]} */
export const USUAL = [
  { id: "local", name: "", kind: "openai", baseUrl: "http://127.0.0.1:8080/v1", wantsKey: false },
  { id: "ollama", name: "Ollama", kind: "ollama", baseUrl: "http://127.0.0.1:11434", wantsKey: false },
  { id: "claude", name: "Claude (Anthropic)", kind: "anthropic", baseUrl: "https://api.anthropic.com", wantsKey: true },
  { id: "gemini", name: "Gemini (Google)", kind: "gemini", baseUrl: "https://generativelanguage.googleapis.com", wantsKey: true },
  { id: "chatgpt", name: "OpenAI", kind: "openai", baseUrl: "https://api.openai.com/v1", wantsKey: true },
  { id: "openrouter", name: "OpenRouter", kind: "openai", baseUrl: "https://openrouter.ai/api/v1", wantsKey: true },
  { id: "deepseek", name: "DeepSeek", kind: "openai", baseUrl: "https://api.deepseek.com/v1", wantsKey: true },
  { id: "koboldcpp", name: "KoboldCpp", kind: "koboldcpp", baseUrl: "http://127.0.0.1:5001", wantsKey: false },
  { id: "llamacpp", name: "llama.cpp (/completion)", kind: "llamacpp", baseUrl: "http://127.0.0.1:8080", wantsKey: false },
  { id: "openai", name: "", kind: "openai", baseUrl: "", wantsKey: true },
];

/** The usual one that a server is most like. @param {{kind: string, baseUrl: string}} server @returns {Usual} */
export const likest = ({ kind, baseUrl }) =>
  USUAL.find((one) => one.kind === kind && one.baseUrl === baseUrl) ?? USUAL.findLast((one) => one.kind === kind) ?? /** @type {Usual} */ (USUAL.at(-1));

/** A name that nobody has yet. @param {string} wish @param {string[]} taken */
export function freeName(wish, taken) {
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? wish : `${wish}-${n}`;
    if (!taken.includes(name)) return name;
  }
}

/** @typedef {"unreachable" | "timeout" | "key" | "credit" | "missing" | "garbled" | "wait" | "other"} Next */

/** What to do about a trial that failed. @param {{code: string, status: number | null}} problem @returns {Next} */
export function nextStep({ code, status }) {
  if (status === 401 || status === 403) return "key";
  if (status === 402) return "credit";
  if (status === 404) return "missing";
  const by = /** @type {Record<string, Next>} */ ({
    provider_unreachable: "unreachable",
    provider_timeout: "timeout",
    provider_garbled: "garbled",
    cut_off: "garbled",
    provider_rate_limited: "wait",
    provider_resting: "wait",
  });
  return by[code] ?? "other";
}
