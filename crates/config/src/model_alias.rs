//! `[models]`: aliases for models, with fallbacks.

use super::problem::{ConfigError, SettingOrigin};
use super::reader::{ConfigReader, ConfigTable};

/// An alias for one or more models.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAlias {
    /// The alias, such as `smart`.
    pub name: String,
    /// The models in order of preference; never empty.
    pub models: Vec<String>,
    origin: SettingOrigin,
}

impl ModelAlias {
    /// Returns an error for the alias, at the location of the setting.
    pub fn refuse(&self, message: String) -> Option<ConfigError> {
        self.origin.refuse("[models]", &self.name, message)
    }
}

pub(super) fn read(table: &mut ConfigTable, reader: &mut ConfigReader) -> Vec<ModelAlias> {
    let mut aliases = Vec::new();
    for (name, models, given) in table.lists(reader, alias) {
        aliases.push(ModelAlias { name, models, origin: given });
    }
    aliases
}

fn alias(name: &str, models: &[String]) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err("an alias has lower-case letters, digits, \"-\", \"_\" and \".\"".to_owned());
    }
    let is_model = |model: &String| !model.is_empty() && !model.starts_with("plugin:");
    if models.is_empty() || !models.iter().all(is_model) {
        return Err(
            "expected a model such as \"local/my-model\", or a list of models in order of preference".to_owned()
        );
    }
    Ok(())
}
