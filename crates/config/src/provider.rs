//! `[[providers]]`: the model servers, and API keys that are never printed.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::base_url::parse_base_url;
use super::problem::{ConfigError, SettingOrigin};
use super::reader::{ConfigReader, ConfigTable};

/// The maximum length of a connected server's URL, in bytes.
const MAX_BASE_URL_BYTES: usize = 1000;
/// The maximum length of an entered API key, in bytes.
const MAX_KEY_BYTES: usize = 4000;
/// The context lengths that can be set, in tokens.
const CONTEXT_TOKENS: RangeInclusive<u32> = 512..=16_000_000;
/// The maximum number of models listed for a connected server.
const MAX_MODELS: usize = 200;

/// One model server.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderConfig {
    /// The prefix of its models, as in `id/model`. Lower-case letters, digits, `-` and `_`; unique.
    pub id: String,
    /// The API kind, such as `openai`. The code that knows the kinds rejects unknown ones with
    /// [`ProviderConfig::refuse_kind`].
    pub kind: String,
    kind_origin: SettingOrigin,
    /// The base URL of the API, such as `http://127.0.0.1:8080/v1`; without a trailing slash.
    pub base_url: String,
    /// Context length of its models in tokens; 0: the server is asked.
    pub context_tokens: u32,
    /// Context lengths of single models, by model name.
    pub contexts: IndexMap<String, u32>,
    /// The source of the API key. See [`ProviderConfig::key`].
    pub api_key: ApiKey,
    /// The names of its models; empty: the server is asked.
    pub models: Vec<String>,
    /// Concurrent replies with its key; 0: unlimited.
    pub concurrent: u32,
    /// Prices by model name, for models whose prices the server does not report or reports wrongly.
    pub prices: IndexMap<String, ModelPrices>,
    /// The tokenizer of its models, as file or name; empty: derived from the model names, else none.
    pub tokenizer: String,
    /// Tokenizers of single models, by model name.
    pub tokenizers: IndexMap<String, String>,
    /// The prompt template for text-completion servers: a name, a file, or `auto`.
    pub template: String,
    /// How its models learn about tools.
    pub tools: ToolMode,
    /// Additional parameters, sent unchanged with each request.
    pub extra: Map<String, Value>,
}

/// How tools are described to a server's models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolMode {
    /// In a field of the request if the server's kind has one, else as in `PromptText`.
    #[default]
    RequestField,
    /// In the prompt; the models call them in their text.
    PromptText,
    Disabled,
}

/// The prices of a model per million tokens, in any currency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelPrices {
    /// Prompt tokens.
    pub prompt: f64,
    /// Reply tokens.
    pub completion: f64,
    /// Prompt tokens read from the server's cache; `None`: as `prompt`.
    pub cached: Option<f64>,
    /// Prompt tokens written to the server's cache; `None`: as `prompt`.
    pub cache_write: Option<f64>,
}

/// The source of an API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiKey {
    /// The provider needs no key.
    None,
    /// Given in the configuration or in the environment.
    Value(Secret),
    /// This environment variable should hold it, but is missing or not one line of text.
    MissingVariable(String),
    /// This file, which is read when the key is needed.
    File(PathBuf),
    /// A stored key that cannot be decrypted, with the reason.
    Undecryptable(String),
}

/// An API key. `Debug` and `Display` print a placeholder, so that it is only shown to its server.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key without the white space and invisible characters around it, which files and pasting add.
    pub fn new(key: &str) -> Self {
        Self(trim_key(key).to_owned())
    }

    /// Returns the key itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

fn trim_key(text: &str) -> &str {
    let is_invisible = |char: char| matches!(char, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
    text.trim_matches(|char: char| char.is_whitespace() || char.is_control() || is_invisible(char))
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// The reason an expected API key is not available.
#[derive(Debug, thiserror::Error)]
pub enum ApiKeyError {
    /// The environment variable is missing or not one line of text.
    #[error("the environment variable {variable:?} is missing or has several lines; set it and restart the server")]
    NoVariable { variable: String },
    /// A stored key cannot be decrypted.
    #[error("{0}")]
    Undecryptable(String),
    /// The key file cannot be read.
    #[error("the key file of provider {provider} cannot be read: {cause}")]
    Unreadable {
        /// The id of the provider.
        provider: String,
        cause: std::io::Error,
    },
    /// The key file is empty or has more than one line.
    #[error("the key file of provider {provider} must contain one line: the key")]
    Malformed {
        /// The id of the provider.
        provider: String,
    },
}

/// A provider that was connected at runtime and is in no configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderConnection {
    /// As [`ProviderConfig::id`].
    pub id: String,
    /// As [`ProviderConfig::kind`].
    pub kind: String,
    /// As [`ProviderConfig::base_url`].
    pub base_url: String,
    /// As [`ProviderConfig::models`].
    pub models: Vec<String>,
    /// As [`ProviderConfig::context_tokens`]; `None`: the server is asked.
    pub context_tokens: Option<u32>,
}

/// An invalid field of a connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderFieldError {
    /// The name of the field in the API.
    pub field: &'static str,
    /// What was expected, without a final period.
    pub message: String,
}

impl ProviderConnection {
    /// Validates and normalizes the connection by the rules of the configuration file. Local and LAN addresses are
    /// allowed: only the owner connects providers, and the owner can reach these anyway. Never call this for another
    /// user without checking what the address resolves to.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn validate(self) -> Result<Self, ProviderFieldError> {
        let invalid = |field: &'static str| move |message: String| ProviderFieldError { field, message };
        let id = id(&self.id).map_err(invalid("id"))?;
        if id == "test" {
            return Err(invalid("id")("expected another name: \"test\" is reserved".to_owned()));
        }
        if self.base_url.len() > MAX_BASE_URL_BYTES {
            return Err(invalid("baseUrl")(format!("expected a URL of at most {MAX_BASE_URL_BYTES} bytes")));
        }
        let base_url = parse_base_url(&self.kind, &self.base_url).map_err(invalid("baseUrl"))?;
        if self.models.len() > MAX_MODELS {
            let message = format!("expected at most {MAX_MODELS} names; an empty list asks the server");
            return Err(invalid("models")(message));
        }
        self.models.iter().try_for_each(|name| model(name)).map_err(invalid("models"))?;
        if self.context_tokens.is_some_and(|tokens| !CONTEXT_TOKENS.contains(&tokens)) {
            let (low, high) = (CONTEXT_TOKENS.start(), CONTEXT_TOKENS.end());
            let message = format!("expected a whole number of tokens from {low} to {high}, or null to ask the server");
            return Err(invalid("contextTokens")(message));
        }
        Ok(Self { id, base_url, ..self })
    }

    /// Converts it to a provider configuration; settings that only a file can give get their defaults.
    pub fn into_config(self, api_key: ApiKey) -> ProviderConfig {
        ProviderConfig {
            // An address that was stored by an older version may be that of an endpoint.
            base_url: parse_base_url(&self.kind, &self.base_url).unwrap_or(self.base_url),
            id: self.id,
            kind: self.kind,
            kind_origin: SettingOrigin::default(),
            context_tokens: self.context_tokens.unwrap_or_default(),
            contexts: IndexMap::new(),
            api_key,
            models: self.models,
            concurrent: 0,
            prices: IndexMap::new(),
            tokenizer: String::new(),
            tokenizers: IndexMap::new(),
            template: "auto".to_owned(),
            tools: ToolMode::default(),
            extra: Map::new(),
        }
    }

    /// Returns the origin (scheme, host and port), that is where a key for this address is sent.
    pub fn origin(&self) -> String {
        reqwest::Url::parse(&self.base_url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
    }
}

/// Parses an API key that a user entered.
///
/// # Errors
/// Returns an error if the key is empty, too long, or contains characters that no header can carry.
pub fn parse_api_key(text: &str) -> Result<Secret, String> {
    let key = trim_key(text);
    if key.is_empty() || key.len() > MAX_KEY_BYTES || !key.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
        return Err("expected a key: one line of Latin letters, digits and signs".to_owned());
    }
    Ok(Secret::new(key))
}

impl ProviderConfig {
    /// Returns the context length of a model in tokens, if the settings have one.
    pub fn context_length(&self, model: &str) -> Option<u32> {
        let own = self.contexts.get(model).copied();
        own.or_else(|| Some(self.context_tokens).filter(|tokens| *tokens > 0))
    }

    /// Returns an error for the kind, at the location of the setting. `None` if nobody set it.
    pub fn refuse_kind(&self, message: String) -> Option<ConfigError> {
        self.kind_origin.refuse("[[providers]]", "kind", message)
    }

    /// Returns the API key to send, if any. Reads the file of `api_key_file`, so it may block; white space around the
    /// key in the file is ignored.
    ///
    /// # Errors
    /// Returns an error if the variable or file is missing or holds no key, or if a stored key cannot be decrypted.
    pub fn key(&self) -> Result<Option<Secret>, ApiKeyError> {
        let path = match &self.api_key {
            ApiKey::None => return Ok(None),
            ApiKey::Value(secret) => return Ok(Some(secret.clone())),
            ApiKey::MissingVariable(variable) => return Err(ApiKeyError::NoVariable { variable: variable.clone() }),
            ApiKey::Undecryptable(why) => return Err(ApiKeyError::Undecryptable(why.clone())),
            ApiKey::File(path) => path,
        };
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|cause| ApiKeyError::Unreadable { provider: self.id.clone(), cause })?;
        let key = trim_key(&text);
        if key.is_empty() || key.chars().any(char::is_control) {
            return Err(ApiKeyError::Malformed { provider: self.id.clone() });
        }
        Ok(Some(Secret::new(key)))
    }
}

pub(super) fn read_all(
    tables: Vec<ConfigTable>,
    reader: &mut ConfigReader,
    env: &[(String, String)],
) -> Vec<ProviderConfig> {
    let mut providers: Vec<ProviderConfig> = Vec::new();
    for mut table in tables {
        let provider = read(&mut table, reader, env);
        if providers.iter().any(|other| other.id == provider.id && !provider.id.is_empty()) {
            table.report(&["id"], format!("two providers have the name {:?}", provider.id), reader);
        }
        table.finish(reader);
        providers.push(provider);
    }
    providers
}

fn read(table: &mut ConfigTable, reader: &mut ConfigReader, env: &[(String, String)]) -> ProviderConfig {
    let id = table.parse("id", "", reader, id);
    let kind = table.text("kind", "openai", reader);
    let provider = ProviderConfig {
        id,
        kind_origin: table.origin("kind", reader),
        base_url: table.parse("base_url", "", reader, |text| parse_base_url(&kind, text)),
        kind,
        context_tokens: table.number("context_tokens", 0, 0..=*CONTEXT_TOKENS.end(), "tokens", reader),
        contexts: contexts(table, reader),
        api_key: read_key(table, reader, env),
        models: table.texts("models", &[], reader, model),
        concurrent: table.number("concurrent", 0, 0..=1000, "replies at the same time", reader),
        prices: prices(table, reader),
        tokenizer: table.text("tokenizer", "", reader),
        tokenizers: tokenizers(table, reader),
        template: table.text("template", "auto", reader),
        tools: table.parse("tools", "native", reader, tools),
        extra: table.json("extra", reader),
    };
    for (key, expected) in
        [("id", "a short name such as \"local\""), ("base_url", "a URL such as \"http://127.0.0.1:8080/v1\"")]
    {
        if !table.is_set(key) {
            table.report(&[], format!("{key} is missing: expected {expected}"), reader);
        }
    }
    provider
}

fn tools(text: &str) -> Result<ToolMode, String> {
    match text {
        "native" => Ok(ToolMode::RequestField),
        "words" => Ok(ToolMode::PromptText),
        "none" => Ok(ToolMode::Disabled),
        _ => Err(format!("expected \"native\", \"words\" or \"none\", got {text:?}")),
    }
}

fn read_key(table: &mut ConfigTable, reader: &mut ConfigReader, env: &[(String, String)]) -> ApiKey {
    let given = table.secret("api_key", reader);
    let variable = table.text("api_key_env", "", reader);
    let file = table.text("api_key_file", "", reader);
    let count = [given.is_some(), !variable.is_empty(), !file.is_empty()].into_iter().filter(|&is| is).count();
    if count > 1 {
        let message = "expected only one of api_key, api_key_env and api_key_file".to_owned();
        table.report(&["api_key", "api_key_env", "api_key_file"], message, reader);
    }
    if let Some(key) = given {
        return ApiKey::Value(Secret::new(&key));
    }
    if !variable.is_empty() {
        let value = env.iter().find(|(name, _)| *name == variable).map(|(_, value)| trim_key(value));
        return match value {
            Some(value) if !value.is_empty() && !value.chars().any(char::is_control) => {
                ApiKey::Value(Secret::new(value))
            }
            // A missing key is reported on use: it must not stop the server for users of other providers.
            _ => ApiKey::MissingVariable(variable),
        };
    }
    if file.is_empty() { ApiKey::None } else { ApiKey::File(PathBuf::from(file)) }
}

fn tokenizers(table: &mut ConfigTable, reader: &mut ConfigReader) -> IndexMap<String, String> {
    let mut files = IndexMap::new();
    for (model, said) in table.json("tokenizers", reader) {
        match said {
            Value::String(file) if !file.is_empty() => _ = files.insert(model, file),
            _ => {
                let expected = "expected a tokenizer file, such as \"models/tokenizer.json\"";
                table.report(&["tokenizers"], format!("{model:?}: {expected}"), reader);
            }
        }
    }
    files
}

fn contexts(table: &mut ConfigTable, reader: &mut ConfigReader) -> IndexMap<String, u32> {
    let mut contexts = IndexMap::new();
    for (model, said) in table.json("contexts", reader) {
        let tokens = said.as_u64().and_then(|tokens| u32::try_from(tokens).ok());
        match tokens.filter(|tokens| CONTEXT_TOKENS.contains(tokens)) {
            Some(tokens) => _ = contexts.insert(model, tokens),
            None => {
                let (low, high) = (CONTEXT_TOKENS.start(), CONTEXT_TOKENS.end());
                let expected = format!("expected tokens, a whole number from {low} to {high}");
                table.report(&["contexts"], format!("{model:?}: {expected}"), reader);
            }
        }
    }
    contexts
}

fn prices(table: &mut ConfigTable, reader: &mut ConfigReader) -> IndexMap<String, ModelPrices> {
    let mut prices = IndexMap::new();
    for (model, said) in table.json("prices", reader) {
        match price(&said) {
            Some(price) => _ = prices.insert(model, price),
            None => {
                let expected = "expected prices per million tokens, such as {prompt = 3.0, completion = 15.0}, \
                 optionally with cached and written, none below 0";
                table.report(&["prices"], format!("{model:?}: {expected}"), reader);
            }
        }
    }
    prices
}

fn price(said: &Value) -> Option<ModelPrices> {
    let said = said.as_object()?;
    let known = |name: &String| ["prompt", "completion", "cached", "written"].contains(&name.as_str());
    let number = |name: &str| match said.get(name) {
        Some(value) => value.as_f64().filter(|price| price.is_finite() && *price >= 0.0).map(Some),
        None => Some(None),
    };
    let (prompt, completion) = (number("prompt")??, number("completion")??);
    let prices = ModelPrices { prompt, completion, cached: number("cached")?, cache_write: number("written")? };
    said.keys().all(known).then_some(prices)
}

fn id(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let message = "expected a short name of lower-case letters, digits, \"-\" and \"_\", other than \"plugin\"";
    if !text.is_empty() && text.len() <= 64 && text.chars().all(fits) && text != "plugin" {
        return Ok(text.to_owned());
    }
    Err(format!("{message}, got {text:?}"))
}

fn model(text: &str) -> Result<(), String> {
    if text.is_empty() || text.len() > 200 || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(format!("expected a model name, got {text:?}"));
    }
    Ok(())
}
