//! Merges TOML text and environment variables into one tree in which every value knows its location.

use indexmap::IndexMap;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::problem::{ConfigProblem, SettingLocation};

/// A value and its location.
#[derive(Debug, Clone)]
pub(super) struct ConfigEntry {
    pub value: ConfigValue,
    /// The location of its key.
    pub key_at: SettingLocation,
    /// The location of the value itself.
    pub at: SettingLocation,
}

/// A value as given, not yet typed by a key.
#[derive(Debug, Clone)]
pub(super) enum ConfigValue {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Date,
    Array(Vec<ConfigEntry>),
    Table(IndexMap<String, ConfigEntry>),
    /// The text of an environment variable; its type is only known when a key asks for it.
    Raw(String),
}

impl ConfigValue {
    /// Returns the type as a phrase for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::Raw(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number with a fraction",
            Self::Boolean(_) => "a boolean",
            Self::Date => "a date",
            Self::Array(_) => "an array",
            Self::Table(_) => "a table",
        }
    }
}

impl ConfigEntry {
    /// Parses the text of an environment variable as TOML; text that is not TOML stays a string.
    pub fn parse_as_toml(mut self) -> Self {
        if let ConfigValue::Raw(text) = &self.value {
            self.value = match DeValue::parse(text.trim()) {
                Ok(value) => value_of(value.into_inner(), &mut |_| self.at.clone()),
                Err(_) => ConfigValue::Text(text.clone()),
            };
        }
        self
    }
}

/// The settings as given, before any key has asked for a type.
#[derive(Debug, Default)]
pub(super) struct ConfigTree(pub IndexMap<String, ConfigEntry>);

impl ConfigTree {
    /// Parses a file. After a syntax error, which is added to `problems`, the tree is unusable.
    pub fn from_toml(file: &str, text: &str, problems: &mut Vec<ConfigProblem>) -> Self {
        let lines = LineIndex(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let at = error.span().map_or(0, |span| span.start);
            problems.push(file_problem(lines.place(at), format!("{file} has a syntax error: {}", error.message())));
        }
        Self(entries_of(table.into_inner(), &mut |at| lines.place(at)))
    }

    /// Sets the value that a variable names: `CLOTHO_PROVIDERS__0__BASE_URL` is `providers[0].base_url`.
    pub fn set_from_env(&mut self, name: &str, value: &str, problems: &mut Vec<ConfigProblem>) {
        let at = SettingLocation::Environment(name.to_owned());
        let path: Vec<String> =
            name.trim_start_matches("CLOTHO_").split("__").map(|part| part.to_ascii_lowercase()).collect();
        let Some((first, rest)) = path.split_first() else { return };
        let slot = self.0.entry(first.clone()).or_insert_with(|| container(rest.first(), &at));
        if let Err(message) = set(slot, rest, value, &at) {
            problems.push(file_problem(at, message));
        }
    }
}

fn file_problem(place: SettingLocation, message: String) -> ConfigProblem {
    ConfigProblem { place, section: String::new(), key: String::new(), message }
}

/// Sets the value at `path` below `slot`, creating missing tables and arrays.
fn set(slot: &mut ConfigEntry, path: &[String], value: &str, at: &SettingLocation) -> Result<(), String> {
    let Some((key, rest)) = path.split_first() else {
        *slot = ConfigEntry { value: ConfigValue::Raw(value.to_owned()), key_at: at.clone(), at: at.clone() };
        return Ok(());
    };
    *slot = slot.clone().parse_as_toml();
    match &mut slot.value {
        ConfigValue::Table(table) => {
            let next = table.entry(key.clone()).or_insert_with(|| container(rest.first(), at));
            set(next, rest, value, at)
        }
        ConfigValue::Array(array) => {
            let count = array.len();
            let index = key.parse().ok().filter(|index: &usize| *index <= count);
            let index = index.ok_or_else(|| {
                format!("\"{key}\": expected an index from 0 to {count}, where the last one adds an item")
            })?;
            if index == count {
                array.push(container(rest.first(), at));
            }
            array.get_mut(index).map_or(Ok(()), |next| set(next, rest, value, at))
        }
        other => Err(format!("\"{key}\" cannot be set inside {}", other.kind())),
    }
}

/// Creates the container that can hold the key `next`: an array for an index, else a table.
fn container(next: Option<&String>, at: &SettingLocation) -> ConfigEntry {
    let is_index = next.is_some_and(|key| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit()));
    let value = if is_index { ConfigValue::Array(Vec::new()) } else { ConfigValue::Table(IndexMap::new()) };
    ConfigEntry { value, key_at: at.clone(), at: at.clone() }
}

fn entries_of(table: DeTable<'_>, place: &mut dyn FnMut(usize) -> SettingLocation) -> IndexMap<String, ConfigEntry> {
    let mut entries = IndexMap::new();
    for (key, value) in table {
        let key_at = place(key.span().start);
        let mut entry = entry_of(value, place);
        entry.key_at = key_at;
        entries.insert(key.into_inner().into_owned(), entry);
    }
    entries
}

fn entry_of(value: Spanned<DeValue<'_>>, place: &mut dyn FnMut(usize) -> SettingLocation) -> ConfigEntry {
    let at = place(value.span().start);
    let value = value_of(value.into_inner(), place);
    ConfigEntry { value, key_at: at.clone(), at }
}

fn value_of(value: DeValue<'_>, place: &mut dyn FnMut(usize) -> SettingLocation) -> ConfigValue {
    match value {
        DeValue::String(text) => ConfigValue::Text(text.into_owned()),
        DeValue::Integer(integer) => integer_of(&integer),
        DeValue::Float(float) => ConfigValue::Float(float.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(boolean) => ConfigValue::Boolean(boolean),
        DeValue::Datetime(_) => ConfigValue::Date,
        DeValue::Array(array) => ConfigValue::Array(array.into_iter().map(|value| entry_of(value, place)).collect()),
        DeValue::Table(table) => ConfigValue::Table(entries_of(table, place)),
    }
}

/// Parses an integer. One beyond 64 bits becomes a float, which every integer key refuses.
fn integer_of(integer: &DeInteger<'_>) -> ConfigValue {
    match i64::from_str_radix(integer.as_str(), integer.radix()) {
        Ok(number) => ConfigValue::Integer(number),
        Err(_) => ConfigValue::Float(integer.as_str().parse().unwrap_or(f64::INFINITY)),
    }
}

/// Converts byte offsets to lines and columns.
struct LineIndex<'a>(&'a str);

impl LineIndex<'_> {
    fn place(&self, offset: usize) -> SettingLocation {
        let before = self.0.get(..offset).unwrap_or(self.0);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |tail| tail.chars().count()) + 1;
        SettingLocation::File { line, column }
    }
}
