//! Findings about imported regex scripts. Scripts change what is sent to models and what is shown, never stored text.

use serde_json::{Map, Value};

use super::{FindingDetail, ImportFinding};

/// Returns whether a script changes only what is shown.
pub fn is_for_display(script: &Map<String, Value>) -> bool {
    let is = |key: &str| script.get(key).and_then(Value::as_bool).unwrap_or_default();
    is("markdownOnly") && !is("promptOnly")
}

/// Returns findings for the scripts of a card or preset.
pub fn script_findings(list: Option<&Value>) -> Vec<ImportFinding> {
    let all = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let shown = all.iter().filter(|script| script.as_object().is_some_and(is_for_display)).count();
    let sent = all.len() - shown;
    let mut found = Vec::new();
    if sent > 0 {
        found.push(ImportFinding::works(&FindingDetail::PromptScripts { count: sent }));
    }
    if shown > 0 {
        found.push(ImportFinding::works(&FindingDetail::DisplayScripts { count: shown }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::FindingOutcome;
    use serde_json::json;

    #[test]
    fn script_findings_display_and_prompt_scripts_are_told_apart() {
        let told =
            |list: Value| script_findings(Some(&list)).iter().map(|one| (one.fate, one.count)).collect::<Vec<_>>();
        let list = json!([{}, {"markdownOnly": true}, {"markdownOnly": true, "promptOnly": true}, 1]);
        assert_eq!(told(list), [(FindingOutcome::Works, 3), (FindingOutcome::Works, 1)]);
        assert_eq!(told(json!([])), []);
        assert_eq!(script_findings(None), []);
    }
}
