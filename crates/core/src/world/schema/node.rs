//! One place of a schema, read and ready to check values.

use std::sync::Arc;

use indexmap::IndexMap;
use regex::Regex;
use serde_json::{Map, Number, Value};

use super::computed::ComputedExpr;
use crate::world::{Condition, number, pointer};

/// A type that a value may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number without a fraction; `1.0` counts.
    Integer,
    /// Any number.
    Number,
    /// A text.
    String,
    /// A list.
    Array,
    /// A map.
    Object,
}

impl ValueKind {
    /// The word for it in a schema.
    pub fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// The words for it in a sentence.
    pub(in crate::world) fn description(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "true or false",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::String => "a text",
            Self::Array => "a list",
            Self::Object => "a map",
        }
    }

    /// Whether it has no places inside.
    pub(super) fn is_plain(self) -> bool {
        !matches!(self, Self::Array | Self::Object)
    }

    /// Whether a value is of this type.
    pub(super) fn admits(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Integer, Value::Number(number)) => number::is_integer(number),
            (Self::Integer, _) => false,
            (kind, value) => kind == Self::of(value),
        }
    }

    /// The type of a value; any number is a number.
    pub(in crate::world) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }
}

/// One end of a range.
#[derive(Debug, Clone)]
pub(super) struct NumberBound {
    pub number: Number,
    pub exclusive: bool,
}

/// What may stand where nothing is declared.
#[derive(Debug, Clone, Default)]
pub(super) enum AdditionalProperties {
    #[default]
    Allowed,
    Forbidden,
    Schema(Arc<SchemaNode>),
}

/// Who may see a value besides scripts.
#[derive(Debug, Clone, Default)]
pub(super) enum ValueVisibility {
    #[default]
    Always,
    Never,
    /// Where the condition holds.
    When(Arc<Condition>),
}

/// How long something may be.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LengthRange {
    pub least: Option<usize>,
    pub most: Option<usize>,
}

/// The rule for one place: what may stand there, and hints for those who show it.
#[derive(Debug, Clone, Default)]
pub struct SchemaNode {
    /// Empty = any.
    pub(super) kinds: Vec<ValueKind>,
    /// Plain values only, so that a change inside something never has to look at the whole again.
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
    /// What it follows from.
    pub(super) computed: Option<Arc<ComputedExpr>>,
    /// Whether something inside is computed.
    pub(super) has_computed: bool,
    /// Whether something inside may not be seen by everybody, or not yet.
    pub(super) has_hidden: bool,
    /// What every entry of a map of like things begins with.
    pub(super) prototype: Option<Value>,
    /// Whether it or something inside, not through lists, says what entries begin with.
    pub(super) has_prototypes: bool,
    /// Whether something read-only is declared inside, not through lists.
    pub(super) has_read_only: bool,
    /// How deep it goes.
    pub(super) height: usize,
    /// How many leaves it declares.
    pub(super) leaves: usize,
}

/// What a schema says about one place.
#[derive(Debug, Clone, Copy)]
pub(in crate::world) enum SchemaRule<'r> {
    /// Nothing: any JSON may stand there.
    Unrestricted,
    /// A rule.
    Node(&'r SchemaNode),
    /// That nothing may stand there.
    Forbidden,
}

impl<'r> SchemaRule<'r> {
    /// What it says about a key or a list position inside.
    pub fn step(self, key: &str, in_list: bool) -> Self {
        match self {
            Self::Node(node) if in_list => node.items.as_deref().map_or(Self::Unrestricted, Self::Node),
            Self::Node(node) => node.rule_for(key),
            other => other,
        }
    }

    /// The rule, if there is one.
    pub fn node(self) -> Option<&'r SchemaNode> {
        if let Self::Node(node) = self { Some(node) } else { None }
    }
}

impl SchemaNode {
    /// What is said about an entry of a map.
    pub(super) fn rule_for(&self, key: &str) -> SchemaRule<'_> {
        match (self.properties.get(key), &self.additional_properties) {
            (Some(node), _) => SchemaRule::Node(node),
            (None, AdditionalProperties::Schema(node)) => SchemaRule::Node(node),
            (None, AdditionalProperties::Allowed) => SchemaRule::Unrestricted,
            (None, AdditionalProperties::Forbidden) => SchemaRule::Forbidden,
        }
    }

    /// The rule one step down, for a declared key, a list position, or any other key.
    pub(in crate::world) fn child(&self, key: &str) -> Option<&Self> {
        match (&self.items, self.rule_for(key)) {
            (Some(items), _) if !self.properties.contains_key(key) && pointer::index(key).is_some() => Some(items),
            (_, spot) => spot.node(),
        }
    }

    /// The first key of a way that leads out of what is declared, by its place on the way, and where that is. `None` where
    /// everything is declared, or where anything may stand.
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

    /// Whether the value follows from others, so that nobody writes it.
    pub fn is_computed(&self) -> bool {
        self.computed.is_some()
    }

    /// What an entry of this map begins with; nothing for keys that are declared.
    pub(in crate::world) fn prototype_of(&self, key: &str) -> Option<&Map<String, Value>> {
        self.prototype.as_ref().filter(|_| !self.properties.contains_key(key))?.as_object()
    }

    /// The same as a value.
    pub(in crate::world) fn prototype_value(&self) -> Option<&Value> {
        self.prototype.as_ref()
    }

    /// Whether entries begin with something, here or inside.
    pub(in crate::world) fn has_prototypes(&self) -> bool {
        self.has_prototypes
    }

    /// Whether only whole numbers may stand here.
    pub(super) fn is_integral(&self) -> bool {
        self.kinds.contains(&ValueKind::Integer) && !self.kinds.contains(&ValueKind::Number)
    }

    /// Whether a list here must keep a value apart from its others.
    pub(in crate::world) fn is_unique(&self) -> bool {
        self.unique
    }

    /// The most values a list may have here.
    pub(in crate::world) fn max_items(&self) -> Option<usize> {
        self.length.most
    }

    /// The fewest values a list may have here.
    pub(in crate::world) fn min_items(&self) -> usize {
        self.length.least.unwrap_or(0)
    }

    /// Whether a map here must have the key.
    pub fn requires(&self, key: &str) -> bool {
        self.required.iter().any(|required| required == key)
    }

    /// The types a value may have; none listed = any.
    pub fn kinds(&self) -> &[ValueKind] {
        &self.kinds
    }

    /// The values to choose from, if there is a closed list of them.
    pub fn choices(&self) -> Option<&[Value]> {
        self.choices.as_deref()
    }

    /// The least number, where there is one: the empty end of a bar. For integers it may itself stand here.
    pub fn minimum(&self) -> Option<&Number> {
        self.low.as_ref().map(|bound| &bound.number)
    }

    /// The greatest number, where there is one: the full end of a bar.
    pub fn maximum(&self) -> Option<&Number> {
        self.high.as_ref().map(|bound| &bound.number)
    }

    /// The declared keys with their rules, in document order.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.properties.iter().map(|(key, node)| (key.as_str(), node.as_ref()))
    }

    /// The rule for every key that is not declared: this is a map of like things.
    pub fn additional_schema(&self) -> Option<&Self> {
        if let AdditionalProperties::Schema(node) = &self.additional_properties { Some(node) } else { None }
    }

    /// Whether nothing but the declared keys may stand in a map here.
    pub fn is_closed(&self) -> bool {
        matches!(self.additional_properties, AdditionalProperties::Forbidden)
    }

    /// The rule for the values of a list.
    pub fn items(&self) -> Option<&Self> {
        self.items.as_deref()
    }

    /// Whether a value stays as it is once it exists.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// A short name for people.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// A sentence for people and models.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// `x-ui`: how to show it, a word or a map.
    pub fn ui(&self) -> Option<&Value> {
        self.ui.as_ref()
    }

    /// `x-visible`: whether players may see it whatever happens; true unless said otherwise.
    pub fn is_visible(&self) -> bool {
        matches!(self.visibility, ValueVisibility::Always)
    }

    /// `x-search`: whether messages are found by its value; false unless said otherwise.
    pub fn is_searchable(&self) -> bool {
        self.searched
    }
}
