//! Codes of the messages that the server reports, which the page translates. Each code has a text in both languages,
//! with no arguments but its own, and is listed in `docs/api.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;

use clotho_core::coded_message::MessageSignature;
use clotho_core::world::ProblemDetail;
use clotho_engine::turn::machine::ReplyFailure;
use clotho_engine::turn::{ModelCallProblem, TurnProblem};
use clotho_plugin::manifest_rules::RuleProblem;
use clotho_provider::{ProviderFailure, UnreachableCause};

/// The argument names of each code.
type Codes = BTreeMap<&'static str, BTreeSet<&'static str>>;

/// Keys that are not codes: parts of composed texts, and codes of version 0.1.0.
const OTHER_KEYS: [&str; 5] = ["problem.at", "problem.or", "problem.comma", "problem.refused", "problem.nothing_there"];

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Returns the page's texts in one language.
fn texts(language: &str) -> BTreeMap<String, String> {
    let file = read(&format!("static/src/lib/strings/{language}-problems.ts"));
    let line = Regex::new(r#"(?m)^  "([^"]+)":\s+"(.*)",$"#).unwrap();
    line.captures_iter(&file).map(|found| (found[1].to_owned(), found[2].to_owned())).collect()
}

/// Returns all codes of some lists. Two messages with one code share the arguments of both. `more`: arguments that
/// each code has too.
fn codes(lists: &[&[MessageSignature]], more: &[&'static str]) -> Codes {
    let mut all = Codes::new();
    for (code, args) in lists.iter().copied().flatten() {
        all.entry(code).or_default().extend(args.iter().chain(more));
    }
    all
}

fn families() -> [(&'static str, Codes); 2] {
    let problems = [ProblemDetail::CODES, TurnProblem::CODES, RuleProblem::CODES];
    let failures = [ProviderFailure::CODES, ReplyFailure::CODES, ModelCallProblem::CODES];
    [("problem", codes(&problems, &["name"])), ("served", codes(&failures, &["words"]))]
}

#[test]
fn message_codes_have_texts_in_both_languages() {
    let place = Regex::new(r"\{(\w+)\}").unwrap();
    for language in ["en", "zh"] {
        let texts = texts(language);
        for (family, codes) in families() {
            for (code, args) in codes {
                let key = format!("{family}.{code}");
                let text = texts.get(&key).unwrap_or_else(|| panic!("{language} has no text for {key}"));
                let bare = texts.get(&format!("{key}.bare"));
                for used in [Some(text), bare].into_iter().flatten().flat_map(|text| place.captures_iter(text)) {
                    assert!(args.contains(&used[1]), "{key} has no argument {}", &used[1]);
                }
            }
        }
        for cause in [UnreachableCause::Refused, UnreachableCause::Reset, UnreachableCause::UnknownHost] {
            assert!(texts.contains_key(&format!("served.cause.{}", cause.word())), "{language} {cause:?}");
        }
    }
}

#[test]
fn message_texts_of_page_name_existing_codes() {
    let known = families();
    for key in texts("en").into_keys() {
        let Some((family, code)) = key.split_once('.') else { continue };
        let Some((_, codes)) = known.iter().find(|(name, _)| *name == family) else { continue };
        let code = code.trim_end_matches(".bare");
        let is_other = OTHER_KEYS.contains(&key.as_str()) || code.starts_with("cause.");
        assert!(is_other || codes.contains_key(code), "the server has no code for {key}");
    }
}

#[test]
fn message_codes_are_documented() {
    let docs = read("docs/api.md");
    for (_, codes) in families() {
        for code in codes.into_keys() {
            assert!(docs.contains(&format!("`{code}`")), "docs/api.md does not name {code}");
        }
    }
}
