//! Rules against the schema: a place that it does not declare is a slip of the hand, and a rule that waits for it never fires.

use std::ops::Range;

use super::{Rule, raw};
use crate::plugin::suggest::did_you_mean;
use crate::world::{Node, Pointer, Schema};

/// The first place of the rules that the schema of the plugin's root does not know.
pub(in crate::plugin) fn unknown_place(
    rules: &[Rule],
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
            let why = unknown(schema.top(), keys)?;
            Some((at, format!("the schema knows no \"{}\"{why}", keys.join("/"))))
        })
    })
}

/// Why keys lead to nothing that is declared: what might have been meant. `None` where they do, or where anything may stand.
fn unknown(top: &Node, keys: &[String]) -> Option<String> {
    let (depth, node) = top.stray(keys)?;
    let before = keys.get(..depth).unwrap_or_default().join("/");
    let within = if before.is_empty() { String::new() } else { format!(" in \"{before}\"") };
    let key = keys.get(depth)?;
    Some(format!("{within}{}", did_you_mean(key, node.properties().map(|(name, _)| name))))
}
