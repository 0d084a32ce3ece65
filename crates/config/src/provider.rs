//! `[[providers]]`: the model servers, and keys that never show.

use std::fmt;
use std::path::PathBuf;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::problem::{ConfigError, SettingOrigin};
use super::reader::{ConfigReader, ConfigTable};

/// The longest address of a connected server, in bytes.
const MAX_BASE_URL_BYTES: usize = 1000;
/// The longest key that is typed, in bytes.
const MAX_KEY_BYTES: usize = 4000;
/// So many models can be named of a connected server.
const MAX_MODELS: usize = 200;

/// One model server.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderConfig {
    /// How models name it: `id/model`. Lower-case letters, digits, `-` and `_`; unique.
    pub id: String,
    /// What it speaks, such as `openai`. Whoever knows the kinds refuses an unknown one: [`ProviderConfig::refuse_kind`].
    pub kind: String,
    kind_origin: SettingOrigin,
    /// Where its API begins, such as `http://127.0.0.1:8080/v1`; without a slash at the end.
    pub base_url: String,
    /// Its key. See [`ProviderConfig::key`].
    pub api_key: ApiKey,
    /// The names of its models; empty means: ask it.
    pub models: Vec<String>,
    /// So many replies of its key may be under way at the same time; 0 = any number.
    pub concurrent: u32,
    /// What its models cost, by their names; for those that the server tells no prices of, or tells wrong ones.
    pub prices: IndexMap<String, ModelPrices>,
    /// The file of the tokenizer that its models read by, or the name of one; empty = as their names say, else none.
    pub tokenizer: String,
    /// The same for some of its models, by their names.
    pub tokenizers: IndexMap<String, String>,
    /// How messages become one text for servers that complete a text: a name, a file, or `auto`.
    pub template: String,
    /// How its models are told of tools.
    pub tools: ToolMode,
    /// More parameters, sent with each request as they stand.
    pub extra: Map<String, Value>,
}

/// How the models of a server are told of tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolMode {
    /// In a field of the request, where servers of its kind have one; in words otherwise.
    #[default]
    RequestField,
    /// In the prompt, and they call them in words.
    PromptText,
    /// Not at all.
    Disabled,
}

/// What a model costs: a million tokens, in whatever currency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelPrices {
    /// Of the prompt.
    pub prompt: f64,
    /// Of the reply.
    pub completion: f64,
    /// Of the prompt, where the server had read it before; `None` = as any other.
    pub cached: Option<f64>,
    /// Of the prompt, where the server keeps it from now on; `None` = as any other.
    pub written: Option<f64>,
}

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiKey {
    /// The server asks for none.
    None,
    /// It stood in the settings or in the environment.
    Value(Secret),
    /// It was to come from this variable of the environment, which is not there or holds no line of text.
    MissingVariable(String),
    /// It stands in this file, which is read when the key is needed.
    File(PathBuf),
    /// It was kept, and cannot be opened: why.
    Undecryptable(String),
}

/// A key. It shows itself to nobody but the server it is for: `Debug` and `Display` print a placeholder.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the key, without the white space that files and pasting leave around it.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// The secret itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
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

/// There is no key where one should be.
#[derive(Debug, thiserror::Error)]
pub enum ApiKeyError {
    /// The environment does not have it.
    #[error(
        "the environment has no variable {variable:?} that holds one line of text; set it and start the server again"
    )]
    NoVariable {
        /// Which one.
        variable: String,
    },
    /// It was kept, and cannot be opened.
    #[error("{0}")]
    Undecryptable(String),
    /// It cannot be read.
    #[error("the key file of provider {provider} cannot be read: {cause}")]
    Unreadable {
        /// Whose.
        provider: String,
        /// Why.
        cause: std::io::Error,
    },
    /// It is empty, or holds more than one line of text.
    #[error("the key file of provider {provider} must hold one line: the key")]
    Malformed {
        /// Whose.
        provider: String,
    },
}

/// What stands in no file: a provider that was connected while the server runs.
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
}

impl ProviderConnection {
    /// The same as it is kept, by the rules of the file. An address of this machine or of the network at home is as good as
    /// any other: whoever connects is the owner, who may reach all of that anyway. Who is not the owner must never get here
    /// without a check of what the address resolves to.
    ///
    /// # Errors
    /// The field that does not fit, and why.
    pub fn validate(self) -> Result<Self, (&'static str, String)> {
        let id = id(&self.id).map_err(|why| ("id", why))?;
        if id == "test" {
            return Err(("id", "expected another name: \"test\" has a meaning of its own here".to_owned()));
        }
        if self.base_url.len() > MAX_BASE_URL_BYTES {
            return Err(("baseUrl", format!("expected an address of at most {MAX_BASE_URL_BYTES} bytes")));
        }
        let base_url = base_url(&self.base_url).map_err(|why| ("baseUrl", why))?;
        if self.models.len() > MAX_MODELS {
            return Err(("models", format!("expected at most {MAX_MODELS} names: leave it empty to ask the server")));
        }
        self.models.iter().try_for_each(|name| model(name)).map_err(|why| ("models", why))?;
        Ok(Self { id, base_url, ..self })
    }

    /// As the rest of the program knows model servers: what a file could say more of it is as if it were not said.
    pub fn into_config(self, api_key: ApiKey) -> ProviderConfig {
        ProviderConfig {
            id: self.id,
            kind: self.kind,
            kind_origin: SettingOrigin::default(),
            base_url: self.base_url,
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

    /// Whom a key for this address is shown: scheme, host and port.
    pub fn origin(&self) -> String {
        reqwest::Url::parse(&self.base_url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
    }
}

/// A key that somebody typed.
///
/// # Errors
/// No server could be told it.
pub fn parse_api_key(text: &str) -> Result<Secret, String> {
    let key = text.trim();
    if key.is_empty() || key.len() > MAX_KEY_BYTES || !key.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
        return Err("expected a key: one line of Latin letters, digits and signs".to_owned());
    }
    Ok(Secret::new(key))
}

impl ProviderConfig {
    /// Refuses the kind, at its place in the file or by its variable.
    pub fn refuse_kind(&self, message: String) -> Option<ConfigError> {
        self.kind_origin.refuse("[[providers]]", "kind", message)
    }

    /// The key to send, if there is one. Reads the file of `api_key_file`, so it may block; blanks around the key in the
    /// file do not count.
    ///
    /// # Errors
    /// The variable or the file is not there, or holds no key.
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
        let key = text.trim();
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
            table.report(&["id"], format!("two providers are called {:?}", provider.id), reader);
        }
        table.finish(reader);
        providers.push(provider);
    }
    providers
}

fn read(table: &mut ConfigTable, reader: &mut ConfigReader, env: &[(String, String)]) -> ProviderConfig {
    let provider = ProviderConfig {
        id: table.parse("id", "", reader, id),
        kind: table.text("kind", "openai", reader),
        kind_origin: table.origin("kind", reader),
        base_url: table.parse("base_url", "", reader, base_url),
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
        [("id", "a short name such as \"local\""), ("base_url", "an address such as \"http://127.0.0.1:8080/v1\"")]
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
        let value = env.iter().find(|(name, _)| *name == variable).map(|(_, value)| value.trim());
        return match value {
            Some(value) if !value.is_empty() && !value.chars().any(char::is_control) => {
                ApiKey::Value(Secret::new(value))
            }
            // No reason to keep the stories from who does not use this provider today.
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
                let expected = "expected the file of its tokenizer, such as \"models/tokenizer.json\"";
                table.report(&["tokenizers"], format!("{model:?}: {expected}"), reader);
            }
        }
    }
    files
}

fn prices(table: &mut ConfigTable, reader: &mut ConfigReader) -> IndexMap<String, ModelPrices> {
    let mut prices = IndexMap::new();
    for (model, said) in table.json("prices", reader) {
        match price(&said) {
            Some(price) => _ = prices.insert(model, price),
            None => {
                let expected = "expected the prices of a million tokens, {prompt = 3.0, completion = 15.0} and, if you \
                                like, cached and written, none below 0";
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
    let prices = ModelPrices { prompt, completion, cached: number("cached")?, written: number("written")? };
    said.keys().all(known).then_some(prices)
}

fn id(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let message = "expected a short name of lower-case letters, digits, \"-\" and \"_\", and not \"plugin\"";
    if !text.is_empty() && text.len() <= 64 && text.chars().all(fits) && text != "plugin" {
        return Ok(text.to_owned());
    }
    Err(format!("{message}, got {text:?}"))
}

/// The message never repeats the address: people write passwords into them.
fn base_url(text: &str) -> Result<String, String> {
    let expected = "expected an address such as \"http://127.0.0.1:8080/v1\"";
    let url = reqwest::Url::parse(text).map_err(|error| format!("{expected}: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(format!("{expected}: it must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("{expected}: keys belong in api_key, api_key_env or api_key_file"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("{expected}: it must not have a ? or # part"));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn model(text: &str) -> Result<(), String> {
    if text.is_empty() || text.len() > 200 || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(format!("expected the name of a model, got {text:?}"));
    }
    Ok(())
}
