//! Parses schemas. Unknown keywords are refused with their place.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Number, Value};

use super::ValueKind;
use super::computed::ComputedExpr;
use super::conform::ValueConformer;
use super::node::{AdditionalProperties, NumberBound, SchemaNode, ValueVisibility};
use super::{SchemaError, keywords};
use crate::world::{Condition, Pointer, canonical, number};

/// The maximum depth of a schema, and so of the world below its root.
const MAX_DEPTH: usize = 32;
/// The maximum length of the canonical text, in bytes.
const MAX_BYTES: usize = 256 * 1024;
/// The maximum number of declared leaves after following every `$ref`, so that references cannot multiply without
/// limit.
const MAX_LEAVES: usize = 16_384;
/// The maximum number of patterns; each takes memory.
const MAX_PATTERNS: usize = 64;
/// The maximum memory of one compiled pattern, in bytes.
const PATTERN_BYTES: usize = 1 << 20;
/// The maximum depth of the schema's JSON: two levels for each level of the world, and some for definitions.
const MAX_JSON_DEPTH: usize = 2 * MAX_DEPTH + 8;

/// The maximum number of schemas open at once while parsing, nested or referenced.
const MAX_OPEN: usize = 2 * MAX_DEPTH;

/// The keywords allowed beside `$ref`: those that do not restrict the value.
const BESIDE_REF: [&str; 10] =
    ["title", "description", "default", "readOnly", "x-ui", "x-visible", "x-search", "$comment", "$defs", "$schema"];

/// Returns the canonical text of a schema; refuses one that is too large or too deep.
pub(super) fn bounded_text(source: &Value) -> Result<String, SchemaError> {
    let top = SchemaPath(None, "");
    if !is_at_most(source, MAX_JSON_DEPTH) {
        return top.fail(format!("the schema is too deep: the limit is {MAX_DEPTH} levels"));
    }
    let text = canonical::text(source);
    if text.len() > MAX_BYTES {
        return top.fail(format!("the schema has {} bytes, at most {MAX_BYTES} are allowed", text.len()));
    }
    Ok(text)
}

/// Parses a whole schema.
pub(super) fn parse_schema(source: &Value) -> Result<Arc<SchemaNode>, SchemaError> {
    let top = SchemaPath(None, "");
    let definitions = match source.get("$defs") {
        None => None,
        Some(Value::Object(definitions)) => Some(definitions),
        Some(_) => return top.at("$defs").fail("expected a map of names to schemas"),
    };
    let mut reader = SchemaParser { definitions, ready: HashMap::new(), open: Vec::new(), depth: 0, patterns: 0 };
    for name in definitions.into_iter().flat_map(Map::keys) {
        reader.definition(name, &top)?;
    }
    let node = reader.node(source, &top)?;
    if node.leaves > MAX_LEAVES {
        return top.fail(format!("the schema declares {} leaves, at most {MAX_LEAVES} are allowed", node.leaves));
    }
    Ok(node)
}

fn is_at_most(value: &Value, depth: usize) -> bool {
    let Some(left) = depth.checked_sub(1) else { return !(value.is_array() || value.is_object()) };
    match value {
        Value::Array(list) => list.iter().all(|value| is_at_most(value, left)),
        Value::Object(map) => map.values().all(|value| is_at_most(value, left)),
        _ => true,
    }
}

/// A place in the schema, as a linked list back to the top.
#[derive(Clone, Copy)]
struct SchemaPath<'t>(Option<&'t SchemaPath<'t>>, &'t str);

impl<'t> SchemaPath<'t> {
    fn at(&'t self, key: &'t str) -> Self {
        Self(Some(self), key)
    }

    fn is_top(&self) -> bool {
        self.0.is_none()
    }

    fn pointer(&self) -> Pointer {
        self.0.map_or_else(Pointer::default, |before| before.pointer().child(self.1))
    }

    fn error(&self, message: impl Into<String>) -> SchemaError {
        SchemaError { path: self.pointer(), message: message.into() }
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T, SchemaError> {
        Err(self.error(message))
    }
}

struct SchemaParser<'s> {
    definitions: Option<&'s Map<String, Value>>,
    ready: HashMap<&'s str, Arc<SchemaNode>>,
    open: Vec<&'s str>,
    depth: usize,
    patterns: usize,
}

impl<'s> SchemaParser<'s> {
    fn node(&mut self, source: &'s Value, trail: &SchemaPath<'_>) -> Result<Arc<SchemaNode>, SchemaError> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_OPEN {
            return trail.fail(format!("the schema is too deep: the limit is {MAX_DEPTH} levels"));
        }
        let node = self.parse_node(source, trail)?;
        self.depth = self.depth.saturating_sub(1);
        Ok(node)
    }

    fn parse_node(&mut self, source: &'s Value, trail: &SchemaPath<'_>) -> Result<Arc<SchemaNode>, SchemaError> {
        let Value::Object(map) = source else { return trail.fail("a schema must be an object") };
        let mut node = if map.contains_key("$ref") { self.parse_reference(map, trail)? } else { SchemaNode::default() };
        for (word, value) in map {
            self.keyword(&mut node, word, value, &trail.at(word))?;
        }
        finish(&mut node, trail)?;
        if let Some(begins) = map.get("x-prototype") {
            node.prototype = Some(Value::Object(prototype(&node, begins, &trail.at("x-prototype"))?));
            node.has_prototypes = true;
        }
        if let Some(default) = &node.default {
            check_default(&node, default, &trail.at("default"))?;
        }
        Ok(Arc::new(node))
    }

    fn keyword(
        &mut self,
        node: &mut SchemaNode,
        word: &str,
        value: &'s Value,
        at: &SchemaPath<'_>,
    ) -> Result<(), SchemaError> {
        match word {
            "type" => node.kinds = parse_types(value, at)?,
            "enum" | "const" if node.choices.is_some() => return at.fail("use either \"enum\" or \"const\", not both"),
            "enum" => node.choices = Some(choices(value, at)?),
            "const" => node.choices = Some(vec![plain_value(value, at)?]),
            "minimum" => keep_stricter_bound(&mut node.low, bound(value, false, at)?, std::cmp::Ordering::Greater),
            "exclusiveMinimum" => {
                keep_stricter_bound(&mut node.low, bound(value, true, at)?, std::cmp::Ordering::Greater)
            }
            "maximum" => keep_stricter_bound(&mut node.high, bound(value, false, at)?, std::cmp::Ordering::Less),
            "exclusiveMaximum" => {
                keep_stricter_bound(&mut node.high, bound(value, true, at)?, std::cmp::Ordering::Less)
            }
            "minLength" => node.text.least = Some(count(value, at)?),
            "maxLength" => node.text.most = Some(count(value, at)?),
            "minItems" => node.length.least = Some(count(value, at)?),
            "maxItems" => node.length.most = Some(count(value, at)?),
            "pattern" => node.pattern = Some(self.pattern(value, at)?),
            "properties" => self.properties(node, value, at)?,
            "additionalProperties" => node.additional_properties = self.parse_additional_properties(value, at)?,
            "required" => node.required = names(value, at)?,
            "items" => node.items = Some(self.node(value, at)?),
            "uniqueItems" => node.unique = flag(value, at)?,
            "x-computed" => {
                let computed = ComputedExpr::read(value).map_err(|why| at.error(why))?;
                node.computed = Some(Arc::new(computed));
            }
            // Handled once the other keywords are known.
            "$ref" | "x-prototype" => {}
            "$defs" if at.0.is_some_and(SchemaPath::is_top) => {}
            "$defs" => return at.fail("\"$defs\" is only allowed at the top of the schema"),
            "$schema" | "$comment" => _ = text(value, at)?,
            _ => return hint(node, word, value, at),
        }
        Ok(())
    }

    fn pattern(&mut self, value: &Value, at: &SchemaPath<'_>) -> Result<regex::Regex, SchemaError> {
        self.patterns = self.patterns.saturating_add(1);
        if self.patterns > MAX_PATTERNS {
            return at.fail(format!("a schema has at most {MAX_PATTERNS} patterns"));
        }
        let pattern = text(value, at)?;
        let built = regex::RegexBuilder::new(&pattern).size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES).build();
        built.map_err(|error| at.error(format!("the pattern cannot be used: {error}")))
    }

    fn properties(&mut self, node: &mut SchemaNode, value: &'s Value, at: &SchemaPath<'_>) -> Result<(), SchemaError> {
        let Value::Object(map) = value else { return at.fail("expected a map of keys to schemas") };
        for (key, source) in map {
            node.properties.insert(key.clone(), self.node(source, &at.at(key))?);
        }
        Ok(())
    }

    fn parse_additional_properties(
        &mut self,
        value: &'s Value,
        at: &SchemaPath<'_>,
    ) -> Result<AdditionalProperties, SchemaError> {
        match value {
            Value::Bool(true) => Ok(AdditionalProperties::Allowed),
            Value::Bool(false) => Ok(AdditionalProperties::Forbidden),
            Value::Object(_) => Ok(AdditionalProperties::Schema(self.node(value, at)?)),
            _ => at.fail("expected true, false or a schema"),
        }
    }

    fn parse_reference(
        &mut self,
        map: &'s Map<String, Value>,
        trail: &SchemaPath<'_>,
    ) -> Result<SchemaNode, SchemaError> {
        if let Some(word) = map.keys().find(|word| *word != "$ref" && !BESIDE_REF.contains(&word.as_str())) {
            let allowed = BESIDE_REF.join(", ");
            return trail.at(word).fail(format!("only these keywords are allowed beside \"$ref\": {allowed}"));
        }
        let at = trail.at("$ref");
        let target = map.get("$ref").and_then(Value::as_str);
        let name = target.and_then(|target| target.strip_prefix("#/$defs/")).filter(|name| !name.contains('/'));
        let Some(name) = name else { return at.fail("a reference has the form \"#/$defs/name\"") };
        let name = name.replace("~1", "/").replace("~0", "~");
        Ok(self.definition(&name, &at)?.as_ref().clone())
    }

    fn definition(&mut self, name: &str, asked_at: &SchemaPath<'_>) -> Result<Arc<SchemaNode>, SchemaError> {
        let Some((name, source)) = self.definitions.and_then(|all| all.get_key_value(name)) else {
            return asked_at.fail(format!("\"$defs\" has no \"{name}\""));
        };
        if let Some(node) = self.ready.get(name.as_str()) {
            return Ok(Arc::clone(node));
        }
        if self.open.contains(&name.as_str()) {
            return asked_at.fail(format!("\"{name}\" refers to itself; references cannot have cycles"));
        }
        self.open.push(name);
        let top = SchemaPath(None, "");
        let node = self.node(source, &top.at("$defs").at(name))?;
        self.open.pop();
        self.ready.insert(name, Arc::clone(&node));
        Ok(node)
    }
}

/// Parses hints and descriptive keywords.
fn hint(node: &mut SchemaNode, word: &str, value: &Value, at: &SchemaPath<'_>) -> Result<(), SchemaError> {
    match word {
        "default" => node.default = Some(value.clone()),
        "readOnly" => node.read_only = flag(value, at)?,
        "title" => node.title = Some(text(value, at)?),
        "description" => node.description = Some(text(value, at)?),
        "x-visible" => node.visibility = parse_visibility(value, at)?,
        "x-search" => node.searched = flag(value, at)?,
        "x-ui" if value.is_string() || value.is_object() => node.ui = Some(value.clone()),
        "x-ui" => return at.fail("expected a string or a map"),
        _ => return at.fail(keywords::unknown_keyword_message(word)),
    }
    Ok(())
}

/// Checks that the combined keywords can be met, and computes the summary fields of the node.
fn finish(node: &mut SchemaNode, trail: &SchemaPath<'_>) -> Result<(), SchemaError> {
    if node.is_integral() {
        // Integer bounds are rounded to integers, so that clamping to them always works.
        node.low = node.low.take().map(|bound| round_bound_inward(bound, number::ceil, "1"));
        node.high = node.high.take().map(|bound| round_bound_inward(bound, number::floor, "-1"));
    }
    // Refuse empty ranges.
    if let (Some(low), Some(high)) = (&node.low, &node.high) {
        let order = number::compare(&low.number, &high.number);
        if order.is_gt() || (order.is_eq() && (low.exclusive || high.exclusive)) {
            return trail.fail("no number is in this range");
        }
    }
    for (span, of) in [(node.text, "Length"), (node.length, "Items")] {
        if matches!((span.least, span.most), (Some(least), Some(most)) if least > most) {
            return trail.fail(format!("\"min{of}\" is above \"max{of}\""));
        }
    }
    if node.unique && !node.items.as_ref().is_some_and(|items| is_plain(items)) {
        return trail.fail("\"uniqueItems\" needs \"items\" whose \"type\" is neither array nor object");
    }
    // Summarize what is nested below.
    let inner: Vec<&Arc<SchemaNode>> =
        node.properties.values().chain(additional_schema(&node.additional_properties)).collect();
    node.has_read_only = inner.iter().any(|child| child.read_only || child.has_read_only);
    let seen = |child: &Arc<SchemaNode>| matches!(child.visibility, ValueVisibility::Always) && !child.has_hidden;
    node.has_hidden = !inner.iter().copied().chain(&node.items).all(seen);
    node.has_prototypes = inner.iter().any(|child| child.has_prototypes);
    node.has_computed =
        inner.iter().copied().chain(&node.items).any(|child| child.computed.is_some() || child.has_computed);
    node.leaves = node.properties.values().fold(0, |sum, child| child.leaves.saturating_add(sum)).max(1);
    node.height = inner.into_iter().chain(&node.items).map(|child| child.height.saturating_add(1)).max().unwrap_or(0);
    if node.height > MAX_DEPTH {
        return trail.fail(format!("the schema is too deep: the limit is {MAX_DEPTH} levels"));
    }
    Ok(())
}

/// Returns the initial value of a map's entries: as written, or all defaults declared for an entry.
fn prototype(node: &SchemaNode, begins: &Value, at: &SchemaPath<'_>) -> Result<Map<String, Value>, SchemaError> {
    let Some(like) = additional_schema(&node.additional_properties).filter(|like| like.kinds == [ValueKind::Object])
    else {
        return at
            .fail("expected a map of entries with one schema: \"additionalProperties\" with \"type\": \"object\"");
    };
    let begins = match begins {
        Value::Bool(true) => defaults(like),
        Value::Object(map) => map.clone(),
        _ => return at.fail("expected true (every \"default\" of an entry) or a map of values"),
    };
    for (key, value) in &begins {
        let at = at.at(key);
        let mut notes = Vec::new();
        let refused = ValueConformer::new(std::slice::from_ref(key), &mut notes)
            .conform_rule(like.rule_for(key), &mut value.clone())
            .err();
        if let Some(finding) = refused.into_iter().chain(notes).next() {
            return at.fail(format!("it breaks the schema of an entry: {finding}"));
        }
        if like.properties.get(key).is_some_and(|child| child.is_computed()) {
            return at.fail("it is computed");
        }
    }
    Ok(begins)
}

/// Returns the defaults of the declared keys, including nested ones.
pub(super) fn defaults(node: &SchemaNode) -> Map<String, Value> {
    let one = |(key, child): (&String, &Arc<SchemaNode>)| {
        let inner = || Some(Value::Object(defaults(child))).filter(|inner| inner != &Value::Object(Map::new()));
        let value = child.default.clone().or_else(inner).filter(|_| !child.is_computed())?;
        Some((key.clone(), value))
    };
    node.properties.iter().filter_map(one).collect()
}

/// Parses `x-visible`: true, false, or a condition.
fn parse_visibility(value: &Value, at: &SchemaPath<'_>) -> Result<ValueVisibility, SchemaError> {
    match value {
        Value::Bool(true) => Ok(ValueVisibility::Always),
        Value::Bool(false) => Ok(ValueVisibility::Never),
        Value::String(text) => match Condition::parse(text) {
            Ok(condition) => Ok(ValueVisibility::When(Arc::new(condition))),
            Err(why) => at.fail(why.to_string().replace('`', "\"")),
        },
        _ => at.fail("expected true, false, or a condition like \"affinity >= 20\""),
    }
}

fn additional_schema(others: &AdditionalProperties) -> Option<&Arc<SchemaNode>> {
    if let AdditionalProperties::Schema(node) = others { Some(node) } else { None }
}

fn is_plain(node: &SchemaNode) -> bool {
    !node.kinds.is_empty() && node.kinds.iter().all(|kind| kind.is_plain())
}

fn round_bound_inward(bound: NumberBound, inwards: fn(&Number) -> Number, next: &str) -> NumberBound {
    let number = inwards(&bound.number);
    let moved = bound.exclusive && number::is_integer(&bound.number);
    let stepped = if moved { next.parse().ok().and_then(|next| number::add(&number, &next).ok()) } else { None };
    // Keep the bound as given if the next integer cannot be represented.
    NumberBound { exclusive: moved && stepped.is_none(), number: stepped.unwrap_or(number) }
}

/// Checks a default against its own schema, so that the author sees the mistake at once.
fn check_default(node: &SchemaNode, default: &Value, at: &SchemaPath<'_>) -> Result<(), SchemaError> {
    let mut notes = Vec::new();
    let refused =
        ValueConformer::new(&["default".to_owned()], &mut notes).conform_value(node, &mut default.clone()).err();
    match refused.into_iter().chain(notes).next() {
        Some(finding) => at.fail(format!("the default breaks its own schema: {finding}")),
        None => Ok(()),
    }
}

fn parse_types(value: &Value, at: &SchemaPath<'_>) -> Result<Vec<ValueKind>, SchemaError> {
    let words = if let Value::Array(list) = value { list.as_slice() } else { std::slice::from_ref(value) };
    let kinds: Option<Vec<ValueKind>> = words.iter().map(|word| word.as_str().and_then(parse_type)).collect();
    match kinds {
        Some(kinds) if !kinds.is_empty() => Ok(kinds),
        _ => at.fail("expected null, boolean, integer, number, string, array or object, or a list of them"),
    }
}

fn parse_type(word: &str) -> Option<ValueKind> {
    let all = [
        ValueKind::Null,
        ValueKind::Boolean,
        ValueKind::Integer,
        ValueKind::Number,
        ValueKind::String,
        ValueKind::Array,
        ValueKind::Object,
    ];
    all.into_iter().find(|kind| kind.as_str() == word)
}

fn choices(value: &Value, at: &SchemaPath<'_>) -> Result<Vec<Value>, SchemaError> {
    match value {
        Value::Array(list) if !list.is_empty() => list.iter().map(|value| plain_value(value, at)).collect(),
        _ => at.fail("expected a list of at least one value"),
    }
}

fn plain_value(value: &Value, at: &SchemaPath<'_>) -> Result<Value, SchemaError> {
    if ValueKind::from_json(value).is_plain() {
        Ok(value.clone())
    } else {
        at.fail("expected only strings, numbers, true, false and null")
    }
}

fn bound(value: &Value, exclusive: bool, at: &SchemaPath<'_>) -> Result<NumberBound, SchemaError> {
    match value {
        Value::Number(number) if number::is_within_reach(number) => {
            Ok(NumberBound { number: number.clone(), exclusive })
        }
        _ => at.fail("expected a number"),
    }
}

/// Keeps the stricter of two bounds; `inner` is the ordering of a stricter bound relative to the other.
fn keep_stricter_bound(end: &mut Option<NumberBound>, new: NumberBound, inner: std::cmp::Ordering) {
    let stricter = end.as_ref().is_none_or(|old| {
        let order = number::compare(&new.number, &old.number);
        order == inner || (order.is_eq() && new.exclusive)
    });
    if stricter {
        *end = Some(new);
    }
}

fn count(value: &Value, at: &SchemaPath<'_>) -> Result<usize, SchemaError> {
    let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| at.error("expected a whole number from 0"))
}

fn names(value: &Value, at: &SchemaPath<'_>) -> Result<Vec<String>, SchemaError> {
    let names = value.as_array().and_then(|list| list.iter().map(|name| name.as_str().map(str::to_owned)).collect());
    names.ok_or_else(|| at.error("expected a list of keys"))
}

fn flag(value: &Value, at: &SchemaPath<'_>) -> Result<bool, SchemaError> {
    value.as_bool().ok_or_else(|| at.error("expected true or false"))
}

fn text(value: &Value, at: &SchemaPath<'_>) -> Result<String, SchemaError> {
    value.as_str().map(str::to_owned).ok_or_else(|| at.error("expected a string"))
}
