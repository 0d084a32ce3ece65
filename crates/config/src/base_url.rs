//! Base URLs of model servers. People paste the address of a single endpoint, in quotes or with spaces around it: what
//! does not belong to the base is taken off, by the kind of the server.

use reqwest::Url;

/// Endings of OpenAI's API. Longer ones come first.
const OPENAI_ENDINGS: [&str; 9] = [
    "chat/completions",
    "audio/transcriptions",
    "images/generations",
    "completions",
    "embeddings",
    "responses",
    "messages/count_tokens",
    "messages",
    "models/list",
];

/// Kinds whose addresses are those of OpenAI's API.
const OPENAI_KINDS: [&str; 4] = ["openai", "openrouter", "mistral", "deepseek"];

/// Endings of Anthropic's API.
const ANTHROPIC_ENDINGS: [&str; 6] =
    ["messages/count_tokens", "messages/batches", "messages", "chat/completions", "complete", "v1/models"];

/// Endings of Gemini's API.
const GEMINI_ENDINGS: [&str; 5] = ["openai/chat/completions", "chat/completions", "openai", "models", "embeddings"];

/// Endings of servers whose API begins at the root: the native one, and those that they imitate.
const ROOT_ENDINGS: [&str; 30] = [
    "api/extra/generate/stream",
    "api/extra/true_max_context_length",
    "api/extra/tokencount",
    "api/latest/generate",
    "api/latest/model",
    "api/v1/generate",
    "api/v1/model",
    "v1/chat/completions",
    "v1/completions",
    "v1/embeddings",
    "v1/messages",
    "v1/models",
    "chat/completions",
    "api/embeddings",
    "api/generate",
    "api/version",
    "api/embed",
    "api/chat",
    "api/tags",
    "api/show",
    "api/ps",
    "api/v1",
    "completions",
    "completion",
    "tokenize",
    "infill",
    "health",
    "props",
    "api",
    "v1",
];

/// Endings of native APIs, beside which the same servers have OpenAI's API at `/v1`.
const NATIVE_ENDINGS: [&str; 6] =
    ["api/extra/generate/stream", "api/latest/generate", "api/v1/generate", "api/generate", "api/chat", "api/tags"];

/// Parses the base URL of a server of a kind, and takes off what does not belong to it. Messages never repeat the URL,
/// because people write passwords into URLs.
///
/// # Errors
/// Returns an error if it is no `http` or `https` URL, has a user name, or has a query that is not that of an endpoint.
pub(super) fn parse_base_url(kind: &str, text: &str) -> Result<String, String> {
    let expected = "expected a URL such as \"http://127.0.0.1:8080/v1\"";
    let text = text.trim_matches(is_around);
    let mut url = Url::parse(text).map_err(|error| format!("{expected}: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(format!("{expected}: it must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("{expected}: put keys into api_key, api_key_env or api_key_file"));
    }
    let path = single_slashes(url.path());
    url.set_path(&path);
    if remove_endpoint(kind, &mut url) {
        url.set_fragment(None);
        keep_version(&mut url);
    }
    if url.fragment().is_some() || url.query().is_some_and(|query| !is_version(query)) {
        return Err(format!("{expected}: it must not have a ? or # part"));
    }
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    url.set_query(None);
    Ok(url.as_str().trim_end_matches('/').to_owned() + &query)
}

/// Returns whether a character stands around a pasted URL rather than in it.
fn is_around(char: char) -> bool {
    let is_invisible = matches!(char, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}');
    let is_quote = matches!(char, '"' | '\'' | '`' | '<' | '>' | '‘' | '’' | '“' | '”' | '«' | '»' | '「' | '」');
    is_invisible || is_quote || char.is_whitespace() || char.is_control()
}

/// Returns a path without doubled slashes, except those of an address inside of it, as some proxies have it.
fn single_slashes(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for char in path.chars() {
        if char != '/' || !out.ends_with('/') || out.ends_with(":/") {
            out.push(char);
        }
    }
    out
}

/// Takes the path of an endpoint off. Returns whether there was one.
fn remove_endpoint(kind: &str, url: &mut Url) -> bool {
    let path = url.path().replace("%20", "");
    let mut path = path.trim_end_matches('/');
    let whole = path.len();
    if kind == "openai"
        && let Some(root) = NATIVE_ENDINGS.iter().find_map(|ending| without_ending(path, ending))
    {
        let base = format!("{root}/v1");
        url.set_path(&base);
        return true;
    }
    while let Some(shorter) = without_endpoint(kind, path) {
        path = shorter;
    }
    if path.len() == whole {
        return false;
    }
    let path = path.to_owned();
    url.set_path(&path);
    true
}

/// Takes one ending off; `None` if there is none.
fn without_endpoint<'a>(kind: &str, path: &'a str) -> Option<&'a str> {
    let endings = match kind {
        "anthropic" => &ANTHROPIC_ENDINGS[..],
        "gemini" => &GEMINI_ENDINGS,
        "ollama" | "koboldcpp" | "llamacpp" => &ROOT_ENDINGS,
        _ => &OPENAI_ENDINGS,
    };
    let known = endings.iter().find_map(|ending| without_ending(path, ending));
    known.or_else(|| without_model_method(path)).or_else(|| {
        // `/models` alone is the base of some servers. `/chat` is a part of `/chat/completions`.
        let shorter = || without_ending(path, "models").or_else(|| without_ending(path, "chat"));
        let base = OPENAI_KINDS.contains(&kind).then(shorter)??;
        base.rsplit('/').next().is_some_and(is_api_version).then_some(base)
    })
}

/// Takes an ending of whole segments off, whatever its case.
fn without_ending<'a>(path: &'a str, ending: &str) -> Option<&'a str> {
    let at = path.len().checked_sub(ending.len())?;
    let (base, last) = path.split_at_checked(at)?;
    last.eq_ignore_ascii_case(ending).then_some(())?;
    base.ends_with('/').then(|| base.trim_end_matches('/'))
}

/// Takes `/models/NAME:method` off, as Google's endpoints end.
fn without_model_method(path: &str) -> Option<&str> {
    let (base, last) = path.rsplit_once('/')?;
    let is_method = last.contains(':') || last.to_ascii_lowercase().contains("%3a");
    let base = without_ending(base, "models").or_else(|| without_ending(base, "tunedModels"))?;
    is_method.then_some(base)
}

/// Returns whether a segment is the version of an API, such as `v1`.
fn is_api_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()))
}

/// Keeps only the version of the API in a query. The rest belongs to the endpoint, and may hold a key.
fn keep_version(url: &mut Url) {
    let kept: Vec<(String, String)> =
        url.query_pairs().filter(|(name, _)| name == "api-version").map(|(a, b)| (a.into(), b.into())).collect();
    url.set_query(None);
    if !kept.is_empty() {
        url.query_pairs_mut().extend_pairs(kept);
    }
}

/// Returns whether a query says only which version of the API is meant.
fn is_version(query: &str) -> bool {
    query.strip_prefix("api-version=").is_some_and(|version| !version.is_empty() && !version.contains('&'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_url_pasted_endpoint_becomes_base() {
        for (kind, text, expected) in [
            ("openai", "http://h/v1/chat/completions", "http://h/v1"),
            ("openai", "http://h/v1/chat/completions/", "http://h/v1"),
            ("openai", " \"http://h/v1/completions\"\n", "http://h/v1"),
            ("openai", "<http://h/v1/models>", "http://h/v1"),
            ("openai", "“http://h/V1/Chat/Completions”", "http://h/V1"),
            ("openai", "http://h/chat/completions", "http://h"),
            ("openai", "http://h/v1/chat", "http://h/v1"),
            ("openrouter", "http://h/api/v1/models", "http://h/api/v1"),
            ("mistral", "http://h/v1/chat/completions", "http://h/v1"),
            ("deepseek", "http://h/beta/chat/completions", "http://h/beta"),
            (
                "azure",
                "http://h/openai/deployments/d/chat/completions?api-version=2",
                "http://h/openai/deployments/d?api-version=2",
            ),
            ("horde", "http://h/api/", "http://h/api"),
            ("openai", "http://h//v1//chat//completions", "http://h/v1"),
            ("openai", "http://h//v1", "http://h/v1"),
            ("ollama", "http://h:11434//api//chat", "http://h:11434"),
            ("openai", "https://openrouter.ai/api/v1/models", "https://openrouter.ai/api/v1"),
            ("openai", "http://h/v1/embeddings", "http://h/v1"),
            ("openai", "http://h/v1/responses", "http://h/v1"),
            ("openai", "http://h/v1/messages", "http://h/v1"),
            ("openai", "http://h/v1/chat/completions?stream=true#top", "http://h/v1"),
            (
                "openai",
                "http://h/openai/deployments/d/chat/completions?api-version=2024-10-21",
                "http://h/openai/deployments/d?api-version=2024-10-21",
            ),
            ("openai", "http://h:11434/api/chat", "http://h:11434/v1"),
            ("openai", "http://h:11434/api/generate", "http://h:11434/v1"),
            ("openai", "http://h/api/chat/completions", "http://h/api"),
            ("openai", "https://h/v1beta/openai/chat/completions", "https://h/v1beta/openai"),
            ("anthropic", "https://h/v1/messages", "https://h/v1"),
            ("anthropic", "https://h/v1/models", "https://h"),
            ("gemini", "https://h/v1beta/models/gemini-2.5-flash:generateContent", "https://h/v1beta"),
            ("gemini", "https://h/v1beta/models/g:streamGenerateContent?alt=sse&key=AIza", "https://h/v1beta"),
            ("gemini", "https://h/v1beta/models", "https://h/v1beta"),
            ("ollama", "http://h:11434/api/chat", "http://h:11434"),
            ("ollama", "http://h:11434/api/generate/", "http://h:11434"),
            ("ollama", "http://h:11434/v1/chat/completions", "http://h:11434"),
            ("ollama", "http://h:11434/api", "http://h:11434"),
            ("koboldcpp", "http://h:5001/api/v1/generate", "http://h:5001"),
            ("koboldcpp", "http://h:5001/api/extra/generate/stream", "http://h:5001"),
            ("koboldcpp", "http://h:5001/api", "http://h:5001"),
            ("llamacpp", "http://h:8080/completion", "http://h:8080"),
            ("llamacpp", "http://h:8080/v1/chat/completions", "http://h:8080"),
        ] {
            assert_eq!(parse_base_url(kind, text).as_deref(), Ok(expected), "{kind} {text}");
        }
    }

    #[test]
    fn base_url_without_endpoint_is_kept() {
        for (kind, text) in [
            ("openai", "http://127.0.0.1:8080/v1"),
            ("openai", "http://127.0.0.1:8080"),
            ("openai", "https://h.services.ai.azure.com/models"),
            ("openai", "https://h/openai/deployments/d?api-version=2024-10-21"),
            ("openai", "https://h/my-completions"),
            ("openai", "https://h/chat"),
            ("openai", "https://h/https://api.example.com/v1"),
            ("anthropic", "https://api.anthropic.com"),
            ("gemini", "https://generativelanguage.googleapis.com/v1beta"),
            ("ollama", "http://127.0.0.1:11434"),
        ] {
            assert_eq!(parse_base_url(kind, text).as_deref(), Ok(text), "{kind} {text}");
        }
    }

    #[test]
    fn base_url_invalid_is_refused_without_repeating_it() {
        for text in [
            "",
            "secret",
            "ftp://secret",
            "http://me:secret@h/v1/chat/completions",
            "http://h/v1?key=secret",
            "http://h/v1#secret",
        ] {
            let message = parse_base_url("openai", text).unwrap_err();
            assert!(message.starts_with("expected a URL") && !message.contains("secret"), "{message}");
        }
    }
}
