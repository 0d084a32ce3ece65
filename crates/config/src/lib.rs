//! Configuration: one struct per section of `config.toml`, read once at startup and passed to the code that needs it.
//!
//! A value comes from the environment (`CLOTHO_SERVER__LISTEN`), else from the file, else from the default. All
//! errors are reported together, each with file, line, column, key and the expected value. There is no global
//! configuration: code receives only the sections it asks for.
//!
//! - [`problem`]: configuration errors and their display
//! - `source`: merges TOML text and environment variables into a tree in which every value knows its location
//! - `reader`: takes typed values out of that tree, collects problems, and finds unknown keys
//! - [`sections`], [`provider`], [`model_alias`], [`allowed_host`]: the sections with their keys, defaults and bounds
//! - [`time_zone`](parse_time_zone): names of time zones
//!
//! To add a key: a field with its doc comment, one line in `read` of its section, and a commented line in
//! `config.toml` (a test compares the two). To add a section: a struct with `read`, and a line in [`Config`].

pub mod allowed_host;
mod base_url;
pub mod model_alias;
pub mod problem;
pub mod provider;
mod reader;
pub mod sections;
mod source;
#[cfg(test)]
mod tests;
mod time_zone;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use allowed_host::{AllowedHost, PageScheme};
pub use model_alias::ModelAlias;
pub use problem::{ConfigError, ConfigProblem, SettingLocation, SettingOrigin};
pub use provider::{
    ApiKey, ApiKeyError, ModelPrices, ProviderConfig, ProviderConnection, ProviderFieldError, Secret, ToolMode,
    parse_api_key,
};
use reader::{ConfigReader, ConfigTable};
pub use sections::{
    GenerationConfig, IpNetwork, LimitsConfig, LogConfig, LogFormat, MAX_TEXT_BYTES, PicturesConfig, PluginsConfig,
    RecallConfig, SearchConfig, ServerConfig, ServerMode, StorageConfig, SummariesConfig, TreeConfig,
};
use source::ConfigTree;
pub use time_zone::parse_time_zone;

/// The file that is read by default: `config.toml` in the working directory.
const DEFAULT_FILE: &str = "config.toml";

/// The environment variable that names the file; `--config` on the command line takes precedence.
const FILE_VARIABLE: &str = "CLOTHO_CONFIG";

/// The whole configuration. `Config::default()` equals that of an empty file.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `[server]`: listen address and access.
    pub server: ServerConfig,
    /// `[storage]`: data directory, database and backups.
    pub storage: StorageConfig,
    /// `[plugins]`: the folder of additional plugins.
    pub plugins: PluginsConfig,
    /// `[tree]`: whether session trees may be edited.
    pub tree: TreeConfig,
    /// `[generation]`: default model, timeouts and context size.
    pub generation: GenerationConfig,
    /// `[[providers]]`: the model servers, in file order; their ids are unique.
    pub providers: Vec<ProviderConfig>,
    /// `[models]`: model aliases, in file order.
    pub aliases: Vec<ModelAlias>,
    /// `[pictures]`: remote images.
    pub pictures: PicturesConfig,
    /// `[recall]`: recall of old messages and documents.
    pub recall: RecallConfig,
    /// `[summaries]`: rolling summaries of text that no longer fits the prompt.
    pub summaries: SummariesConfig,
    /// `[limits]`: limits per request, user and server.
    pub limits: LimitsConfig,
    /// `[log]`: format and level of the log.
    pub log: LogConfig,
    /// `[search]`: how the search index is written.
    pub search: SearchConfig,
}

impl Default for Config {
    fn default() -> Self {
        let mut reader = ConfigReader::default();
        Self::from_tree(ConfigTree::default(), &mut reader, &[])
    }
}

impl Config {
    /// Loads the configuration from the text of a file and from environment variables; opens no file.
    ///
    /// `path` is the file name in messages (`config.toml` if `None`), `text` its content (`None`: there is no file).
    /// Variables of `env` that begin with `CLOTHO_`, except `CLOTHO_CONFIG`, override the file. Other variables are
    /// only read if a provider's `api_key_env` names them.
    ///
    /// # Errors
    /// Returns all problems, in file order, then in the order of the variable names.
    pub fn load(
        path: Option<&Path>,
        text: Option<String>,
        env: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let file = path.unwrap_or(Path::new(DEFAULT_FILE)).display().to_string();
        let mut reader = ConfigReader { file: file.clone(), ..ConfigReader::default() };
        let mut tree = ConfigTree::from_toml(&file, text.as_deref().unwrap_or_default(), &mut reader.problems);
        if !reader.problems.is_empty() {
            return Err(ConfigError::new(file, reader.problems));
        }
        let mut env: Vec<(String, String)> = env.collect();
        env.sort_by_cached_key(|(name, _)| variable_order(name));
        for (name, value) in env.iter().filter(|(name, _)| name.starts_with("CLOTHO_") && name != FILE_VARIABLE) {
            tree.set_from_env(name, value, &mut reader.problems);
        }
        let config = Self::from_tree(tree, &mut reader, &env);
        if reader.problems.is_empty() { Ok(config) } else { Err(ConfigError::new(file, reader.problems)) }
    }

    /// Finds and loads the configuration file and the environment. The file is `named` (from `--config`), else the
    /// one in `CLOTHO_CONFIG`, else `config.toml` in the working directory if it exists, else none.
    ///
    /// # Errors
    /// Returns an error if a named file cannot be read, a file is not UTF-8, or a setting is invalid.
    pub fn find_and_load(
        named: Option<&Path>,
        env: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let env: Vec<(String, String)> = env.map(|(name, value)| (lossy(name), lossy(value))).collect();
        let from_env = env.iter().find(|(name, value)| name == FILE_VARIABLE && !value.is_empty());
        let named = named.map(Path::to_owned).or_else(|| from_env.map(|(_, value)| PathBuf::from(value)));
        let path = named.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_FILE));
        let text = match std::fs::read(&path) {
            Ok(bytes) => Some(String::from_utf8(bytes).map_err(|_| ConfigError::of_file(&path, "not UTF-8 text"))?),
            Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(ConfigError::of_file(&path, &format!("cannot be read: {error}"))),
        };
        Self::load(Some(&path), text, env.into_iter())
    }

    /// Returns an error for the default model, at the location of the setting. `None` if nobody set it.
    pub fn refuse_model(&self, message: String) -> Option<ConfigError> {
        self.generation.model_origin.refuse("[generation]", "model", message)
    }

    /// Returns an error for the embeddings model, at the location of the setting. `None` if nobody set it.
    pub fn refuse_embeddings(&self, message: String) -> Option<ConfigError> {
        self.recall.embeddings_origin.refuse("[recall]", "embeddings", message)
    }

    /// Returns the id of the provider that `word` was probably meant to name.
    pub fn nearest_provider(&self, word: &str) -> Option<&str> {
        let ids: Vec<&str> = self.providers.iter().map(|provider| provider.id.as_str()).collect();
        reader::nearest_key(word, &ids)
    }

    fn from_tree(tree: ConfigTree, reader: &mut ConfigReader, env: &[(String, String)]) -> Self {
        let mut top = ConfigTable::top(tree);
        let config = Self {
            server: top.section("server", reader, ServerConfig::read),
            storage: top.section("storage", reader, StorageConfig::read),
            plugins: top.section("plugins", reader, PluginsConfig::read),
            tree: top.section("tree", reader, TreeConfig::read),
            generation: top.section("generation", reader, GenerationConfig::read),
            providers: provider::read_all(top.tables("providers", reader), reader, env),
            aliases: top.section("models", reader, model_alias::read),
            pictures: top.section("pictures", reader, PicturesConfig::read),
            recall: top.section("recall", reader, RecallConfig::read),
            summaries: top.section("summaries", reader, SummariesConfig::read),
            limits: top.section("limits", reader, LimitsConfig::read),
            log: top.section("log", reader, LogConfig::read),
            search: top.section("search", reader, SearchConfig::read),
        };
        top.finish(reader);
        config
    }
}

/// The order in which variables are read: by name, but items of a list by their number, because only the next item can
/// be added.
fn variable_order(name: &str) -> Vec<(usize, String)> {
    name.split("__").map(|part| (part.parse().unwrap_or(usize::MAX), part.to_owned())).collect()
}

/// Converts to a string. A non-Unicode text is never a valid setting; its replacement characters show the place of
/// the error.
fn lossy(text: OsString) -> String {
    text.into_string().unwrap_or_else(|text| text.to_string_lossy().into_owned())
}
