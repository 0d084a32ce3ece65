//! Makes a value fit a schema: numbers are clamped or rounded, anything else that does not fit is refused.

use std::collections::HashSet;
use std::fmt;

use serde_json::{Map, Number, Value};

use super::ValueKind;
use super::node::{LengthRange, NumberBound, SchemaNode, SchemaRule};
use crate::world::problem::{place_name, write_sentence};
use crate::world::value_kind::{LengthPhrase, QuotedValue, ValueKinds};
use crate::world::{Pointer, ProblemDetail, ProblemKind, number};

/// One note or refusal about a value.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::world) struct ValueProblem {
    pub path: Pointer,
    /// The name of the place in messages.
    pub name: String,
    pub detail: ProblemDetail,
}

impl ValueProblem {
    /// Returns a problem at a place.
    pub fn new(path: &Pointer, detail: ProblemDetail) -> Self {
        Self { path: path.clone(), name: place_name(path.keys()), detail }
    }

    /// Returns the kind of the problem.
    pub fn kind(&self) -> ProblemKind {
        self.detail.kind()
    }
}

impl fmt::Display for ValueProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_sentence(f, &self.name, &self.detail)
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
            SchemaRule::Node(node) => self.conform_value(node, value),
            SchemaRule::Forbidden => Err(self.finding(ProblemDetail::ForbiddenKey {})),
        }
    }

    /// Conforms a value to a node. Computed values are skipped, because they are overwritten anyway.
    pub fn conform_value(&mut self, node: &SchemaNode, value: &mut Value) -> Result<(), ValueProblem> {
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
            self.note(ProblemDetail::Rounded { value: value.clone(), whole: whole.clone() });
            *value = whole;
        }
        for (bound, side) in [(&node.low, "below"), (&node.high, "above")] {
            let Some(bound) = bound.as_ref().filter(|bound| bound.is_broken_by(value, side)) else { continue };
            let is_low = side == "below";
            let (value_now, limit) = (value.clone(), bound.number.clone());
            if bound.exclusive {
                return Err(self.finding(match is_low {
                    true => ProblemDetail::NotAbove { value: value_now, bound: limit },
                    false => ProblemDetail::NotBelow { value: value_now, bound: limit },
                }));
            }
            *value = limit.clone();
            self.note(match is_low {
                true => ProblemDetail::BelowRange { value: value_now, bound: limit },
                false => ProblemDetail::AboveRange { value: value_now, bound: limit },
            });
        }
        Ok(())
    }

    fn kind(&self, node: &SchemaNode, value: &Value) -> Result<(), ValueProblem> {
        if node.kinds.is_empty() || node.kinds.iter().any(|kind| kind.admits(value)) {
            return Ok(());
        }
        let kinds = ValueKinds(node.kinds.clone());
        Err(self.finding(ProblemDetail::WrongType { value: QuotedValue::new(value), kinds }))
    }

    fn choice(&self, node: &SchemaNode, value: &Value) -> Result<(), ValueProblem> {
        let Some(choices) =
            node.choices.as_ref().filter(|choices| !choices.iter().any(|choice| number::values_equal(choice, value)))
        else {
            return Ok(());
        };
        let listed: Vec<String> = choices.iter().take(12).map(|choice| QuotedValue::new(choice).to_string()).collect();
        let more = if choices.len() > listed.len() { ", …" } else { "" };
        let choices = listed.join(", ") + more;
        Err(self.finding(ProblemDetail::NotAChoice { value: QuotedValue::new(value), choices }))
    }

    fn text(&self, node: &SchemaNode, text: &str) -> Result<(), ValueProblem> {
        // Counting the characters of a long text takes time, so texts without limits are not counted.
        let is_limited = node.text.least.is_some() || node.text.most.is_some();
        if is_limited && let Some(broken) = broken_length(node.text, text.chars().count(), "character") {
            return Err(self.finding(match broken {
                BrokenLength::Short { count, least } => ProblemDetail::TextTooShort { count, least },
                BrokenLength::Long { count, most } => ProblemDetail::TextTooLong { count, most },
            }));
        }
        match &node.pattern {
            Some(pattern) if !pattern.is_match(text) => {
                let pattern = pattern.as_str().to_owned();
                Err(self.finding(ProblemDetail::NoMatch { value: QuotedValue::text(text), pattern }))
            }
            _ => Ok(()),
        }
    }

    fn list(&mut self, node: &SchemaNode, list: &mut [Value]) -> Result<(), ValueProblem> {
        if let Some(broken) = broken_length(node.length, list.len(), "value") {
            return Err(self.finding(match broken {
                BrokenLength::Short { count, least } => ProblemDetail::ListTooShort { count, least },
                BrokenLength::Long { count, most } => ProblemDetail::ListTooLong { count, most },
            }));
        }
        if let Some(items) = &node.items {
            for (position, value) in list.iter_mut().enumerate() {
                self.inside(position.to_string(), |inner| inner.conform_value(items, value))?;
            }
        }
        let twice = if node.unique { first_duplicate(list) } else { None };
        twice.map_or(Ok(()), |value| Err(self.finding(ProblemDetail::ValueTwice { value: QuotedValue::new(value) })))
    }

    fn map(&mut self, node: &SchemaNode, map: &mut Map<String, Value>) -> Result<(), ValueProblem> {
        let is_computed = |key: &str| node.properties.get(key).is_some_and(|child| child.is_computed());
        if let Some(missing) = node.required.iter().find(|key| !map.contains_key(*key) && !is_computed(key)) {
            return Err(self.finding(ProblemDetail::MissingKey { key: missing.clone() }));
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

    fn note(&mut self, detail: ProblemDetail) {
        self.notes.push(self.finding(detail));
    }

    fn finding(&self, detail: ProblemDetail) -> ValueProblem {
        ValueProblem::new(&Pointer::from_keys(self.trail.iter().cloned()), detail)
    }
}

/// A length outside of its range, and the bound that it breaks.
enum BrokenLength {
    Short { count: usize, least: LengthPhrase },
    Long { count: usize, most: LengthPhrase },
}

fn broken_length(range: LengthRange, count: usize, of: &'static str) -> Option<BrokenLength> {
    match (range.least.filter(|least| count < *least), range.most.filter(|most| count > *most)) {
        (Some(least), _) => Some(BrokenLength::Short { count, least: LengthPhrase { count: least, of } }),
        (None, Some(most)) => Some(BrokenLength::Long { count, most: LengthPhrase { count: most, of } }),
        (None, None) => None,
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
        return number::values_equal(old, new);
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
