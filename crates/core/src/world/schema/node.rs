//! A parsed schema node: the rule for one place, ready to check values.

use std::sync::Arc;

use indexmap::IndexMap;
use regex::Regex;
use serde_json::{Map, Number, Value};

use super::computed::ComputedExpr;
use crate::world::{Condition, ValueKind, pointer};

/// One bound of a number range.
#[derive(Debug, Clone)]
pub(super) struct NumberBound {
    pub number: Number,
    pub exclusive: bool,
}

/// The rule for undeclared keys of a map.
#[derive(Debug, Clone, Default)]
pub(super) enum AdditionalProperties {
    #[default]
    Allowed,
    Forbidden,
    Schema(Arc<SchemaNode>),
}

/// The visibility of a value for players and models; scripts see everything.
#[derive(Debug, Clone, Default)]
pub(super) enum ValueVisibility {
    #[default]
    Always,
    Never,
    /// Only while the condition holds.
    When(Arc<Condition>),
}

/// The allowed length of a text or list.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LengthRange {
    pub least: Option<usize>,
    pub most: Option<usize>,
}

/// The rule for one place: which values are allowed, and hints for display.
#[derive(Debug, Clone, Default)]
pub struct SchemaNode {
    /// Empty: any type.
    pub(super) kinds: Vec<ValueKind>,
    /// Plain values only, so that a change inside a container never requires checking the whole container.
    pub(super) choices: Option<Vec<Value>>,
    pub(super) low: Option<NumberBound>,
    pub(super) high: Option<NumberBound>,
    /// In characters.
    pub(super) text: LengthRange,
    pub(super) pattern: Option<Regex>,
    pub(super) properties: IndexMap<String, Arc<SchemaNode>>,
    pub(super) additional_properties: AdditionalProperties,
    pub(super) required: Vec<String>,
    pub(super) items: Option<Arc<SchemaNode>>,
    pub(super) length: LengthRange,
    pub(super) unique: bool,
    pub(super) read_only: bool,
    pub(super) default: Option<Value>,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) ui: Option<Value>,
    pub(super) visibility: ValueVisibility,
    pub(super) searched: bool,
    /// The expression of `x-computed`.
    pub(super) computed: Option<Arc<ComputedExpr>>,
    /// Whether a nested value is computed.
    pub(super) has_computed: bool,
    /// Whether a nested value is always or conditionally hidden.
    pub(super) has_hidden: bool,
    /// `x-prototype`: the initial value of every undeclared entry of a map.
    pub(super) prototype: Option<Value>,
    /// Whether this node or a nested one, except in lists, has a prototype.
    pub(super) has_prototypes: bool,
    /// Whether a nested node, except in lists, is read-only.
    pub(super) has_read_only: bool,
    /// Levels below this node.
    pub(super) height: usize,
    /// The number of declared leaves.
    pub(super) leaves: usize,
}

/// The schema's statement about one place.
#[derive(Debug, Clone, Copy)]
pub(in crate::world) enum SchemaRule<'r> {
    /// No rule: any JSON is allowed.
    Unrestricted,
    Node(&'r SchemaNode),
    /// Nothing is allowed.
    Forbidden,
}

impl<'r> SchemaRule<'r> {
    /// Returns the rule for a key or list position inside.
    pub fn step(self, key: &str, in_list: bool) -> Self {
        match self {
            Self::Node(node) if in_list => node.items.as_deref().map_or(Self::Unrestricted, Self::Node),
            Self::Node(node) => node.rule_for(key),
            other => other,
        }
    }

    /// Returns the node, if there is one.
    pub fn node(self) -> Option<&'r SchemaNode> {
        if let Self::Node(node) = self { Some(node) } else { None }
    }
}

impl SchemaNode {
    /// Returns the rule for an entry of a map.
    pub(super) fn rule_for(&self, key: &str) -> SchemaRule<'_> {
        match (self.properties.get(key), &self.additional_properties) {
            (Some(node), _) => SchemaRule::Node(node),
            (None, AdditionalProperties::Schema(node)) => SchemaRule::Node(node),
            (None, AdditionalProperties::Allowed) => SchemaRule::Unrestricted,
            (None, AdditionalProperties::Forbidden) => SchemaRule::Forbidden,
        }
    }

    /// Returns the node one step down: a declared key, a list position, or any other key.
    pub(in crate::world) fn child(&self, key: &str) -> Option<&Self> {
        match (&self.items, self.rule_for(key)) {
            (Some(items), _) if !self.properties.contains_key(key) && pointer::index(key).is_some() => Some(items),
            (_, spot) => spot.node(),
        }
    }

    /// Finds the first key of a path that is not declared. Returns its index in the path and the node that lacks it.
    /// `None` if all keys are declared, or if any key is allowed there.
    pub fn first_undeclared(&self, keys: &[String]) -> Option<(usize, &Self)> {
        let mut node = self;
        for (depth, key) in keys.iter().enumerate() {
            match node.child(key) {
                Some(next) => node = next,
                None if node.properties.is_empty() && !node.is_closed() => return None,
                None => return Some((depth, node)),
            }
        }
        None
    }

    /// Returns whether the value is computed from others and never written directly.
    pub fn is_computed(&self) -> bool {
        self.computed.is_some()
    }

    /// Returns the initial value of a map entry; `None` for declared keys.
    pub(in crate::world) fn prototype_of(&self, key: &str) -> Option<&Map<String, Value>> {
        self.prototype.as_ref().filter(|_| !self.properties.contains_key(key))?.as_object()
    }

    /// Returns the initial value of the map's entries as a JSON value.
    pub(in crate::world) fn prototype_value(&self) -> Option<&Value> {
        self.prototype.as_ref()
    }

    /// Returns whether this node or a nested one has a prototype.
    pub(in crate::world) fn has_prototypes(&self) -> bool {
        self.has_prototypes
    }

    /// Returns whether only whole numbers are allowed.
    pub(super) fn is_integral(&self) -> bool {
        self.kinds.contains(&ValueKind::Integer) && !self.kinds.contains(&ValueKind::Number)
    }

    /// Returns whether the values of a list must be unique.
    pub(in crate::world) fn is_unique(&self) -> bool {
        self.unique
    }

    /// Returns the maximum number of list values.
    pub(in crate::world) fn max_items(&self) -> Option<usize> {
        self.length.most
    }

    /// Returns the minimum number of list values.
    pub(in crate::world) fn min_items(&self) -> usize {
        self.length.least.unwrap_or(0)
    }

    /// Returns whether a map must have the key.
    pub fn requires(&self, key: &str) -> bool {
        self.required.iter().any(|required| required == key)
    }

    /// Returns the allowed types; empty: any.
    pub fn kinds(&self) -> &[ValueKind] {
        &self.kinds
    }

    /// Returns the allowed values, if they are a closed list.
    pub fn choices(&self) -> Option<&[Value]> {
        self.choices.as_deref()
    }

    /// Returns the lower bound, which is the empty end of a bar. For integers the bound itself is allowed.
    pub fn minimum(&self) -> Option<&Number> {
        self.low.as_ref().map(|bound| &bound.number)
    }

    /// Returns the upper bound, which is the full end of a bar.
    pub fn maximum(&self) -> Option<&Number> {
        self.high.as_ref().map(|bound| &bound.number)
    }

    /// Returns the declared keys with their rules, in document order.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.properties.iter().map(|(key, node)| (key.as_str(), node.as_ref()))
    }

    /// Returns the rule for undeclared keys of a map.
    pub fn additional_schema(&self) -> Option<&Self> {
        if let AdditionalProperties::Schema(node) = &self.additional_properties { Some(node) } else { None }
    }

    /// Returns whether a map allows only declared keys.
    pub fn is_closed(&self) -> bool {
        matches!(self.additional_properties, AdditionalProperties::Forbidden)
    }

    /// Returns the rule for the values of a list.
    pub fn items(&self) -> Option<&Self> {
        self.items.as_deref()
    }

    /// Returns whether an existing value can no longer be changed.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Returns a short name for people.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Returns a sentence for people and models.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Returns `x-ui`, the display hint: a word or a map.
    pub fn ui(&self) -> Option<&Value> {
        self.ui.as_ref()
    }

    /// Returns whether players can always see the value (`x-visible`; default true).
    pub fn is_visible(&self) -> bool {
        matches!(self.visibility, ValueVisibility::Always)
    }

    /// Returns whether messages are found by this value (`x-search`; default false).
    pub fn is_searchable(&self) -> bool {
        self.searched
    }
}
