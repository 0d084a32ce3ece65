//! Takes typed values out of the settings tree, collects problems, and finds unknown keys.

use std::ops::RangeInclusive;

use indexmap::IndexMap;

use super::problem::{ConfigProblem, SettingLocation, SettingOrigin};
use super::source::{ConfigEntry, ConfigTree, ConfigValue};

/// The problems found so far.
#[derive(Debug, Default)]
pub(super) struct ConfigReader {
    /// The file name in messages.
    pub file: String,
    pub problems: Vec<ConfigProblem>,
    /// Every requested key with its section: what `config.toml` must document.
    #[cfg(test)]
    pub requested_keys: Vec<(String, &'static str)>,
}

/// One table of the file during reading. Requested keys are taken out; the remaining ones are unknown.
pub(super) struct ConfigTable {
    /// As written in the file: `[server]`.
    name: String,
    /// Where the table begins; `None` if it was not given.
    at: Option<SettingLocation>,
    entries: IndexMap<String, ConfigEntry>,
    known: Vec<(&'static str, Option<SettingLocation>)>,
}

impl ConfigTable {
    /// Creates the table of the whole file.
    pub fn top(tree: ConfigTree) -> Self {
        Self { name: String::new(), at: None, entries: tree.0, known: Vec::new() }
    }

    /// Reads the section `name` with `read`; a missing section is empty.
    pub fn section<T>(
        &mut self,
        name: &'static str,
        reader: &mut ConfigReader,
        read: fn(&mut Self, &mut ConfigReader) -> T,
    ) -> T {
        let mut table = match self.take(name) {
            Some(entry) => Self::open(format!("[{name}]"), entry, reader),
            None => Self { name: format!("[{name}]"), at: None, entries: IndexMap::new(), known: Vec::new() },
        };
        let section = read(&mut table, reader);
        table.finish(reader);
        section
    }

    /// Returns what `read` makes of an empty section.
    pub fn default_of<T>(read: fn(&mut Self, &mut ConfigReader) -> T) -> T {
        let mut table = Self { name: String::new(), at: None, entries: IndexMap::new(), known: Vec::new() };
        read(&mut table, &mut ConfigReader::default())
    }

    /// Returns whether a requested key was given in the file or the environment.
    pub fn is_set(&self, key: &str) -> bool {
        self.known.iter().any(|(known, place)| *known == key && place.is_some())
    }

    /// Returns where a requested key was given.
    pub fn origin(&self, key: &str, reader: &ConfigReader) -> SettingOrigin {
        let place = self.known.iter().find(|(known, _)| *known == key).and_then(|(_, place)| place.clone());
        SettingOrigin::at(&reader.file, place)
    }

    /// Takes an array of tables (`[[name]]`).
    pub fn tables(&mut self, name: &'static str, reader: &mut ConfigReader) -> Vec<Self> {
        let Some(entry) = self.take(name).map(ConfigEntry::parse_as_toml) else { return Vec::new() };
        let ConfigValue::Array(entries) = entry.value else {
            reader.problems.push(ConfigProblem {
                place: entry.at,
                section: format!("[[{name}]]"),
                key: String::new(),
                message: format!("expected an array of tables, got {}", entry.value.kind()),
            });
            return Vec::new();
        };
        entries.into_iter().map(|entry| Self::open(format!("[[{name}]]"), entry, reader)).collect()
    }

    fn open(name: String, entry: ConfigEntry, reader: &mut ConfigReader) -> Self {
        let entry = entry.parse_as_toml();
        let (entries, wrong) = match entry.value {
            ConfigValue::Table(entries) => (entries, None),
            other => (IndexMap::new(), Some(format!("expected a table, got {}", other.kind()))),
        };
        if let Some(message) = wrong {
            let (place, section) = (entry.at.clone(), name.clone());
            reader.problems.push(ConfigProblem { place, section, key: String::new(), message });
        }
        Self { name, at: Some(entry.at), entries, known: Vec::new() }
    }

    /// Takes a string of any content.
    pub fn text(&mut self, key: &'static str, default: &str, reader: &mut ConfigReader) -> String {
        self.parse(key, default, reader, |text| Ok(text.to_owned()))
    }

    /// Takes a string and converts it with `parse`, whose error says what was expected. The default must parse.
    pub fn parse<T>(
        &mut self,
        key: &'static str,
        default: &str,
        reader: &mut ConfigReader,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> T
    where
        T: Default,
    {
        let given = self.take(key).and_then(|entry| {
            let place = entry.at.clone();
            let text = environment_text(entry.value).map_err(|kind| format!("expected a string, got {kind}"));
            text.and_then(|text| parse(&text)).map_err(|message| self.report_value(key, place, message, reader)).ok()
        });
        given.or_else(|| parse(default).ok()).unwrap_or_default()
    }

    /// Takes a secret string; problems never show its content.
    pub fn secret(&mut self, key: &'static str, reader: &mut ConfigReader) -> Option<String> {
        let entry = self.take(key)?;
        let place = entry.at.clone();
        match environment_text(entry.value) {
            Ok(text) if text.is_empty() => None,
            Ok(text) if text.chars().any(char::is_control) => {
                self.report_value(key, place, "must not contain line breaks or control characters".to_owned(), reader);
                None
            }
            Ok(text) => Some(text),
            Err(kind) => {
                self.report_value(key, place, format!("expected a string, got {kind}"), reader);
                None
            }
        }
    }

    /// Takes an integer within bounds; `what` says in messages what it counts.
    pub fn number(
        &mut self,
        key: &'static str,
        default: u32,
        bounds: RangeInclusive<u32>,
        what: &str,
        reader: &mut ConfigReader,
    ) -> u32 {
        let Some(entry) = self.take(key).map(ConfigEntry::parse_as_toml) else { return default };
        let (low, high) = (bounds.start(), bounds.end());
        let got = match &entry.value {
            ConfigValue::Integer(number) => match u32::try_from(*number) {
                Ok(number) if bounds.contains(&number) => return number,
                _ => number.to_string(),
            },
            ConfigValue::Text(text) => format!("{text:?}"),
            other => other.kind().to_owned(),
        };
        self.report_value(
            key,
            entry.at,
            format!("expected {what}, a whole number from {low} to {high}, got {got}"),
            reader,
        );
        default
    }

    /// Takes a boolean.
    pub fn flag(&mut self, key: &'static str, default: bool, reader: &mut ConfigReader) -> bool {
        let Some(entry) = self.take(key).map(ConfigEntry::parse_as_toml) else { return default };
        match entry.value {
            ConfigValue::Boolean(given) => given,
            other => {
                self.report_value(key, entry.at, format!("expected true or false, got {}", other.kind()), reader);
                default
            }
        }
    }

    /// Takes a list of strings, each validated by `check`.
    pub fn texts(
        &mut self,
        key: &'static str,
        default: &[&str],
        reader: &mut ConfigReader,
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Vec<String> {
        let Some(entry) = self.take(key).map(ConfigEntry::parse_as_toml) else {
            return default.iter().map(|&text| text.to_owned()).collect();
        };
        let ConfigValue::Array(items) = entry.value else {
            let kind = entry.value.kind();
            self.report_value(key, entry.at, format!("expected a list of strings, [\"…\"], got {kind}"), reader);
            return Vec::new();
        };
        let mut texts = Vec::new();
        for item in items {
            let checked = match item.value {
                ConfigValue::Text(text) => check(&text).map(|()| text),
                other => Err(format!("expected only strings in the list, got {}", other.kind())),
            };
            match checked {
                Ok(text) => texts.push(text),
                Err(message) => self.report_value(key, item.at, message, reader),
            }
        }
        texts
    }

    /// Takes all remaining keys, each with a string or a list of strings, validated by `check`.
    pub fn lists(
        &mut self,
        reader: &mut ConfigReader,
        check: fn(&str, &[String]) -> Result<(), String>,
    ) -> Vec<(String, Vec<String>, SettingOrigin)> {
        let mut lists = Vec::new();
        for (key, entry) in std::mem::take(&mut self.entries) {
            let entry = entry.parse_as_toml();
            let texts = match entry.value {
                ConfigValue::Text(text) => Some(vec![text]),
                ConfigValue::Array(items) => items.into_iter().map(|item| environment_text(item.value).ok()).collect(),
                _ => None,
            };
            let checked = match texts {
                Some(texts) => check(&key, &texts).map(|()| texts),
                None => Err("expected a string or a list of strings".to_owned()),
            };
            match checked {
                Ok(texts) => lists.push((key, texts, SettingOrigin::at(&reader.file, Some(entry.key_at)))),
                Err(message) => self.report_value(&key, entry.at, message, reader),
            }
        }
        lists
    }

    /// Takes a table of any content, as JSON.
    pub fn json(&mut self, key: &'static str, reader: &mut ConfigReader) -> serde_json::Map<String, serde_json::Value> {
        let Some(entry) = self.take(key) else { return serde_json::Map::new() };
        let at = entry.at.clone();
        match json_of(entry) {
            Ok(serde_json::Value::Object(map)) => return map,
            Ok(_) => self.report_value(key, at, "expected a table, {name = value}".to_owned(), reader),
            Err((at, message)) => self.report_value(key, at, message, reader),
        }
        serde_json::Map::new()
    }

    /// Reports a problem that concerns several keys, at the first of `keys` that was given, else at the table itself.
    pub fn report(&self, keys: &[&str], message: String, reader: &mut ConfigReader) {
        let given = keys.iter().find_map(|key| {
            let known = self.known.iter().find(|(known, _)| known == key)?;
            Some((known.0, known.1.clone()?))
        });
        let (key, place) = match given {
            Some((key, place)) => (key, place),
            None => ("", self.at.clone().unwrap_or(SettingLocation::File { line: 1, column: 1 })),
        };
        self.report_value(key, place, message, reader);
    }

    /// Reports the remaining keys as unknown.
    pub fn finish(self, reader: &mut ConfigReader) {
        #[cfg(test)]
        reader.requested_keys.extend(self.known.iter().map(|(key, _)| (self.name.clone(), *key)));
        let known: Vec<&str> = self.known.iter().map(|(key, _)| *key).collect();
        let what = if self.name.is_empty() { "section" } else { "key" };
        for (key, entry) in self.entries {
            let near = nearest_key(&key, &known);
            if near.is_none() && is_foreign(&entry.key_at) {
                continue;
            }
            let hint = near.map(|near| format!("did you mean \"{near}\"? ")).unwrap_or_default();
            let message = format!("unknown {what}; {hint}Known: {}", known.join(", "));
            reader.problems.push(ConfigProblem { place: entry.key_at, section: self.name.clone(), key, message });
        }
    }

    fn take(&mut self, key: &'static str) -> Option<ConfigEntry> {
        let entry = self.entries.shift_remove(key);
        self.known.push((key, entry.as_ref().map(|entry| entry.key_at.clone())));
        entry
    }

    fn report_value(&self, key: &str, place: SettingLocation, message: String, reader: &mut ConfigReader) {
        let section = self.name.clone();
        reader.problems.push(ConfigProblem { place, section, key: key.to_owned(), message });
    }
}

/// Returns whether a variable has no `__`, so that it could only name a section. Unless its name is close to a
/// section's, it belongs to some script (`CLOTHO_BIN`).
fn is_foreign(place: &SettingLocation) -> bool {
    matches!(place, SettingLocation::Environment(name) if !name.contains("__"))
}

/// Returns a string value. A variable that holds a quoted TOML string is unquoted; any other text is used as it is.
fn environment_text(value: ConfigValue) -> Result<String, &'static str> {
    match value {
        ConfigValue::Text(text) => Ok(text),
        ConfigValue::Raw(text) if text.starts_with(['"', '\'']) => Ok(unquoted(text)),
        ConfigValue::Raw(text) => Ok(text),
        other => Err(other.kind()),
    }
}

fn unquoted(text: String) -> String {
    let inner =
        toml::de::DeValue::parse(text.trim()).ok().and_then(|value| value.get_ref().as_str().map(str::to_owned));
    inner.unwrap_or(text)
}

fn json_of(entry: ConfigEntry) -> Result<serde_json::Value, (SettingLocation, String)> {
    let entry = entry.parse_as_toml();
    Ok(match entry.value {
        ConfigValue::Text(text) | ConfigValue::Raw(text) => text.into(),
        ConfigValue::Integer(number) => number.into(),
        ConfigValue::Boolean(boolean) => boolean.into(),
        ConfigValue::Float(number) => match serde_json::Number::from_f64(number) {
            Some(number) => number.into(),
            None => return Err((entry.at, "a number must be finite".to_owned())),
        },
        ConfigValue::Date => return Err((entry.at, "expected a JSON value; write a date as a string".to_owned())),
        ConfigValue::Array(items) => {
            serde_json::Value::Array(items.into_iter().map(json_of).collect::<Result<_, _>>()?)
        }
        ConfigValue::Table(entries) => {
            let entries = entries.into_iter().map(|(key, entry)| Ok((key, json_of(entry)?)));
            serde_json::Value::Object(entries.collect::<Result<_, _>>()?)
        }
    })
}

/// Returns the known key closest to `key`, if one is close enough.
pub(super) fn nearest_key<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = known.iter().map(|&name| (strsim::osa_distance(key, name), name)).min()?;
    (near.0 <= 1 + near.1.chars().count() / 4).then_some(near.1)
}
