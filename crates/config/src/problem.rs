//! Configuration errors: what is wrong, where, and how it is displayed.

use std::fmt;
use std::path::Path;

/// The location of a setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingLocation {
    /// In the file.
    File {
        /// Counted from 1.
        line: usize,
        /// In characters, counted from 1.
        column: usize,
    },
    /// In the environment variable of this name.
    Environment(String),
}

/// The location of a setting, for problems that are only found later. It is not part of the value: settings with the
/// same value are equal, wherever they were given.
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

    /// Returns an error at this location; `None` if the setting was not given.
    pub fn refuse(&self, section: &str, key: &str, message: String) -> Option<ConfigError> {
        let (file, place) = self.0.clone()?;
        let problem = ConfigProblem { place, section: section.to_owned(), key: key.to_owned(), message };
        Some(ConfigError::new(file, vec![problem]))
    }
}

/// One invalid setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    pub place: SettingLocation,
    /// The section as written in the file (`[server]`); empty if no section is concerned.
    pub section: String,
    /// The key; empty if no single key is concerned.
    pub key: String,
    /// What is wrong and what was expected, without a final period. Never contains a secret.
    pub message: String,
}

/// All problems of a configuration, displayed one per line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The file name in messages.
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

    /// Merges errors into one; `None` if there are none.
    pub fn combine(found: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut found = found.into_iter();
        let Self { file, mut problems } = found.next()?;
        problems.extend(found.flat_map(|more| more.problems));
        Some(Self::new(file, problems))
    }

    /// Returns the problems in file order, then by variable name; never empty.
    pub fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }
}

/// One line per problem: `config.toml:12:1: [server] listne: unknown key; …`.
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
