//! Searchable values of the state: those that a schema marks with `x-search` (`domain.md` 8).
//!
//! A value has its whole path with dots as key (`combat.hp`), and the last part of the path too if that is unique among
//! the marked values. Keys and values become terms of two fields, so the index needs to know no schema. Values hidden
//! from players are not indexed. All sizes are limited: a message never costs more than its text.

use std::collections::HashMap;

use serde_json::Value;

use super::{analyzer, decimal_code};
use clotho_core::world::{Pointer, SchemaNode, SchemaSet, World};

/// How many marked leaves of a state are indexed, in the order of the schemas.
const LEAVES_MAX: usize = 64;
/// How many items of a list or map are indexed.
const ITEMS_MAX: usize = 32;
/// How many characters of a text are indexed.
const TEXT_MAX: usize = 200;
/// The maximum length of a key, in characters.
pub(super) const KEY_MAX: usize = 100;

/// Separates key and value in a term; sorts before everything that may occur in a key.
const APART: char = '\0';

/// One searchable value of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedValue {
    /// The keys, in lower case.
    pub keys: Vec<String>,
    pub value: IndexedScalar,
}

/// A scalar value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexedScalar {
    Flag(bool),
    /// A number as JSON writes it.
    Number(String),
    /// A text, cut to the indexed length.
    Text(String),
}

/// Returns the searchable values of a state under its active schemas. Cheap for states without any.
pub fn indexed_values(world: &World, rules: &SchemaSet) -> Vec<IndexedValue> {
    let marked = searchable_leaves(rules);
    let mut uses: HashMap<String, usize> = HashMap::new();
    for (path, _) in &marked {
        *uses.entry(last(path)).or_default() += 1;
    }
    let mut facts = Vec::new();
    for (path, node) in &marked {
        let mut keys = vec![join_key(path.keys())];
        if uses.get(&last(path)) == Some(&1) && path.keys().len() > 1 {
            keys.push(last(path));
        }
        if let Some(value) = world.get(path) {
            collect_values(&keys, node, value, &mut facts);
        }
    }
    facts.retain(|fact: &IndexedValue| !fact.keys.is_empty());
    facts
}

/// Returns whether the schemas mark any value. If not, no state needs to be read.
pub fn has_searchable_values(rules: &SchemaSet) -> bool {
    !searchable_leaves(rules).is_empty()
}

/// Returns the marked leaves of all schemas.
fn searchable_leaves(rules: &SchemaSet) -> Vec<(Pointer, &SchemaNode)> {
    let mut marked = Vec::new();
    for (root, schema) in rules.roots() {
        let leaves = schema.visible_leaves().filter(|(_, node)| is_searchable(node));
        let whole =
            leaves.map(|(path, node)| (Pointer::from_keys(root.keys().iter().chain(path.keys()).cloned()), node));
        marked.extend(whole.take(LEAVES_MAX.saturating_sub(marked.len())));
    }
    marked
}

/// Returns whether a leaf is marked: itself, the schema of its items, or a part of those.
fn is_searchable(node: &SchemaNode) -> bool {
    let within = node.additional_schema().or(node.items()).filter(|within| within.is_visible());
    node.is_searchable()
        || within.is_some_and(|within| within.is_searchable() || searchable_parts(within).next().is_some())
}

/// Returns the marked properties of an item's schema.
fn searchable_parts(node: &SchemaNode) -> impl Iterator<Item = &str> {
    node.properties().filter(|(_, part)| part.is_searchable() && part.is_visible()).map(|(key, _)| key)
}

fn last(path: &Pointer) -> String {
    path.keys().last().map(|key| normalize_key(key)).unwrap_or_default()
}

fn join_key(keys: &[String]) -> String {
    keys.iter().map(|key| normalize_key(key)).collect::<Vec<_>>().join(".")
}

/// Normalizes a key for comparison.
pub(super) fn normalize_key(key: &str) -> String {
    key.to_lowercase()
}

/// Collects the values of a leaf: itself, the items of a list, or the entries of a map under their keys. The keys of a
/// map are values too.
fn collect_values(keys: &[String], node: &SchemaNode, value: &Value, facts: &mut Vec<IndexedValue>) {
    match value {
        Value::Array(list) => facts.extend(list.iter().take(ITEMS_MAX).filter_map(|item| indexed_value(keys, item))),
        Value::Object(map) => {
            for (name, item) in map.iter().take(ITEMS_MAX) {
                facts.extend(indexed_value(keys, &Value::String(name.clone())));
                let inner: Vec<String> = keys.iter().map(|key| format!("{key}.{}", normalize_key(name))).collect();
                facts.extend(indexed_value(&inner, item));
                for (part, value) in node
                    .additional_schema()
                    .into_iter()
                    .flat_map(searchable_parts)
                    .filter_map(|part| Some((part, item.get(part)?)))
                {
                    let inner: Vec<String> = inner.iter().map(|key| format!("{key}.{}", normalize_key(part))).collect();
                    facts.extend(indexed_value(&inner, value));
                }
            }
        }
        plain => facts.extend(indexed_value(keys, plain)),
    }
}

fn indexed_value(keys: &[String], value: &Value) -> Option<IndexedValue> {
    let value = match value {
        Value::Bool(flag) => IndexedScalar::Flag(*flag),
        Value::Number(number) => IndexedScalar::Number(number.to_string()),
        Value::String(text) => IndexedScalar::Text(text.chars().take(TEXT_MAX).collect()),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    let usable = |key: &&String| key.chars().count() <= KEY_MAX && !key.contains(APART);
    Some(IndexedValue { keys: keys.iter().filter(usable).cloned().collect(), value })
}

/// The terms of one key in the field of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValueTerms {
    /// The bounds below and above every number of the key.
    pub numbers: (String, String),
    key: String,
}

impl ValueTerms {
    /// Creates the terms of a key.
    pub fn for_key(key: &str) -> Self {
        let number = |code: &str| format!("{key}{APART}#{code}");
        Self { numbers: (number(decimal_code::LEAST), number(decimal_code::MOST)), key: key.to_owned() }
    }

    /// Returns the term of an encoded number.
    pub fn code(&self, code: &str) -> String {
        format!("{}{APART}#{code}", self.key)
    }

    /// Returns the term of a number; `None` if the text is no number.
    pub fn number(&self, text: &str) -> Option<String> {
        decimal_code::encode(text).map(|code| self.code(&code))
    }

    /// Returns the term of a flag.
    pub fn flag(&self, flag: bool) -> String {
        format!("{}{APART}?{flag}", self.key)
    }

    /// Returns the term of a whole text.
    pub fn whole_text(&self, text: &str) -> String {
        let words: Vec<String> = analyzer::phrase_terms(text).into_iter().map(|term| term.text).collect();
        format!("{}{APART}={}", self.key, words.join(" "))
    }

    /// Returns the term of one word of a text.
    pub fn word(&self, word: &str) -> String {
        format!("{}{APART}~{word}", self.key)
    }
}

impl IndexedValue {
    /// Returns the terms by which the value is found.
    pub(super) fn terms(&self) -> Vec<String> {
        self.keys.iter().flat_map(|key| self.terms_of(key)).collect()
    }

    fn terms_of(&self, key: &str) -> Vec<String> {
        let terms = ValueTerms::for_key(key);
        match &self.value {
            IndexedScalar::Flag(flag) => vec![terms.flag(*flag)],
            IndexedScalar::Number(number) => terms.number(number).into_iter().collect(),
            IndexedScalar::Text(text) => {
                let words = analyzer::tokenize(text).into_iter().map(|word| terms.word(&word));
                words.chain([terms.whole_text(text)]).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use clotho_core::world::Schema;

    fn schema_set(roots: &[(&str, Value)]) -> SchemaSet {
        let read =
            |(root, schema): &(&str, Value)| (root.parse().unwrap(), Arc::new(Schema::parse(schema.clone()).unwrap()));
        SchemaSet::new(roots.iter().map(read).collect()).unwrap()
    }

    fn format_values(vars: Value, rules: &SchemaSet) -> Vec<String> {
        let world = World::from_json(json!({"vars": vars})).unwrap();
        indexed_values(&world, rules).iter().map(|fact| format!("{} {:?}", fact.keys.join("|"), fact.value)).collect()
    }

    #[test]
    fn values_unique_last_key_is_alias() {
        let stat = |mark: bool| json!({"type": "number", "x-search": mark});
        let rules = schema_set(&[
            (
                "/combat",
                json!({"type": "object", "properties": {"hp": stat(true), "mp": stat(true), "armour": stat(false)}}),
            ),
            (
                "/ship",
                json!({"type": "object", "properties": {"hp": stat(true), "Name": {"type": "string", "x-search": true}}}),
            ),
        ]);
        let vars = json!({"combat": {"hp": 12.5, "mp": 3, "armour": 9}, "ship": {"hp": 100, "Name": "Gull"}, "hp": 1});
        assert_eq!(
            format_values(vars, &rules),
            [
                "combat.hp Number(\"12.5\")",
                "combat.mp|mp Number(\"3\")",
                "ship.hp Number(\"100\")",
                "ship.name|name Text(\"Gull\")"
            ]
        );
        assert_eq!(format_values(json!({"combat": 3}), &rules), [] as [&str; 0]);
        assert!(has_searchable_values(&rules) && !has_searchable_values(&SchemaSet::default()));
    }

    #[test]
    fn values_hidden_leaves_are_not_indexed() {
        let rules = schema_set(&[(
            "/bag",
            json!({"type": "object", "properties": {
                "tags": {"type": "array", "items": {"type": "string"}, "x-search": true},
                "items": {"type": "object", "additionalProperties": {"type": "integer", "x-search": true}},
                "people": {"additionalProperties": {"properties": {"love": {"x-search": true}, "shame": {}}}},
                "secret": {"type": "integer", "x-search": true, "x-visible": false},
            }}),
        )]);
        let vars = json!({"bag": {"tags": ["wet", null, {"a": 1}], "items": {"Old Rope": 2}, "secret": 7, "people": {"Ann": {"love": 9, "shame": 1}}}});
        assert_eq!(
            format_values(vars, &rules),
            [
                "bag.tags|tags Text(\"wet\")",
                "bag.items|items Text(\"Old Rope\")",
                "bag.items.old rope|items.old rope Number(\"2\")",
                "bag.people|people Text(\"Ann\")",
                "bag.people.ann.love|people.ann.love Number(\"9\")"
            ]
        );
    }

    #[test]
    fn values_oversized_world_is_bounded() {
        let mut properties = serde_json::Map::new();
        let mut vars = serde_json::Map::new();
        for n in 0..100 {
            properties.insert(format!("n{n}"), json!({"type": "array", "x-search": true}));
            vars.insert(format!("n{n}"), json!(vec!["x".repeat(10_000); 100]));
        }
        properties.insert("k".repeat(500), json!({"x-search": true}));
        let rules = schema_set(&[("/all", json!({"type": "object", "properties": properties}))]);
        let world = World::from_json(json!({"vars": {"all": vars}})).unwrap();
        let facts = indexed_values(&world, &rules);
        assert_eq!(facts.len(), LEAVES_MAX * ITEMS_MAX);
        assert!(facts.iter().flat_map(IndexedValue::terms).all(|term| term.len() < 4 * TEXT_MAX + KEY_MAX));
    }

    #[test]
    fn values_number_terms_lie_within_bounds() {
        let fact = IndexedValue { keys: vec!["hp".into()], value: IndexedScalar::Number("-3".into()) };
        let bounds = ValueTerms::for_key("hp").numbers;
        assert!(fact.terms().iter().all(|term| bounds.0 < *term && *term < bounds.1));
        let text =
            IndexedValue { keys: vec!["place".into()], value: IndexedScalar::Text("The Old TOWER 灯塔".into()) };
        for word in ["place\0~tower", "place\0~灯塔", "place\0=the old tower 灯塔"] {
            assert!(text.terms().contains(&word.to_owned()), "{word}");
        }
    }
}
