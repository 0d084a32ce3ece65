//! Known services with models, and programs that serve them: names, addresses and where a key comes from.
//!
//! People choose from this list when they connect a server. A row is only a suggestion: any address can be used with any
//! kind. To add a service: add a row. Its facts are those of the vendor's own documentation.

/// A known service or program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelService {
    /// Its id, also the suggested id of its provider. Lower-case letters, digits and `-`.
    pub id: &'static str,
    /// Its name; empty = not one product, so the page names it.
    pub name: &'static str,
    /// The kind of server.
    pub kind: &'static str,
    /// The base URL of its API; empty = it differs for each user.
    pub base_url: &'static str,
    /// The page where a key is made.
    pub key_url: Option<&'static str>,
    /// Whether it refuses requests without a key.
    pub needs_key: bool,
}

/// Returns the row of a service on the internet.
const fn online(
    id: &'static str,
    name: &'static str,
    kind: &'static str,
    base_url: &'static str,
    key_url: &'static str,
) -> ModelService {
    ModelService { id, name, kind, base_url, key_url: Some(key_url), needs_key: true }
}

/// Returns the row of a program on this machine, with its usual address.
const fn local(id: &'static str, name: &'static str, kind: &'static str, base_url: &'static str) -> ModelService {
    ModelService { id, name, kind, base_url, key_url: None, needs_key: false }
}

/// All known services. The first is suggested, and the last row of a kind stands for all other servers of the kind.
pub const MODEL_SERVICES: [ModelService; 40] = [
    local("local", "", "openai", "http://127.0.0.1:8080/v1"),
    local("ollama", "Ollama", "ollama", "http://127.0.0.1:11434"),
    online(
        "claude",
        "Claude (Anthropic)",
        "anthropic",
        "https://api.anthropic.com",
        "https://console.anthropic.com/settings/keys",
    ),
    online(
        "gemini",
        "Gemini (Google)",
        "gemini",
        "https://generativelanguage.googleapis.com",
        "https://aistudio.google.com/apikey",
    ),
    online("chatgpt", "OpenAI", "openai", "https://api.openai.com/v1", "https://platform.openai.com/api-keys"),
    online("openrouter", "OpenRouter", "openrouter", "https://openrouter.ai/api/v1", "https://openrouter.ai/keys"),
    online(
        "deepseek",
        "DeepSeek",
        "deepseek",
        "https://api.deepseek.com/beta",
        "https://platform.deepseek.com/api_keys",
    ),
    online("mistral", "Mistral", "mistral", "https://api.mistral.ai/v1", "https://console.mistral.ai/api-keys"),
    online("xai", "xAI (Grok)", "openai", "https://api.x.ai/v1", "https://console.x.ai"),
    online(
        "moonshot",
        "Moonshot (Kimi)",
        "openai",
        "https://api.moonshot.ai/v1",
        "https://platform.moonshot.ai/console/api-keys",
    ),
    online(
        "moonshot-cn",
        "Moonshot (Kimi, China)",
        "openai",
        "https://api.moonshot.cn/v1",
        "https://platform.moonshot.cn/console/api-keys",
    ),
    online("zai", "Z.AI (GLM)", "openai", "https://api.z.ai/api/paas/v4", "https://z.ai/manage-apikey/apikey-list"),
    online(
        "zhipu",
        "Zhipu (GLM, China)",
        "openai",
        "https://open.bigmodel.cn/api/paas/v4",
        "https://open.bigmodel.cn/usercenter/apikeys",
    ),
    online(
        "dashscope",
        "DashScope (Qwen, China)",
        "openai",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "https://bailian.console.aliyun.com",
    ),
    online(
        "siliconflow",
        "SiliconFlow",
        "openai",
        "https://api.siliconflow.com/v1",
        "https://cloud.siliconflow.com/account/ak",
    ),
    online(
        "siliconflow-cn",
        "SiliconFlow (China)",
        "openai",
        "https://api.siliconflow.cn/v1",
        "https://cloud.siliconflow.cn/account/ak",
    ),
    online("nanogpt", "NanoGPT", "openai", "https://nano-gpt.com/api/v1", "https://nano-gpt.com/api"),
    online("groq", "Groq", "openai", "https://api.groq.com/openai/v1", "https://console.groq.com/keys"),
    online(
        "together",
        "Together AI",
        "openai",
        "https://api.together.xyz/v1",
        "https://api.together.ai/settings/api-keys",
    ),
    online(
        "fireworks",
        "Fireworks AI",
        "openai",
        "https://api.fireworks.ai/inference/v1",
        "https://app.fireworks.ai/settings/users/api-keys",
    ),
    online(
        "deepinfra",
        "DeepInfra",
        "openai",
        "https://api.deepinfra.com/v1/openai",
        "https://deepinfra.com/dash/api_keys",
    ),
    online(
        "featherless",
        "Featherless",
        "openai",
        "https://api.featherless.ai/v1",
        "https://featherless.ai/account/api-keys",
    ),
    online("chutes", "Chutes", "openai", "https://llm.chutes.ai/v1", "https://chutes.ai/app/api"),
    online("cerebras", "Cerebras", "openai", "https://api.cerebras.ai/v1", "https://cloud.cerebras.ai"),
    online("nvidia", "NVIDIA NIM", "openai", "https://integrate.api.nvidia.com/v1", "https://build.nvidia.com"),
    online(
        "huggingface",
        "Hugging Face",
        "openai",
        "https://router.huggingface.co/v1",
        "https://huggingface.co/settings/tokens",
    ),
    online("perplexity", "Perplexity", "openai", "https://api.perplexity.ai", "https://www.perplexity.ai/settings/api"),
    online("cohere", "Cohere", "cohere", "https://api.cohere.com", "https://dashboard.cohere.com/api-keys"),
    online("azure", "Azure OpenAI", "azure", "", "https://portal.azure.com"),
    ModelService {
        id: "horde",
        name: "AI Horde",
        kind: "horde",
        base_url: "https://aihorde.net/api",
        key_url: Some("https://aihorde.net/register"),
        needs_key: false,
    },
    local("koboldcpp", "KoboldCpp", "koboldcpp", "http://127.0.0.1:5001"),
    local("llamacpp", "llama.cpp (/completion)", "llamacpp", "http://127.0.0.1:8080"),
    local("lmstudio", "LM Studio", "openai", "http://127.0.0.1:1234/v1"),
    ModelService {
        id: "tabbyapi",
        name: "TabbyAPI",
        kind: "openai",
        base_url: "http://127.0.0.1:5000/v1",
        key_url: None,
        needs_key: true,
    },
    local("ooba", "text-generation-webui", "openai", "http://127.0.0.1:5000/v1"),
    local("vllm", "vLLM", "openai", "http://127.0.0.1:8000/v1"),
    local("aphrodite", "Aphrodite", "openai", "http://127.0.0.1:2242/v1"),
    local("sglang", "SGLang", "openai", "http://127.0.0.1:30000/v1"),
    local("litellm", "LiteLLM", "openai", "http://127.0.0.1:4000/v1"),
    ModelService { id: "openai", name: "", kind: "openai", base_url: "", key_url: None, needs_key: true },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoint, ProviderKind};
    use std::collections::HashSet;

    #[test]
    fn model_services_have_known_kinds_and_valid_addresses() {
        let mut ids = HashSet::new();
        for service in MODEL_SERVICES {
            assert!(ids.insert(service.id), "{} is there twice", service.id);
            let is_valid = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
            assert!(service.id.chars().all(is_valid), "{}", service.id);
            assert!(ProviderKind::from_name(service.kind).is_some(), "{}", service.id);
            if !service.base_url.is_empty() {
                assert_eq!(Endpoint::new("a", service.base_url).check(), Ok(()), "{}", service.id);
            }
            let is_safe = service.key_url.is_none_or(|url| url.starts_with("https://"));
            let is_local = service.base_url.starts_with("http://127.0.0.1:");
            assert!(is_safe && (is_local || !service.base_url.starts_with("http://")), "{}", service.id);
        }
    }

    #[test]
    fn model_services_have_a_row_for_each_kind() {
        for kind in ProviderKind::all() {
            assert!(MODEL_SERVICES.iter().any(|service| service.kind == kind.name()), "{kind:?}");
        }
        let last = MODEL_SERVICES[MODEL_SERVICES.len() - 1];
        assert_eq!((last.kind, last.base_url), ("openai", ""), "any other server");
    }
}
