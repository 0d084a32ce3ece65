//! Reports special features of a card: unsupported ones, regex scripts and depth prompts. All are kept and exported
//! again.

use serde_json::{Map, Value};

use super::macros::SUPPORTED_MACROS;
use crate::interop::scripts as regex;
use crate::interop::{FindingDetail, ImportFinding};

/// Maximum number of macro names in a finding.
const MAX_NAMES: usize = 12;

/// Returns findings for the unsupported features of a card, and for its regex scripts and depth prompt.
pub fn find_unsupported(
    card: &Map<String, Value>,
    metadata: &Map<String, Value>,
    book: Option<&Value>,
) -> Vec<ImportFinding> {
    let extensions = metadata.get("extensions");
    // Supported: regex scripts and the depth prompt.
    let mut found = regex::script_findings(extensions.and_then(|extensions| extensions.get("regex_scripts")));
    let prompt = extensions.and_then(|extensions| extensions.pointer("/depth_prompt/prompt")).and_then(Value::as_str);
    if prompt.is_some_and(|prompt| !prompt.trim().is_empty()) {
        found.push(ImportFinding::works(&FindingDetail::DepthPrompt {}));
    }
    // Kept only: JavaScript, group greetings and assets.
    let mut kept = |count: usize, detail: FindingDetail| {
        if count > 0 {
            found.push(ImportFinding::kept(&detail));
        }
    };
    let scripts = embedded_scripts(extensions);
    let count = scripts.len();
    kept(count, FindingDetail::CardScripts { count });
    let count = scripts.iter().filter(|script| calls_jquery(script)).count();
    kept(count, FindingDetail::JqueryScripts { count });
    let count = scripts.iter().filter(|script| script.contains("import(") || script.contains("import ")).count();
    kept(count, FindingDetail::LoadingScripts { count });
    let list = |name: &str| metadata.get(name).and_then(Value::as_array).map_or(0, Vec::len);
    let count = list("group_only_greetings");
    kept(count, FindingDetail::GroupGreetings { count });
    let count = list("assets");
    kept(count, FindingDetail::CardAssets { count });
    let entries = entries(book);
    find_in_texts(&texts(card, &entries), &mut kept);
    found
}

/// Reports EJS, HTML scripts, MVU variables and unsupported macros in texts.
fn find_in_texts(texts: &[&str], kept: &mut impl FnMut(usize, FindingDetail)) {
    let all = |word: &str| texts.iter().map(|text| text.matches(word).count()).sum::<usize>();
    let count = all("<%");
    kept(count, FindingDetail::EjsBlocks { count });
    let count = all("<script");
    kept(count, FindingDetail::HtmlScripts { count });
    let count =
        all("<UpdateVariable>") + texts.iter().filter(|text| text.to_ascii_lowercase().contains("[initvar]")).count();
    kept(count, FindingDetail::MvuVariables { count });
    let names = unsupported_macros(texts);
    let count = names.len();
    let some = names.iter().take(MAX_NAMES).map(|name| format!("{{{{{name}}}}}")).collect::<Vec<_>>().join(", ");
    let more = if count > MAX_NAMES { ", …" } else { "" };
    kept(count, FindingDetail::UnsupportedMacros { count, names: format!("{some}{more}") });
}

/// Returns the sources of embedded JavaScript, from both places where cards keep it.
fn embedded_scripts(extensions: Option<&Value>) -> Vec<&str> {
    let mut found = Vec::new();
    let places = ["/tavern_helper/scripts", "/TavernHelper_scripts"];
    let lists = places.iter().filter_map(|path| extensions?.pointer(path)?.as_array());
    for script in lists.flatten() {
        let inner = script.get("value").unwrap_or(script);
        found.push(inner.get("content").and_then(Value::as_str).unwrap_or_default());
    }
    found
}

fn calls_jquery(script: &str) -> bool {
    script.contains("$(") || script.contains("$.") || script.contains("jQuery")
}

fn entries(book: Option<&Value>) -> Vec<&Value> {
    match book.and_then(|book| book.get("entries")) {
        Some(Value::Array(list)) => list.iter().collect(),
        Some(Value::Object(map)) => map.values().collect(),
        _ => Vec::new(),
    }
}

/// Returns every text that a model or a reader would see.
fn texts<'a>(card: &'a Map<String, Value>, entries: &[&'a Value]) -> Vec<&'a str> {
    let lore = entries.iter().flat_map(|entry| ["content", "comment"].map(|name| entry.get(name)));
    let own = card.values().chain(lore.flatten());
    own.flat_map(|value| match value {
        Value::String(text) => vec![text.as_str()],
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    })
    .collect()
}

/// Returns the names of unsupported macros in order of appearance.
fn unsupported_macros(texts: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in texts.iter().flat_map(|text| text.split("{{").skip(1)) {
        let name: String =
            part.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')).collect();
        let is_filled =
            name.starts_with(['.', '$']) || SUPPORTED_MACROS.iter().any(|known| name.eq_ignore_ascii_case(known));
        if !name.is_empty() && name.len() <= 40 && !is_filled && !names.contains(&name) && names.len() < 1_000 {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::FindingOutcome;
    use serde_json::json;

    #[test]
    fn card_unsupported_features_are_counted() {
        let card = json!({"firstMessage": "<%= a %> {{charPrefix}} {{user}} <% b %>", "description": "{{getvar::x}} {{pipe}} {{.x}}"});
        let scripts = json!([
            {"content": "$('#x').hide()"}, {"content": "import 'https://x.example/y.js'"}, {"value": {"content": "jQuery(1)"}}
        ]);
        let metadata = json!({
            "extensions": {
                "regex_scripts": [{}, {}], "tavern_helper": {"scripts": scripts}, "depth_prompt": {"prompt": "hm", "depth": 4},
            },
            "assets": [{}], "group_only_greetings": [],
        });
        let book = json!({"entries": [{"comment": "[InitVar]", "content": "a: 1"}]});
        let found = find_unsupported(card.as_object().unwrap(), metadata.as_object().unwrap(), Some(&book));
        let told: Vec<(&str, usize)> = found.iter().map(|finding| (finding.code, finding.count)).collect();
        let expected = [
            ("regex_scripts", 2),
            ("depth_prompt", 1),
            ("scripts", 3),
            ("scripts_jquery", 2),
            ("scripts_load", 1),
            ("assets", 1),
            ("ejs", 2),
            ("mvu", 1),
            ("macros", 2),
        ];
        assert_eq!(told, expected);
        assert!(
            found.iter().skip(2).all(|finding| finding.fate == FindingOutcome::Kept && !finding.message.ends_with('.'))
        );
        assert!(found.last().unwrap().message.contains("{{charPrefix}}, {{pipe}}"));
    }
}
