//! What is wrong with a setting, where, and how it is said.

use std::fmt;
use std::path::Path;

/// Where a setting was given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingLocation {
    /// In the file; line and column count from 1, columns in characters.
    File {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// In an environment variable of this name.
    Environment(String),
}

/// Where a setting was given, for what can be found wrong with it only later. It is no part of the value: two settings
/// that say the same are equal wherever they stand.
#[derive(Debug, Clone, Default)]
pub struct SettingOrigin(Option<(String, SettingLocation)>);

impl PartialEq for SettingOrigin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for SettingOrigin {}

impl SettingOrigin {
    pub(super) fn at(file: &str, place: Option<SettingLocation>) -> Self {
        Self(place.map(|place| (file.to_owned(), place)))
    }

    /// What is wrong with the setting there; `None` if nobody gave it.
    pub fn refuse(&self, section: &str, key: &str, message: String) -> Option<ConfigError> {
        let (file, place) = self.0.clone()?;
        let problem = ConfigProblem { place, section: section.to_owned(), key: key.to_owned(), message };
        Some(ConfigError::new(file, vec![problem]))
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Where.
    pub place: SettingLocation,
    /// Of which section, as the file writes it (`[server]`); empty when no section is meant.
    pub section: String,
    /// Which key; empty when no key is meant.
    pub key: String,
    /// What is wrong and what was expected, without a final period. Never shows a secret.
    pub message: String,
}

/// Everything that is wrong with the settings, one line for each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// How the file is called.
    file: String,
    /// Never empty.
    problems: Vec<ConfigProblem>,
}

impl ConfigError {
    pub(super) fn new(file: String, mut problems: Vec<ConfigProblem>) -> Self {
        problems.sort_by(|a, b| a.place.cmp(&b.place));
        Self { file, problems }
    }

    pub(super) fn of_file(path: &Path, message: &str) -> Self {
        let place = SettingLocation::File { line: 1, column: 1 };
        let problem = ConfigProblem { place, section: String::new(), key: String::new(), message: message.to_owned() };
        Self { file: path.display().to_string(), problems: vec![problem] }
    }

    /// Everything that several have found wrong; `None` if nobody has.
    pub fn combine(found: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut found = found.into_iter();
        let Self { file, mut problems } = found.next()?;
        problems.extend(found.flat_map(|more| more.problems));
        Some(Self::new(file, problems))
    }

    /// What is wrong, in the order of the file, then of the variables' names; never empty.
    pub fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }
}

/// `config.toml:12:1: [server] listne: unknown key; …`, one line for each problem.
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            match &problem.place {
                SettingLocation::File { line, column } => write!(f, "{}:{line}:{column}:", self.file)?,
                SettingLocation::Environment(name) => write!(f, "environment {name}:")?,
            }
            write!(f, " {problem}")?;
        }
        Ok(())
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject: Vec<&str> =
            [self.section.as_str(), self.key.as_str()].into_iter().filter(|word| !word.is_empty()).collect();
        if subject.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", subject.join(" "), self.message)
    }
}
