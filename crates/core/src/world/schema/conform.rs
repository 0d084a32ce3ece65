//! Makes a value fit a schema: numbers are clamped or rounded, anything else that does not fit is refused.

use std::collections::HashSet;
use std::fmt;

use serde_json::{Map, Number, Value};

use super::node::{LengthRange, NumberBound, SchemaNode, SchemaRule, ValueKind};
use crate::world::{Pointer, ProblemKind, number, pointer};

/// One note or refusal about a value.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::world) struct ValueProblem {
    pub kind: ProblemKind,
    pub path: Pointer,
    pub message: String,
}

/// The name of a path in messages: its last key, or a list's name with the position.
pub(in crate::world) struct PathName<'k>(pub &'k [String]);

impl fmt::Display for PathName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("the world"),
            [.., list, position] if pointer::index(position).is_some() => write!(f, "{list}/{position}"),
            [.., key] => f.write_str(key),
        }
    }
}

/// Conforms one value to a schema.
pub(in crate::world) struct ValueConformer<'n> {
    trail: Vec<String>,
    notes: &'n mut Vec<ValueProblem>,
}

impl<'n> ValueConformer<'n> {
    /// Creates a conformer for a value at these keys; notes are appended to `notes`.
    pub fn new(keys: &[String], notes: &'n mut Vec<ValueProblem>) -> Self {
        Self { trail: keys.to_vec(), notes }
    }

    /// Conforms a value to the rule of its place.
    pub fn conform_rule(&mut self, spot: SchemaRule<'_>, value: &mut Value) -> Result<(), ValueProblem> {
        match spot {
            SchemaRule::Unrestricted => Ok(()),
            SchemaRule::Node(node) => self.value(node, value),
            SchemaRule::Forbidden => Err(self.refusal("no such key may stand here")),
        }
    }

    /// Conforms a value to a node. Computed values are skipped, because they are overwritten anyway.
    pub fn value(&mut self, node: &SchemaNode, value: &mut Value) -> Result<(), ValueProblem> {
        if node.is_computed() { Ok(()) } else { self.conform_node(node, value) }
    }

    /// Conforms a value to a node, even if it is computed.
    pub fn conform_node(&mut self, node: &SchemaNode, value: &mut Value) -> Result<(), ValueProblem> {
        if let Value::Number(number) = value {
            self.number(node, number)?;
        }
        self.kind(node, value)?;
        self.choice(node, value)?;
        match value {
            Value::String(text) => self.text(node, text),
            Value::Array(list) => self.list(node, list),
            Value::Object(map) => self.map(node, map),
            _ => Ok(()),
        }
    }

    fn number(&mut self, node: &SchemaNode, value: &mut Number) -> Result<(), ValueProblem> {
        if !node.kinds.is_empty()
            && !node.kinds.iter().any(|kind| matches!(kind, ValueKind::Integer | ValueKind::Number))
        {
            return Ok(());
        }
        if node.is_integral() && !number::is_integer(value) {
            let whole = number::round(value);
            self.note(ProblemKind::Rounded, format!("{value} is not whole, rounded to {whole}"));
            *value = whole;
        }
        for (bound, side) in [(&node.low, "below"), (&node.high, "above")] {
            let Some(bound) = bound.as_ref().filter(|bound| bound.is_broken_by(value, side)) else { continue };
            if bound.exclusive {
                let opposite = if side == "below" { "above" } else { "below" };
                return Err(self.refusal(&format!("{value} is not {opposite} {}", bound.number)));
            }
            self.note(ProblemKind::Clamped, format!("{value} is {side} {0}, kept at {0}", bound.number));
            *value = bound.number.clone();
        }
        Ok(())
    }

    fn kind(&self, node: &SchemaNode, value: &Value) -> Result<(), ValueProblem> {
        if node.kinds.is_empty() || node.kinds.iter().any(|kind| kind.admits(value)) {
            return Ok(());
        }
        let expected: Vec<&str> = node.kinds.iter().map(|kind| kind.description()).collect();
        Err(self.refusal(&format!("{} is not {}", quote_value(value), expected.join(" or "))))
    }

    fn choice(&self, node: &SchemaNode, value: &Value) -> Result<(), ValueProblem> {
        let Some(choices) =
            node.choices.as_ref().filter(|choices| !choices.iter().any(|choice| number::same(choice, value)))
        else {
            return Ok(());
        };
        let listed: Vec<String> = choices.iter().take(12).map(quote_value).collect();
        let more = if choices.len() > listed.len() { ", …" } else { "" };
        Err(self.refusal(&format!("{} is none of {}{more}", quote_value(value), listed.join(", "))))
    }

    fn text(&self, node: &SchemaNode, text: &str) -> Result<(), ValueProblem> {
        self.check_length(node.text, || text.chars().count(), "character")?;
        match &node.pattern {
            Some(pattern) if !pattern.is_match(text) => {
                Err(self.refusal(&format!("{} does not match {}", quote_text(text), pattern.as_str())))
            }
            _ => Ok(()),
        }
    }

    fn check_length(&self, span: LengthRange, count: impl FnOnce() -> usize, of: &str) -> Result<(), ValueProblem> {
        if span.least.is_none() && span.most.is_none() {
            return Ok(());
        }
        let count = count();
        match (span.least.filter(|least| count < *least), span.most.filter(|most| count > *most)) {
            (Some(least), _) => Err(self.refusal(&format!("has {count}, needs at least {}", count_phrase(least, of)))),
            (_, Some(most)) => Err(self.refusal(&format!("has {count}, may have at most {}", count_phrase(most, of)))),
            (None, None) => Ok(()),
        }
    }

    fn list(&mut self, node: &SchemaNode, list: &mut [Value]) -> Result<(), ValueProblem> {
        self.check_length(node.length, || list.len(), "value")?;
        if let Some(items) = &node.items {
            for (position, value) in list.iter_mut().enumerate() {
                self.inside(position.to_string(), |inner| inner.value(items, value))?;
            }
        }
        let twice = if node.unique { first_duplicate(list) } else { None };
        twice.map_or(Ok(()), |value| Err(self.refusal(&format!("{} stands in it twice", quote_value(value)))))
    }

    fn map(&mut self, node: &SchemaNode, map: &mut Map<String, Value>) -> Result<(), ValueProblem> {
        let is_computed = |key: &str| node.properties.get(key).is_some_and(|child| child.is_computed());
        if let Some(missing) = node.required.iter().find(|key| !map.contains_key(*key) && !is_computed(key)) {
            return Err(self.refusal(&format!("\"{missing}\" is missing")));
        }
        for (key, value) in map {
            match node.rule_for(key) {
                SchemaRule::Unrestricted => {}
                spot => self.inside(key.clone(), |inner| inner.conform_rule(spot, value))?,
            }
        }
        Ok(())
    }

    fn inside(
        &mut self,
        key: String,
        then: impl FnOnce(&mut Self) -> Result<(), ValueProblem>,
    ) -> Result<(), ValueProblem> {
        self.trail.push(key);
        then(self)?;
        self.trail.pop();
        Ok(())
    }

    fn note(&mut self, kind: ProblemKind, what: String) {
        self.notes.push(self.finding(kind, &what));
    }

    fn refusal(&self, what: &str) -> ValueProblem {
        self.finding(ProblemKind::Refused, what)
    }

    fn finding(&self, kind: ProblemKind, what: &str) -> ValueProblem {
        let message = format!("{}: {what}", PathName(&self.trail));
        ValueProblem { kind, path: Pointer::from_keys(self.trail.iter().cloned()), message }
    }
}

impl NumberBound {
    fn is_broken_by(&self, value: &Number, side: &str) -> bool {
        let order = number::compare(value, &self.number);
        let order = if side == "below" { order } else { order.reverse() };
        order.is_lt() || (self.exclusive && order.is_eq())
    }
}

/// Returns whether replacing `old` by `new` keeps every read-only value. A map may be removed together with its
/// read-only parts, but a map that stays must keep them.
pub(in crate::world) fn preserves_read_only(node: &SchemaNode, old: &Value, new: &Value) -> bool {
    if node.read_only {
        return number::same(old, new);
    }
    let (true, Value::Object(old), Value::Object(new)) = (node.has_read_only, old, new) else { return true };
    let declared_stay = node.properties.iter().filter(|(_, child)| child.read_only).all(|(key, _)| {
        let dropped = old.contains_key(key) && !new.contains_key(key);
        !dropped
    });
    declared_stay
        && new.iter().all(|(key, value)| match (node.rule_for(key), old.get(key)) {
            (SchemaRule::Node(child), Some(old)) => preserves_read_only(child, old, value),
            _ => true,
        })
}

/// Returns the first value that occurs twice in a list.
fn first_duplicate(list: &[Value]) -> Option<&Value> {
    let mut seen = HashSet::new();
    list.iter().find(|value| {
        let spelled =
            if let Value::Number(number) = value { number::canonical_number(number) } else { value.to_string() };
        !seen.insert(spelled)
    })
}

/// Formats a count: "1 value", "2 values".
pub(in crate::world) fn count_phrase(count: usize, of: &str) -> String {
    if count == 1 { format!("1 {of}") } else { format!("{count} {of}s") }
}

/// Formats a value for a message.
fn quote_value(value: &Value) -> String {
    match value {
        Value::String(text) => quote_text(text),
        Value::Array(_) | Value::Object(_) => ValueKind::of(value).description().to_owned(),
        plain => plain.to_string(),
    }
}

fn quote_text(text: &str) -> String {
    let cut: String = text.chars().take(40).collect();
    if cut.len() < text.len() { format!("\"{cut}…\"") } else { format!("\"{cut}\"") }
}
