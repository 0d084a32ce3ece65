//! Schemas: what may stand below one root of `vars`.
//!
//! A schema is a subset of JSON Schema, read once into [`SchemaNode`]s (`parser.rs`) so that the fold can clamp and check only
//! the place it touches (`conform.rs`). A keyword that is not known is refused when the schema is read: none passes
//! silently. [`SchemaSet`] are the schemas in force at a node, each governing its own root.
//!
//! What it understands: `type`, `enum` and `const` (of plain values), `minimum`, `maximum`, `exclusiveMinimum`,
//! `exclusiveMaximum`, `minLength`, `maxLength`, `pattern`, `properties`, `additionalProperties`, `required`, `items`,
//! `minItems`, `maxItems`, `uniqueItems` (of plain values), `default`, `readOnly`, `title`, `description`, `$defs` with
//! local `$ref`s that do not go in a circle, `$schema` and `$comment` (both without effect), and the hints `x-ui`,
//! `x-visible` and `x-search`; `x-computed` (`computed.rs`, and in which order in `computed_order.rs`) and `x-prototype`.
//!
//! To add a keyword: its name in `keywords.rs`, a field of [`SchemaNode`], its reading in `parser.rs`, its check in
//! `conform.rs`, and a line in the tables of `tests.rs`.

mod coercion;
mod comparison_check;
mod computed;
mod computed_order;
mod conform;
mod contradictions;
mod keywords;
mod node;
mod parser;
mod schema_set;
mod subschemas;
#[cfg(test)]
mod tests;
mod ui_hints;
mod visibility;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Pointer, canonical};

pub use comparison_check::{TWO_VALUES, is_bare_variable};
pub(super) use computed_order::{ComputedField, SchemaStep, resolve_variable};
pub(super) use conform::{PathName, ValueConformer, ValueProblem, count_phrase, preserves_read_only};
pub(super) use node::SchemaRule;
pub use node::{SchemaNode, ValueKind};
pub use schema_set::SchemaSet;

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", prefix(.path))]
pub struct SchemaError {
    /// Where in the schema.
    pub path: Pointer,
    /// What is wrong, and what was expected.
    pub message: String,
}

fn prefix(path: &Pointer) -> String {
    if path.is_root() { String::new() } else { format!("{path}: ") }
}

/// One JSON Schema, read once.
#[derive(Debug, Clone)]
pub struct Schema {
    source: Value,
    hash: String,
    top: Arc<SchemaNode>,
    followers: Arc<[ComputedField]>,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// Names the place of a keyword that is unknown or of the wrong shape, of a range that nothing can meet, of a
    /// `default` that breaks its own schema, of what is computed in a circle; or says that the schema is too big or too deep.
    pub fn parse(source: Value) -> Result<Self, SchemaError> {
        let text = parser::bounded_text(&source)?;
        let top = parser::parse_schema(&source)?;
        let followers = computed_order::computed_fields(&top)?.into();
        visibility::check_conditions(&top)?;
        Ok(Self { hash: canonical::digest(&text), source, top, followers })
    }

    /// What else is odd about it, though it can be used: hints that nobody understands, keys that must be there and that nobody
    /// declares, choices of another type, conditions that never hold.
    pub fn advice(&self) -> Vec<SchemaError> {
        let mut found = ui_hints::advice(&self.source);
        found.extend(contradictions::advice(&self.source));
        visibility::condition_advice(&self.top, &self.top, &Pointer::default(), &mut found);
        found
    }

    /// The outermost places, seen from the root, that players and models may not see while its values are these.
    pub fn hidden_paths(&self, state: &Value) -> Vec<Pointer> {
        visibility::hidden_paths(self.top(), state)
    }

    /// The computed values, each after those it follows from.
    pub(super) fn computed_fields(&self) -> &[ComputedField] {
        &self.followers
    }

    /// Whether the place that these keys lead to, or one above it, is computed.
    pub fn is_computed(&self, keys: &[String]) -> bool {
        let mut node = Some(self.top());
        !self.followers.is_empty()
            && keys.iter().any(|key| {
                node = node.and_then(|node| node.child(key));
                node.is_some_and(SchemaNode::is_computed)
            })
    }

    /// The JSON it was read from.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// The blake3 hash of its canonical JSON, in hexadecimal: the name under which a schema is kept (`domain.md` 3.2).
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Gives what is named nearly as it is declared its name, where only one can be meant: models write `Item` and `how-many`. Answers
    /// with what was read as what.
    pub fn normalize_names(&self, value: &mut Value) -> Vec<(String, String)> {
        let mut mended = Vec::new();
        coercion::normalize_names(self.top(), value, &mut mended);
        mended
    }

    /// Makes a value of its own, which lies in no world, fit the schema as the fold would: numbers are brought into place.
    /// Models write such values, so their slips are put right first (`coercion.rs`), and what is left out has its `default`.
    ///
    /// # Errors
    /// Says what does not fit, and where.
    pub fn coerce(&self, value: &mut Value) -> Result<(), String> {
        coercion::coerce(self.top(), value);
        let found = conform::ValueConformer::new(&[], &mut Vec::new()).value(self.top(), value);
        found.map_err(|finding| match finding.path.keys() {
            // It is no world that something is missing in.
            [] => finding.message.trim_start_matches("the world: ").to_owned(),
            [_] => finding.message,
            _ => format!("{}: {}", finding.path, finding.message),
        })
    }

    /// What the root begins with where nobody says it: every default that is declared, and those inside.
    pub fn default_values(&self) -> Map<String, Value> {
        parser::defaults(self.top())
    }

    /// The rule for the root itself.
    pub fn top(&self) -> &SchemaNode {
        &self.top
    }

    /// The rule for the place that these keys lead to, seen from the root: through declared properties, the rule for
    /// all others, or the items of a list. `None` where the schema says nothing or allows nothing.
    pub fn at(&self, keys: &[String]) -> Option<&SchemaNode> {
        keys.iter().try_fold(self.top(), |node, key| node.child(key))
    }

    /// What the fold would say of a value that is put there: numbers brought into place, and why it is refused.
    pub fn check_value(&self, keys: &[String], value: &Value) -> Vec<String> {
        let Some(node) = self.at(keys) else { return Vec::new() };
        let mut notes = Vec::new();
        let refused = conform::ValueConformer::new(keys, &mut notes).value(node, &mut value.clone()).err();
        // What entries begin with is filled in before they are looked at.
        let above = keys.split_last().and_then(|(_, above)| self.at(above));
        let begins = above.is_some_and(SchemaNode::has_prototypes) || node.has_prototypes();
        let findings = notes.into_iter().chain(refused.filter(|_| !begins));
        findings.map(|finding| finding.message).collect()
    }

    /// The declared leaves in document order, with their paths seen from the root. A leaf is what declares no
    /// properties of its own: a plain value, a list, or a map of like things.
    pub fn leaves(&self) -> impl Iterator<Item = (Pointer, &SchemaNode)> {
        self.walk(|_| true)
    }

    /// The leaves that players may see whatever happens: none that is, or lies inside, something with `x-visible: false` or with
    /// a condition there.
    pub fn visible_leaves(&self) -> impl Iterator<Item = (Pointer, &SchemaNode)> {
        self.walk(SchemaNode::is_visible)
    }

    fn walk(&self, enter: impl Fn(&SchemaNode) -> bool) -> impl Iterator<Item = (Pointer, &SchemaNode)> {
        let mut leaves = Vec::new();
        let mut open = vec![(Pointer::default(), self.top())];
        while let Some((path, node)) = open.pop() {
            if !enter(node) {
                continue;
            }
            if node.properties.is_empty() {
                leaves.push((path, node));
            } else {
                open.extend(node.properties.iter().rev().map(|(key, child)| (path.child(key), child.as_ref())));
            }
        }
        leaves.into_iter()
    }
}
