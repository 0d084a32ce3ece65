//! Codes of the messages that the server reports, which the page translates. Each code has a text in both languages,
//! with no arguments but its own, and is listed in `docs/api.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;

use clotho::http::wire::health_problem::HealthProblem;
use clotho_compat::interop::{FindingDetail, FindingReason};
use clotho_compat::prompt::lore::LoreNote;
use clotho_compat::prompt::scripts::ScriptSkipReason;
use clotho_core::coded_message::MessageSignature;
use clotho_core::world::{ConditionError, ProblemDetail};
use clotho_engine::turn::machine::ReplyFailure;
use clotho_engine::turn::{ModelCallProblem, ProviderProblemDetail, ToolRefusal, TurnProblem};
use clotho_plugin::ScriptErrorDetail;
use clotho_plugin::manifest_rules::RuleProblem;
use clotho_provider::{ParameterChange, ProviderFailure, TemplateProblem, UnreachableCause};

/// The argument names of each code.
type CodeArguments = BTreeMap<&'static str, BTreeSet<&'static str>>;

/// Keys that are not codes: parts of composed texts, and codes of version 0.1.0.
const OTHER_KEYS: [&str; 6] =
    ["problem.at", "problem.or", "problem.comma", "problem.refused", "problem.nothing_there", "fault.hint"];

fn read_file(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Returns the page's texts in one language.
fn page_texts(language: &str) -> BTreeMap<String, String> {
    let files = ["problems", "findings", "script-errors"]
        .map(|part| read_file(&format!("static/src/lib/strings/{language}-{part}.ts")));
    // Long texts are split into several literals.
    let file = Regex::new(r#"" \+\s+""#).unwrap().replace_all(&files.concat(), "").into_owned();
    let line = Regex::new(r#"(?m)^  "([^"]+)":\s+"(.*)",$"#).unwrap();
    line.captures_iter(&file).map(|found| (found[1].to_owned(), found[2].to_owned())).collect()
}

/// Returns all codes of some lists. Two messages with one code share the arguments of both. `more`: arguments that
/// each code has too.
fn merge_codes(lists: &[&[MessageSignature]], more: &[&'static str]) -> CodeArguments {
    let mut all = CodeArguments::new();
    for (code, args) in lists.iter().copied().flatten() {
        all.entry(code).or_default().extend(args.iter().chain(more));
    }
    all
}

fn code_families() -> [(&'static str, CodeArguments); 12] {
    let problems = [ProblemDetail::CODES, TurnProblem::CODES, RuleProblem::CODES];
    let failures = [ProviderFailure::CODES, ReplyFailure::CODES, ModelCallProblem::CODES];
    [
        ("problem", merge_codes(&problems, &["name"])),
        ("served", merge_codes(&failures, &["words"])),
        ("finding", merge_codes(&[FindingDetail::CODES], &["n", "count"])),
        ("health", merge_codes(&[HealthProblem::CODES], &[])),
        ("provider", merge_codes(&[ProviderProblemDetail::CODES], &[])),
        ("why.template", merge_codes(&[TemplateProblem::CODES], &[])),
        ("why.parameter", merge_codes(&[ParameterChange::CODES], &[])),
        ("why.loreNote", merge_codes(&[LoreNote::CODES], &[])),
        ("why.condition", merge_codes(&[ConditionError::CODES], &[])),
        ("why.toolRefusal", merge_codes(&[ToolRefusal::CODES], &[])),
        ("why.script", merge_codes(&[ScriptSkipReason::CODES], &[])),
        ("fault", merge_codes(&[ScriptErrorDetail::CODES], &["instead"])),
    ]
}

/// Returns the code of a key: what comes before the first point, apart from the family. The texts of a code are its own
/// and those with a further part, such as `bare`.
fn code_of<'a>(family: &str, key: &'a str) -> Option<&'a str> {
    key.strip_prefix(family)?.strip_prefix('.')?.split('.').next()
}

#[test]
fn message_codes_have_texts_in_both_languages() {
    let place = Regex::new(r"\{(\w+)\}").unwrap();
    for language in ["en", "zh"] {
        let texts = page_texts(language);
        for (family, codes) in code_families() {
            for (code, args) in codes {
                let own = || texts.iter().filter(move |(key, _)| code_of(family, key) == Some(code));
                assert!(own().next().is_some(), "{language} has no text for {family}.{code}");
                for (key, used) in own().flat_map(|(key, text)| place.captures_iter(text).map(move |used| (key, used)))
                {
                    assert!(args.contains(&used[1]), "{key} has no argument {}", &used[1]);
                }
                // Something can be said of every message, with or without its optional arguments.
                let is_said = [format!("{family}.{code}"), format!("{family}.{code}.bare")];
                assert!(
                    is_said.iter().any(|key| texts.contains_key(key)),
                    "{language} has no {}",
                    is_said.join(" or ")
                );
            }
        }
        for cause in [UnreachableCause::Refused, UnreachableCause::Reset, UnreachableCause::UnknownHost] {
            assert!(texts.contains_key(&format!("served.cause.{}", cause.as_str())), "{language} {cause:?}");
        }
        for word in FindingReason::NAMES {
            assert!(texts.contains_key(&format!("finding.reason.{word}")), "{language} {word}");
        }
    }
}

#[test]
fn message_texts_of_page_name_existing_codes() {
    let known = code_families();
    for key in page_texts("en").into_keys() {
        let is_in = |family: &str| key.strip_prefix(family).is_some_and(|rest| rest.starts_with('.'));
        let Some((family, codes)) = known.iter().find(|(family, _)| is_in(family)) else { continue };
        let rest = key.trim_start_matches(family).trim_start_matches('.');
        let is_reason = rest.strip_prefix("reason.").is_some_and(|word| FindingReason::NAMES.contains(&word));
        let is_other = OTHER_KEYS.contains(&key.as_str()) || rest.starts_with("cause.") || is_reason;
        let code = code_of(family, &key).unwrap_or_default();
        assert!(is_other || codes.contains_key(code), "the server has no code for {key}");
    }
}

#[test]
fn message_codes_are_documented() {
    let docs = read_file("docs/api.md");
    for (_, codes) in code_families() {
        for code in codes.into_keys() {
            assert!(docs.contains(&format!("`{code}`")), "docs/api.md does not name {code}");
        }
    }
    for word in FindingReason::NAMES {
        assert!(docs.contains(&format!("`{word}`")), "docs/api.md does not name {word}");
    }
}
