//! Values of the world by which messages are found: those that a schema marks with `x-search` (`domain.md` 8).
//!
//! A value has a key: the last part of its path where no other marked value of the same rules has it too, and always the whole
//! path with points (`combat.hp`). Keys and values become terms of two fields, so that an index needs to know no schema. What
//! players may not see is not searched by. Everything is bounded: a message never costs more than its text.

use std::collections::HashMap;

use serde_json::Value;

use super::{analyzer, decimal_code};
use clotho_core::world::{Pointer, SchemaNode, SchemaSet, World};

/// So many marked leaves of a world count, in the order of the schemas.
const LEAVES_MAX: usize = 64;
/// So many values of a list or a map count.
const ITEMS_MAX: usize = 32;
/// So many characters of a text count.
const TEXT_MAX: usize = 200;
/// Longer keys cannot be asked for.
pub(super) const KEY_MAX: usize = 100;

/// Parts the key from what it is, and sorts before everything that may stand in a key.
const APART: char = '\0';

/// One value by which a message is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedValue {
    /// The names under which it can be asked for, folded.
    pub keys: Vec<String>,
    /// What it is.
    pub value: IndexedScalar,
}

/// A value without parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexedScalar {
    /// `true` or `false`.
    Flag(bool),
    /// A number as JSON writes it.
    Number(String),
    /// A text, cut to what counts.
    Text(String),
}

/// The facts of a world under the rules in force there; none for most worlds, at little cost.
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

/// Whether rules mark anything: without, no world has to be looked at.
pub fn has_searchable_values(rules: &SchemaSet) -> bool {
    !searchable_leaves(rules).is_empty()
}

/// The marked leaves of all rules.
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

/// Marked itself, or as what its values are like, or what those hold.
fn is_searchable(node: &SchemaNode) -> bool {
    let within = node.additional_schema().or(node.items()).filter(|within| within.is_visible());
    node.is_searchable()
        || within.is_some_and(|within| within.is_searchable() || searchable_parts(within).next().is_some())
}

/// The marked parts of one of several like things.
fn searchable_parts(node: &SchemaNode) -> impl Iterator<Item = &str> {
    node.properties().filter(|(_, part)| part.is_searchable() && part.is_visible()).map(|(key, _)| key)
}

fn last(path: &Pointer) -> String {
    path.keys().last().map(|key| normalize_key(key)).unwrap_or_default()
}

fn join_key(keys: &[String]) -> String {
    keys.iter().map(|key| normalize_key(key)).collect::<Vec<_>>().join(".")
}

/// A key as it is compared.
pub(super) fn normalize_key(key: &str) -> String {
    key.to_lowercase()
}

/// The values of a leaf: itself, those of a list, or those of a map under their keys; the names of what a map holds are its own
/// values.
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

/// What a value is asked to be, as terms of the field of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValueTerms {
    /// Before every number of the key, and behind.
    pub numbers: (String, String),
    key: String,
}

impl ValueTerms {
    /// The terms of a key.
    pub fn of(key: &str) -> Self {
        let number = |code: &str| format!("{key}{APART}#{code}");
        Self { numbers: (number(decimal_code::LEAST), number(decimal_code::MOST)), key: key.to_owned() }
    }

    /// A number by its code.
    pub fn code(&self, code: &str) -> String {
        format!("{}{APART}#{code}", self.key)
    }

    /// A number; `None` if the text is none.
    pub fn number(&self, text: &str) -> Option<String> {
        decimal_code::encode(text).map(|code| self.code(&code))
    }

    /// `true` or `false`.
    pub fn flag(&self, flag: bool) -> String {
        format!("{}{APART}?{flag}", self.key)
    }

    /// A whole text.
    pub fn whole_text(&self, text: &str) -> String {
        let words: Vec<String> = analyzer::phrase_terms(text).into_iter().map(|(_, word)| word).collect();
        format!("{}{APART}={}", self.key, words.join(" "))
    }

    /// A word of a text.
    pub fn word(&self, word: &str) -> String {
        format!("{}{APART}~{word}", self.key)
    }
}

impl IndexedValue {
    /// The terms by which it is found.
    pub(super) fn terms(&self) -> Vec<String> {
        self.keys.iter().flat_map(|key| self.terms_of(key)).collect()
    }

    fn terms_of(&self, key: &str) -> Vec<String> {
        let terms = ValueTerms::of(key);
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

    fn rules(roots: &[(&str, Value)]) -> SchemaSet {
        let read =
            |(root, schema): &(&str, Value)| (root.parse().unwrap(), Arc::new(Schema::parse(schema.clone()).unwrap()));
        SchemaSet::new(roots.iter().map(read).collect()).unwrap()
    }

    fn said(vars: Value, rules: &SchemaSet) -> Vec<String> {
        let world = World::from_json(json!({"vars": vars})).unwrap();
        indexed_values(&world, rules).iter().map(|fact| format!("{} {:?}", fact.keys.join("|"), fact.value)).collect()
    }

    #[test]
    fn values_unique_last_key_is_alias() {
        let stat = |mark: bool| json!({"type": "number", "x-search": mark});
        let rules = rules(&[
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
            said(vars, &rules),
            [
                "combat.hp Number(\"12.5\")",
                "combat.mp|mp Number(\"3\")",
                "ship.hp Number(\"100\")",
                "ship.name|name Text(\"Gull\")"
            ]
        );
        assert_eq!(said(json!({"combat": 3}), &rules), [] as [&str; 0]);
        assert!(has_searchable_values(&rules) && !has_searchable_values(&SchemaSet::default()));
    }

    #[test]
    fn values_hidden_leaves_are_not_indexed() {
        let rules = rules(&[(
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
            said(vars, &rules),
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
        let rules = rules(&[("/all", json!({"type": "object", "properties": properties}))]);
        let world = World::from_json(json!({"vars": {"all": vars}})).unwrap();
        let facts = indexed_values(&world, &rules);
        assert_eq!(facts.len(), LEAVES_MAX * ITEMS_MAX);
        assert!(facts.iter().flat_map(IndexedValue::terms).all(|term| term.len() < 4 * TEXT_MAX + KEY_MAX));
    }

    #[test]
    fn values_number_terms_lie_within_bounds() {
        let fact = IndexedValue { keys: vec!["hp".into()], value: IndexedScalar::Number("-3".into()) };
        let bounds = ValueTerms::of("hp").numbers;
        assert!(fact.terms().iter().all(|term| bounds.0 < *term && *term < bounds.1));
        let text =
            IndexedValue { keys: vec!["place".into()], value: IndexedScalar::Text("The Old TOWER 灯塔".into()) };
        for word in ["place\0~tower", "place\0~灯塔", "place\0=the old tower 灯塔"] {
            assert!(text.terms().contains(&word.to_owned()), "{word}");
        }
    }
}
