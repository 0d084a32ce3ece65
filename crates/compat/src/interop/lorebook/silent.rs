//! Findings about entries that can never be sent.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::entries_with_uid;
use crate::interop::{FindingDetail, FindingReason, ImportFinding};
use crate::prompt::lore::{LoreSilence, LorebookEntry};

/// The most entries that a finding names.
const MAX_NAMES: usize = 12;
/// The most characters of an entry's name.
const MAX_NAME_CHARS: usize = 60;

/// Returns a finding for each reason why entries of a book, which is world info, can never be sent.
pub fn silent_entry_findings(book: &Map<String, Value>) -> Vec<ImportFinding> {
    let mut by_reason: BTreeMap<LoreSilence, (usize, Vec<String>)> = BTreeMap::new();
    for entry in entries_with_uid(book) {
        let uid = entry.get("uid").map(|uid| uid.as_str().map_or_else(|| uid.to_string(), str::to_owned));
        let read = LorebookEntry::read(uid.unwrap_or_default(), &entry);
        let Some(why) = read.silence() else { continue };
        let (count, names) = by_reason.entry(why).or_default();
        *count += 1;
        if names.len() < MAX_NAMES {
            let title = read.title.trim();
            names.push(if title.is_empty() { read.uid } else { title.chars().take(MAX_NAME_CHARS).collect() });
        }
    }
    let finding = |(why, (count, names)): (LoreSilence, (usize, Vec<String>))| {
        let more = if count > names.len() { ", …" } else { "" };
        let entries = format!("{}{more}", names.join(", "));
        ImportFinding::kept(&FindingDetail::SilentEntries { count, reason: reason_of(why), entries })
    };
    by_reason.into_iter().map(finding).collect()
}

const fn reason_of(why: LoreSilence) -> FindingReason {
    match why {
        LoreSilence::NoKeys => FindingReason::NoKeys,
        LoreSilence::NoSecondaryKeys => FindingReason::NoSecondaryKeys,
        LoreSilence::ZeroProbability => FindingReason::ZeroProbability,
        LoreSilence::RecursionOnly => FindingReason::RecursionOnly,
        LoreSilence::NoPosition => FindingReason::NoPosition,
        LoreSilence::NoOutlet => FindingReason::NoOutlet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn silent_entries_are_named_by_reason() {
        let book = json!({"entries": {
            "0": {"uid": 0, "comment": "Lamp", "key": [], "content": "It burns.", "position": 0},
            "1": {"uid": 1, "comment": " ", "key": [""], "content": "It smokes.", "position": 0},
            "2": {"uid": 2, "key": ["oil"], "content": "Dear.", "position": 0, "useProbability": true, "probability": 0},
            "3": {"uid": 3, "key": ["sea"], "content": "Cold.", "position": 0},
        }});
        let found = silent_entry_findings(book.as_object().unwrap());
        let told: Vec<(&str, usize, &str)> =
            found.iter().map(|one| (one.code, one.count, one.args["entries"].as_str().unwrap())).collect();
        assert_eq!(told, [("lore_silent", 2, "Lamp, 1"), ("lore_silent", 1, "2")]);
        assert_eq!(
            (&found[0].args["reason"], &found[1].args["reason"]),
            (&json!("no_keys"), &json!("zero_probability"))
        );
        let many: Map<String, Value> =
            (0..20).map(|n| (n.to_string(), json!({"content": "x", "position": 0}))).collect();
        let found = silent_entry_findings(json!({"entries": many}).as_object().unwrap());
        assert!(found[0].message.ends_with("9, 10, 11, …") && found[0].count == 20, "{}", found[0].message);
    }
}
