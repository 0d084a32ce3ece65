//! Checks rules against the schema. An undeclared path is a typo, and a rule that waits for it never fires; an
//! ambiguous comparison of two values is also an error. Warnings cover effects that the schema refuses and comparisons
//! that never hold.

use std::ops::Range;

use super::{ManifestRule, raw};
use crate::suggest::did_you_mean;
use clotho_core::world::condition::{Comparison, VariablePath};
use clotho_core::world::schema::{TWO_VALUES, ValueKind, is_bare_variable};
use clotho_core::world::{Pointer, Schema, SchemaNode, StateChange, StateOperation};

/// Returns the first path of the rules that the schema of the plugin's root does not declare.
pub(crate) fn undeclared_path(
    rules: &[ManifestRule],
    root: &Pointer,
    schema: &Schema,
) -> Option<(Range<usize>, String)> {
    rules.iter().find_map(|rule| {
        let reads = rule.reads(root).into_iter();
        let writes = rule.writes().flat_map(|(operation, at)| {
            raw::places(operation).cloned().map(move |place| (place, at.clone())).collect::<Vec<_>>()
        });
        reads.chain(writes).find_map(|(place, at)| {
            let keys = place.below(root)?;
            let why = undeclared_reason(schema.root_node(), keys)?;
            Some((at, format!("the schema has no \"{}\"{why}", keys.join("/"))))
        })
    })
}

/// Returns the first comparison of the rules that has a value on both sides.
pub(crate) fn ambiguous_comparison(
    rules: &[ManifestRule],
    root: &Pointer,
    schema: &Schema,
) -> Option<(Range<usize>, String)> {
    let seen = DeclaredValues { root, schema };
    let is_one = |comparison: &Comparison<'_>| {
        let node = seen.declared(comparison.variable);
        is_bare_variable(node, comparison, |variable| seen.declared(variable).is_some())
    };
    let found = rules
        .iter()
        .flat_map(ManifestRule::conditions)
        .find(|(condition, _)| condition.comparisons().any(|one| is_one(&one)));
    found.map(|(_, at)| (at, TWO_VALUES.to_owned()))
}

/// Returns warnings of rules that run but cannot be meant: comparisons that never hold, operations that the schema
/// changes or refuses.
pub(crate) fn rule_warnings(rules: &[ManifestRule], root: &Pointer, schema: &Schema) -> Vec<(Range<usize>, String)> {
    let seen = DeclaredValues { root, schema };
    let mut found = Vec::new();
    for rule in rules {
        for (condition, at) in rule.conditions() {
            let odd = condition.comparisons().filter_map(|comparison| seen.comparison_warning(&comparison));
            found.extend(odd.map(|message| (at.clone(), message)));
        }
        for (operation, at) in rule.writes() {
            let slips = seen.effect_warnings(operation).into_iter();
            found.extend(slips.map(|message| (at.clone(), format!("the rule \"{}\": {message}", rule.name))));
        }
    }
    found
}

/// The values of a plugin as its schema declares them.
struct DeclaredValues<'s> {
    root: &'s Pointer,
    schema: &'s Schema,
}

impl<'s> DeclaredValues<'s> {
    fn declared(&self, variable: &VariablePath) -> Option<&'s SchemaNode> {
        let place = super::variable_pointer(self.root, variable);
        self.schema.root_node().declared_node(place.below(self.root)?)
    }

    fn comparison_warning(&self, comparison: &Comparison<'_>) -> Option<String> {
        let place = super::variable_pointer(self.root, comparison.variable);
        let keys = place.below(self.root)?.to_vec();
        let variable = VariablePath { is_from_top: false, keys };
        self.schema.root_node().comparison_problem(&Comparison { variable: &variable, ..*comparison }, |_| false)
    }

    /// Checks a constant operation against the schema.
    fn effect_warnings(&self, operation: &StateOperation) -> Vec<String> {
        let mut places = raw::places(operation).filter_map(|place| place.below(self.root));
        if let Some(why) = places.find_map(|keys| self.unwritable_reason(keys)) {
            return vec![why];
        }
        let Some(keys) = operation.path.below(self.root) else { return Vec::new() };
        let Some(node) = self.schema.node_at(keys) else { return Vec::new() };
        let name = keys.join("/");
        let lacks =
            |kinds: &[ValueKind]| !node.kinds().is_empty() && !node.kinds().iter().any(|kind| kinds.contains(kind));
        let what = || node.kinds().iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(" or ");
        let wrong = |does: &str| vec![format!("nothing can be {does} \"{name}\": the schema defines it as {}", what())];
        match &operation.change {
            StateChange::Add(_) if lacks(&[ValueKind::Integer, ValueKind::Number]) => wrong("added to"),
            StateChange::Append(_) if lacks(&[ValueKind::Array]) => wrong("appended to"),
            StateChange::Take(_) if lacks(&[ValueKind::Array]) => wrong("taken from"),
            StateChange::Insert { .. } if lacks(&[ValueKind::Object]) => wrong("inserted into"),
            StateChange::Set(value) => self.schema.check_value(keys, value),
            StateChange::Insert { key, value } => {
                self.schema.check_value(&[keys, std::slice::from_ref(key)].concat(), value)
            }
            StateChange::Append(value) => self.schema.check_value(&[keys, &["0".to_owned()]].concat(), value),
            StateChange::Remove if self.is_required(keys) => {
                vec![format!("\"{name}\" cannot be removed: the schema requires it")]
            }
            StateChange::Add(_) | StateChange::Take(_) | StateChange::Remove | StateChange::Move { .. } => Vec::new(),
        }
    }

    /// Returns why a path cannot be written: it is computed, or below a value that is not a map or list.
    fn unwritable_reason(&self, keys: &[String]) -> Option<String> {
        let name = keys.join("/");
        if self.schema.is_computed(keys) {
            return Some(format!("\"{name}\" is computed: change the values that it is computed from"));
        }
        let above = (0..keys.len()).filter_map(|depth| keys.get(..depth));
        let holds = |node: &SchemaNode| {
            node.kinds().is_empty()
                || node.kinds().iter().any(|kind| matches!(kind, ValueKind::Array | ValueKind::Object))
        };
        let flat = above.into_iter().find(|above| self.schema.node_at(above).is_some_and(|node| !holds(node)))?;
        Some(format!("\"{name}\" is inside of \"{}\", which is not a map or list", flat.join("/")))
    }

    fn is_required(&self, keys: &[String]) -> bool {
        let Some((last, above)) = keys.split_last() else { return false };
        self.schema.node_at(above).is_some_and(|node| node.requires(last))
    }
}

/// Returns why keys lead to no declared value, with a suggestion. `None` if they do, or if any value is allowed there.
fn undeclared_reason(top: &SchemaNode, keys: &[String]) -> Option<String> {
    let (depth, node) = top.first_undeclared(keys)?;
    let before = keys.get(..depth).unwrap_or_default().join("/");
    let within = if before.is_empty() { String::new() } else { format!(" in \"{before}\"") };
    let key = keys.get(depth)?;
    Some(format!("{within}{}", did_you_mean(key, node.properties().map(|(name, _)| name))))
}
