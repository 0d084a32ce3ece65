//! Schemas: what may stand below one root of `vars`.
//!
//! A schema is a subset of JSON Schema, read once into [`Node`]s (`read.rs`) so that the fold can clamp and check only
//! the place it touches (`conform.rs`). A keyword that is not known is refused when the schema is read: none passes
//! silently. [`Rules`] are the schemas in force at a node, each governing its own root.
//!
//! What it understands: `type`, `enum` and `const` (of plain values), `minimum`, `maximum`, `exclusiveMinimum`,
//! `exclusiveMaximum`, `minLength`, `maxLength`, `pattern`, `properties`, `additionalProperties`, `required`, `items`,
//! `minItems`, `maxItems`, `uniqueItems` (of plain values), `default`, `readOnly`, `title`, `description`, `$defs` with
//! local `$ref`s that do not go in a circle, `$schema` and `$comment` (both without effect), and the hints `x-ui`,
//! `x-visible` and `x-search`; `x-computed` (`computed.rs`, and in which order in `follow.rs`) and `x-prototype`.
//!
//! To add a keyword: its name in `keywords.rs`, a field of [`Node`], its reading in `read.rs`, its check in
//! `conform.rs`, and a line in the tables of `tests.rs`.

mod computed;
mod concealed;
mod conform;
mod follow;
mod hints;
mod keywords;
mod node;
mod read;
mod rules;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use super::{Pointer, canonical};

pub(super) use conform::{Conform, Finding, Name, counted, read_only_kept};
pub(super) use follow::{Follower, Step, meant};
pub(super) use node::Spot;
pub use node::{Kind, Node};
pub use rules::Rules;

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
    top: Arc<Node>,
    followers: Arc<[Follower]>,
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
        let text = read::bounded_text(&source)?;
        let top = read::schema(&source)?;
        let followers = follow::followers(&top)?.into();
        concealed::check(&top)?;
        Ok(Self { hash: canonical::digest(&text), source, top, followers })
    }

    /// What else is odd about it, though it can be used: hints that nobody understands.
    pub fn advice(&self) -> Vec<SchemaError> {
        hints::advice(&self.source)
    }

    /// The outermost places, seen from the root, that players and models may not see while its values are these.
    pub fn concealed(&self, state: &Value) -> Vec<Pointer> {
        concealed::places(self.top(), state)
    }

    /// The computed values, each after those it follows from.
    pub(super) fn followers(&self) -> &[Follower] {
        &self.followers
    }

    /// Whether the place that these keys lead to, or one above it, is computed.
    pub(super) fn is_computed(&self, keys: &[String]) -> bool {
        let mut node = Some(self.top());
        !self.followers.is_empty()
            && keys.iter().any(|key| {
                node = node.and_then(|node| node.below(key));
                node.is_some_and(Node::is_computed)
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

    /// Makes a value of its own, which lies in no world, fit the schema as the fold would: numbers are brought into place.
    ///
    /// # Errors
    /// Says what does not fit, and where.
    pub fn fit(&self, value: &mut Value) -> Result<(), String> {
        conform::Conform::new(&[], &mut Vec::new()).value(self.top(), value).map_err(|finding| {
            match finding.path.keys() {
                [] => finding.message,
                _ => format!("{}: {}", finding.path, finding.message),
            }
        })
    }

    /// The rule for the root itself.
    pub fn top(&self) -> &Node {
        &self.top
    }

    /// The rule for the place that these keys lead to, seen from the root: through declared properties, the rule for
    /// all others, or the items of a list. `None` where the schema says nothing or allows nothing.
    pub fn at(&self, keys: &[String]) -> Option<&Node> {
        keys.iter().try_fold(self.top(), |node, key| node.below(key))
    }

    /// The declared leaves in document order, with their paths seen from the root. A leaf is what declares no
    /// properties of its own: a plain value, a list, or a map of like things.
    pub fn leaves(&self) -> impl Iterator<Item = (Pointer, &Node)> {
        self.walk(|_| true)
    }

    /// The leaves that players may see whatever happens: none that is, or lies inside, something with `x-visible: false` or with
    /// a condition there.
    pub fn visible_leaves(&self) -> impl Iterator<Item = (Pointer, &Node)> {
        self.walk(Node::is_visible)
    }

    fn walk(&self, enter: impl Fn(&Node) -> bool) -> impl Iterator<Item = (Pointer, &Node)> {
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
