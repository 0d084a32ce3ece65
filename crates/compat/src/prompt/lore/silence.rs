//! Entries that can never be sent, whatever the story says.

use super::entry::{LorePosition, LorebookEntry, SelectiveLogic};
use super::keys::trim;

/// Why an entry can never be sent. A disabled entry is not silent: its owner has switched it off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoreSilence {
    /// It has no keys, and nothing else activates it: it is neither constant nor vectorized.
    NoKeys,
    /// It waits for secondary keys, and has none.
    NoSecondaryKeys,
    /// Its probability is zero.
    ZeroProbability,
    /// It waits for recursion, and is excluded from it.
    RecursionOnly,
    /// Its position is none of the known ones.
    NoPosition,
    /// It waits for an outlet macro, and has no outlet's name.
    NoOutlet,
}

impl LorebookEntry {
    /// Returns why the entry can never be sent; `None` if it can, is disabled, has no text, or is not meant to be sent.
    pub fn silence(&self) -> Option<LoreSilence> {
        let is_meant_to_be_sent = !self.content.trim().is_empty() && !self.labels.is_initial_values();
        if self.disabled || self.forced_activation == Some(false) || !is_meant_to_be_sent {
            return None;
        }
        let needs_keys = self.forced_activation.is_none() && !self.constant && !self.is_vectorized;
        let has_keys = self.keys.iter().any(|key| !trim(&key.text).is_empty());
        let has_secondary = self.secondary.iter().any(|key| !trim(&key.text).is_empty());
        // A blank key is never found: one is enough for "all", and one that is not found is what "not all" asks for.
        let lacks_secondary = match self.logic {
            Some(SelectiveLogic::AnyOf) => !has_secondary,
            Some(SelectiveLogic::AllOf) => self.secondary.iter().any(|key| trim(&key.text).is_empty()),
            Some(SelectiveLogic::NotAll) => self.secondary.is_empty(),
            Some(SelectiveLogic::NoneOf) | None => false,
        };
        let checks = [
            (needs_keys && !has_keys, LoreSilence::NoKeys),
            (needs_keys && lacks_secondary, LoreSilence::NoSecondaryKeys),
            (self.probability.is_some_and(|share| share <= 0.0), LoreSilence::ZeroProbability),
            (self.recursion_delay != 0 && self.excludes_recursion, LoreSilence::RecursionOnly),
            (self.position.is_none(), LoreSilence::NoPosition),
            (self.position == Some(LorePosition::Outlet) && self.outlet.is_empty(), LoreSilence::NoOutlet),
        ];
        checks.into_iter().find_map(|(is, why)| is.then_some(why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lore_entry_that_can_never_be_sent_tells_why() {
        let check = |fields: serde_json::Value, expected: Option<LoreSilence>| {
            let mut entry = json!({"content": "It burns.", "position": 0, "key": ["lamp"]});
            entry.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            let read = LorebookEntry::read("1".into(), entry.as_object().unwrap());
            assert_eq!(read.silence(), expected, "{fields}");
        };
        check(json!({}), None);
        check(json!({"key": []}), Some(LoreSilence::NoKeys));
        check(json!({"key": [" ", ""]}), Some(LoreSilence::NoKeys));
        check(json!({"key": null, "constant": true}), None);
        check(json!({"key": [], "vectorized": true}), None);
        check(json!({"key": [], "content": "@@activate\nIt burns."}), None);
        check(json!({"key": [], "disable": true}), None);
        check(json!({"key": [], "content": " "}), None);
        check(json!({"key": [], "comment": "[initvar] first"}), None);
        check(
            json!({"selective": true, "keysecondary": [""], "selectiveLogic": 0}),
            Some(LoreSilence::NoSecondaryKeys),
        );
        check(json!({"selective": true, "keysecondary": [""], "selectiveLogic": 2}), None);
        check(json!({"selective": true, "keysecondary": [""], "selectiveLogic": 1}), None);
        check(
            json!({"selective": true, "keysecondary": ["oil", ""], "selectiveLogic": 3}),
            Some(LoreSilence::NoSecondaryKeys),
        );
        check(json!({"selective": true, "keysecondary": ["oil"]}), None);
        check(json!({"selective": false, "keysecondary": [""]}), None);
        check(json!({"useProbability": true, "probability": 0}), Some(LoreSilence::ZeroProbability));
        check(
            json!({"useProbability": true, "probability": "0", "constant": true}),
            Some(LoreSilence::ZeroProbability),
        );
        check(json!({"useProbability": false, "probability": 0}), None);
        check(json!({"delayUntilRecursion": true, "excludeRecursion": true}), Some(LoreSilence::RecursionOnly));
        check(json!({"delayUntilRecursion": 2, "excludeRecursion": false}), None);
        check(json!({"position": 99}), Some(LoreSilence::NoPosition));
        check(json!({"position": 7}), Some(LoreSilence::NoOutlet));
        check(json!({"position": 7, "outletName": "Night"}), None);
    }
}
