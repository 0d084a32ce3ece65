//! Settings: one struct for each section of `config.toml`, read once at the start and handed to who needs that section.
//!
//! A value comes from the environment (`CLOTHO_SERVER__LISTEN`), else from the file, else it is the default. Whatever is
//! wrong is refused with file, line, column, key and what was expected, everything together. There is no global: a part
//! of the program gets the section it asks for.
//!
//! - [`problem`]: what a wrong setting is and how it is said
//! - `source`: TOML text and environment variables become one tree in which every value knows its place
//! - `reader`: takes typed values out of that tree, notes what is wrong, and finds keys nobody asked for
//! - [`sections`], [`provider`], [`model_alias`]: the sections, their keys, defaults and bounds
//!
//! To add a key: a field with its doc comment and one line in `read` of its section, and a commented line in
//! `config.toml` (a test compares the two). To add a section: a struct with `read`, and a line in [`Config`].

pub mod model_alias;
pub mod problem;
pub mod provider;
mod reader;
pub mod sections;
mod source;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use model_alias::ModelAlias;
pub use problem::{ConfigError, ConfigProblem, SettingLocation, SettingOrigin};
pub use provider::{
    ApiKey, ApiKeyError, ModelPrices, ProviderConfig, ProviderConnection, Secret, ToolMode, parse_api_key,
};
use reader::{ConfigReader, ConfigTable};
pub use sections::{
    GenerationConfig, IpNetwork, LimitsConfig, LogConfig, LogFormat, MAX_TEXT_BYTES, PicturesConfig, PluginsConfig,
    RecallConfig, SearchConfig, ServerConfig, ServerMode, StorageConfig, SummariesConfig, TreeConfig,
};
use source::ConfigTree;

/// The file that is read when nobody names one: `config.toml` in the working directory.
const DEFAULT_FILE: &str = "config.toml";

/// The variable that names the file; the command line's `--config` goes before it.
const FILE_VARIABLE: &str = "CLOTHO_CONFIG";

/// All settings. `Config::default()` is what an empty file gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `[server]`: where the server listens and for whom.
    pub server: ServerConfig,
    /// `[storage]`: where the data lies and how it is written.
    pub storage: StorageConfig,
    /// `[plugins]`: where more plugins lie.
    pub plugins: PluginsConfig,
    /// `[tree]`: what may be done to the trees of sessions.
    pub tree: TreeConfig,
    /// `[generation]`: which model answers and how long it may take.
    pub generation: GenerationConfig,
    /// `[[providers]]`: the model servers, in the order of the file; their ids differ.
    pub providers: Vec<ProviderConfig>,
    /// `[models]`: names for models, in the order of the file.
    pub aliases: Vec<ModelAlias>,
    /// `[pictures]`: pictures that other servers have.
    pub pictures: PicturesConfig,
    /// `[recall]`: how what was said long ago is found again.
    pub recall: RecallConfig,
    /// `[summaries]`: how sessions sum up what their prompts do not hold any more.
    pub summaries: SummariesConfig,
    /// `[limits]`: what one request, user or server may use.
    pub limits: LimitsConfig,
    /// `[log]`: what is logged and in which form.
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
    /// Reads settings from the text of a file and from environment variables; it opens nothing.
    ///
    /// `path` is how messages call the file (`config.toml` if `None`), `text` its content (`None`: there is no file).
    /// Of `env` the variables that begin with `CLOTHO_` override the file, except `CLOTHO_CONFIG`; the others are only
    /// looked at when a provider's `api_key_env` names them.
    ///
    /// # Errors
    /// Everything that is wrong, in the order of the file, then of the variables' names.
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
        env.sort();
        for (name, value) in env.iter().filter(|(name, _)| name.starts_with("CLOTHO_") && name != FILE_VARIABLE) {
            tree.set_from_env(name, value, &mut reader.problems);
        }
        let config = Self::from_tree(tree, &mut reader, &env);
        if reader.problems.is_empty() { Ok(config) } else { Err(ConfigError::new(file, reader.problems)) }
    }

    /// Finds the file, reads it and the environment: `named` (the command line's `--config`), else what `CLOTHO_CONFIG`
    /// names, else `config.toml` in the working directory if there is one, else the defaults.
    ///
    /// # Errors
    /// A file that was named cannot be read, a file is not UTF-8, or something in it or in the environment is wrong.
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

    /// Refuses the default model, at its place in the file or by its variable; `None` if it is the program's own default.
    pub fn refuse_model(&self, message: String) -> Option<ConfigError> {
        self.generation.model_origin.refuse("[generation]", "model", message)
    }

    /// Refuses the model of embeddings, at its place in the file or by its variable.
    pub fn refuse_embeddings(&self, message: String) -> Option<ConfigError> {
        self.recall.embeddings_origin.refuse("[recall]", "embeddings", message)
    }

    /// The provider whose id was probably meant by another word.
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

/// A name or value that is not Unicode cannot be a good setting; its replacement characters show where it is wrong.
fn lossy(text: OsString) -> String {
    text.into_string().unwrap_or_else(|text| text.to_string_lossy().into_owned())
}
