//! Finds comparisons that never hold or hold only by accident, using the schema's possible values.

use serde_json::{Number, Value};

use super::ValueKind;
use super::keywords::suggestion;
use super::node::SchemaNode;
use crate::world::condition::{Comparison, VariablePath, to_number};
use crate::world::number::{compare, values_equal};

/// The message for a comparison of two variables.
pub const TWO_VALUES: &str = "the right side must be a string or a number; two values cannot be compared";

impl SchemaNode {
    /// Returns the node at these keys; the first key must be declared by name.
    pub fn declared_node(&self, keys: &[String]) -> Option<&Self> {
        let is_named = keys.first().is_some_and(|first| self.properties.contains_key(first));
        keys.iter().try_fold(self, |node, key| node.child(key)).filter(|_| is_named)
    }

    /// Returns the problem of a comparison whose names are resolved from this node: two variables, or an impossible
    /// comparison.
    pub fn comparison_problem(
        &self,
        comparison: &Comparison<'_>,
        is_declared: impl Fn(&VariablePath) -> bool,
    ) -> Option<String> {
        let node = self.declared_node(&comparison.variable.keys);
        if is_bare_variable(node, comparison, is_declared) {
            return Some(TWO_VALUES.to_owned());
        }
        let why = node?.impossible_comparison(comparison)?;
        Some(format!("\"{} {} {}\": {why}", comparison.variable.keys.join("."), comparison.sign, comparison.operand))
    }

    /// Returns why a comparison with a value of this node is impossible.
    fn impossible_comparison(&self, comparison: &Comparison<'_>) -> Option<String> {
        let than = comparison.operand;
        self.unknown_choice(comparison).or_else(|| self.kind_mismatch(than)).or_else(|| self.out_of_range(comparison))
    }

    /// Finds an operand that is not one of the allowed values.
    fn unknown_choice(&self, comparison: &Comparison<'_>) -> Option<String> {
        let choices = self.choices.as_ref()?;
        let is_equality = matches!(comparison.sign, "==" | "!=");
        let is_near = |choice: &Value| {
            values_equal(choice, comparison.operand)
                || to_number(Some(choice)).is_some_and(|n| to_number(Some(comparison.operand)) == Some(n))
        };
        if !is_equality || choices.iter().any(is_near) {
            return None;
        }
        let texts = || choices.iter().filter_map(Value::as_str);
        let guess = comparison.operand.as_str().map(|than| suggestion(than, texts())).unwrap_or_default();
        let all: Vec<String> = choices.iter().take(12).map(ToString::to_string).collect();
        Some(format!(
            "it is never {}{guess}{} Possible values are {}",
            comparison.operand,
            super::keywords::sentence_end(&guess),
            all.join(", ")
        ))
    }

    /// Finds an operand of another type, such as a text compared with a number.
    fn kind_mismatch(&self, than: &Value) -> Option<String> {
        let is_number = to_number(Some(than)).is_some() && !than.is_boolean();
        let fits = |kind: &ValueKind| match kind {
            ValueKind::Integer | ValueKind::Number | ValueKind::Array | ValueKind::Object => is_number,
            ValueKind::String => than.is_string(),
            ValueKind::Boolean => than.is_boolean(),
            ValueKind::Null => than.is_null(),
        };
        // `none == null` is a way to test whether something exists.
        if self.kinds.is_empty() || than.is_null() || self.kinds.iter().any(fits) {
            return None;
        }
        if is_number && self.kinds.contains(&ValueKind::String) {
            return Some(format!("it is a string, so a comparison with {than} needs a number in quotes"));
        }
        let own: Vec<&str> = self.kinds.iter().map(|kind| kind.description()).collect();
        Some(format!("it is {}, so a comparison with {than} is never true", own.join(" or ")))
    }

    /// Finds a number outside the value's range.
    fn out_of_range(&self, comparison: &Comparison<'_>) -> Option<String> {
        let than = match comparison.operand {
            Value::Number(than) => than.clone(),
            Value::String(text) => text.trim().parse::<Number>().ok()?,
            _ => return None,
        };
        let beyond = |bound: Option<&Number>, is_over: bool| {
            bound
                .map(|bound| compare(&than, bound))
                .is_some_and(|order| if is_over { order.is_gt() } else { order.is_lt() })
        };
        let at = |bound: Option<&Number>| bound.is_some_and(|bound| compare(&than, bound).is_eq());
        let (low, high) = (self.minimum(), self.maximum());
        let never = match comparison.sign {
            "==" => beyond(high, true) || beyond(low, false),
            ">=" => beyond(high, true),
            ">" => beyond(high, true) || at(high),
            "<=" => beyond(low, false),
            "<" => beyond(low, false) || at(low),
            _ => false,
        };
        let range = match (low, high) {
            (Some(low), Some(high)) => format!("from {low} to {high}"),
            (Some(low), None) => format!("at least {low}"),
            (None, Some(high)) => format!("at most {high}"),
            (None, None) => return None,
        };
        never.then(|| format!("that is never true: its range is {range}"))
    }
}

/// Returns whether an unquoted operand names a declared value and is not one of the allowed texts.
pub fn is_bare_variable(
    node: Option<&SchemaNode>,
    comparison: &Comparison<'_>,
    is_declared: impl Fn(&VariablePath) -> bool,
) -> bool {
    let is_choice = node.and_then(SchemaNode::choices).is_some_and(|choices| choices.contains(comparison.operand));
    let name = comparison.operand.as_str().filter(|_| comparison.is_bare && !is_choice);
    name.and_then(VariablePath::parse).is_some_and(|variable| is_declared(&variable))
}
