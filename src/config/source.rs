//! TOML text and environment variables become one tree in which every value knows its place.

use indexmap::IndexMap;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::problem::{ConfigProblem, Place};

/// A value and where it was given.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub value: Value,
    /// Where its key stands.
    pub key_at: Place,
    /// Where the value itself stands.
    pub at: Place,
}

/// What was given.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Date,
    Array(Vec<Entry>),
    Table(IndexMap<String, Entry>),
    /// The text of an environment variable: its type is known only when a key asks for it.
    Raw(String),
}

impl Value {
    /// The type in words.
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

impl Entry {
    /// Reads the text of a variable as TOML, where it is TOML; a plain word stays a text.
    pub fn resolved(mut self) -> Self {
        if let Value::Raw(text) = &self.value {
            self.value = match DeValue::parse(text.trim()) {
                Ok(value) => value_of(value.into_inner(), &mut |_| self.at.clone()),
                Err(_) => Value::Text(text.clone()),
            };
        }
        self
    }
}

/// The settings as given, before anyone has asked for a type.
#[derive(Debug, Default)]
pub(super) struct Tree(pub IndexMap<String, Entry>);

impl Tree {
    /// Parses a file. On a syntax error the problems say where; the tree is then of no use.
    pub fn from_toml(file: &str, text: &str, problems: &mut Vec<ConfigProblem>) -> Self {
        let lines = Lines(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let at = error.span().map_or(0, |span| span.start);
            problems.push(unnamed(lines.place(at), format!("{file} is not TOML here: {}", error.message())));
        }
        Self(entries_of(table.into_inner(), &mut |at| lines.place(at)))
    }

    /// Sets what a variable names: `CLOTHO_PROVIDERS__0__BASE_URL` is `providers[0].base_url`.
    pub fn set_from_env(&mut self, name: &str, value: &str, problems: &mut Vec<ConfigProblem>) {
        let at = Place::Environment(name.to_owned());
        let path: Vec<String> =
            name.trim_start_matches("CLOTHO_").split("__").map(|part| part.to_ascii_lowercase()).collect();
        let Some((first, rest)) = path.split_first() else { return };
        let slot = self.0.entry(first.clone()).or_insert_with(|| container(rest.first(), &at));
        if let Err(message) = set(slot, rest, value, &at) {
            problems.push(unnamed(at, message));
        }
    }
}

fn unnamed(place: Place, message: String) -> ConfigProblem {
    ConfigProblem { place, section: String::new(), key: String::new(), message }
}

/// Walks down `path` from `slot`, making tables and arrays where there is nothing yet.
fn set(slot: &mut Entry, path: &[String], value: &str, at: &Place) -> Result<(), String> {
    let Some((key, rest)) = path.split_first() else {
        *slot = Entry { value: Value::Raw(value.to_owned()), key_at: at.clone(), at: at.clone() };
        return Ok(());
    };
    *slot = slot.clone().resolved();
    match &mut slot.value {
        Value::Table(table) => {
            let next = table.entry(key.clone()).or_insert_with(|| container(rest.first(), at));
            set(next, rest, value, at)
        }
        Value::Array(array) => {
            let count = array.len();
            let index = key.parse().ok().filter(|index: &usize| *index <= count);
            let index =
                index.ok_or_else(|| format!("\"{key}\": expected an index from 0 to {count}, the next free one"))?;
            if index == count {
                array.push(container(rest.first(), at));
            }
            array.get_mut(index).map_or(Ok(()), |next| set(next, rest, value, at))
        }
        other => Err(format!("\"{key}\" cannot be set inside {}", other.kind())),
    }
}

/// What must stand here so that `next` can be found in it.
fn container(next: Option<&String>, at: &Place) -> Entry {
    let is_index = next.is_some_and(|key| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit()));
    let value = if is_index { Value::Array(Vec::new()) } else { Value::Table(IndexMap::new()) };
    Entry { value, key_at: at.clone(), at: at.clone() }
}

fn entries_of(table: DeTable<'_>, place: &mut dyn FnMut(usize) -> Place) -> IndexMap<String, Entry> {
    let mut entries = IndexMap::new();
    for (key, value) in table {
        let key_at = place(key.span().start);
        let mut entry = entry_of(value, place);
        entry.key_at = key_at;
        entries.insert(key.into_inner().into_owned(), entry);
    }
    entries
}

fn entry_of(value: Spanned<DeValue<'_>>, place: &mut dyn FnMut(usize) -> Place) -> Entry {
    let at = place(value.span().start);
    let value = value_of(value.into_inner(), place);
    Entry { value, key_at: at.clone(), at }
}

fn value_of(value: DeValue<'_>, place: &mut dyn FnMut(usize) -> Place) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(integer) => integer_of(&integer),
        DeValue::Float(float) => Value::Float(float.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(boolean) => Value::Boolean(boolean),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(array) => Value::Array(array.into_iter().map(|value| entry_of(value, place)).collect()),
        DeValue::Table(table) => Value::Table(entries_of(table, place)),
    }
}

/// No key takes a number past 64 bits: such a one is kept as a float, which every whole-number key refuses.
fn integer_of(integer: &DeInteger<'_>) -> Value {
    match i64::from_str_radix(integer.as_str(), integer.radix()) {
        Ok(number) => Value::Integer(number),
        Err(_) => Value::Float(integer.as_str().parse().unwrap_or(f64::INFINITY)),
    }
}

/// Byte offsets to lines and columns.
struct Lines<'a>(&'a str);

impl Lines<'_> {
    fn place(&self, offset: usize) -> Place {
        let before = self.0.get(..offset).unwrap_or(self.0);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |tail| tail.chars().count()) + 1;
        Place::File { line, column }
    }
}
