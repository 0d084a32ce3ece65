//! Hints for syntax and names of other languages, when a line does not parse or a name is unknown.

use super::suggest::NameHint;

/// Syntax of other languages, each with a hint of what to write instead.
const SYNTAX_HINTS: [(&str, &str); 9] = [
    ("function", "write a function as fn name(a) { … }, and a closure as |a| …"),
    ("=>", "\"=>\" is for switch only: write a closure as |a| …"),
    ("for (let ", "write a loop as for x in list { … }"),
    ("for (", "write a loop as for x in list { … }, and a counting loop as for i in 0..10 { … }"),
    ("===", "compare values with =="),
    ("!==", "compare values with !="),
    ("++", "write n += 1"),
    ("--", "write n -= 1"),
    ("var ", "declare a variable with let"),
];

/// Functions and properties of other languages, each with its counterpart here.
const NAME_HINTS: [(&str, &str); 16] = [
    ("length", "len()"),
    ("size", "len()"),
    ("includes", "contains(x)"),
    ("indexOf", "index_of(x)"),
    ("toUpperCase", "to_upper()"),
    ("toLowerCase", "to_lower()"),
    ("startsWith", "starts_with(x)"),
    ("endsWith", "ends_with(x)"),
    ("substring", "sub_string(from, count)"),
    ("substr", "sub_string(from, count)"),
    ("slice", "extract(from, count)"),
    ("forEach", "a loop, for x in list { … }"),
    ("parseInt", "parse_int(text)"),
    ("parseFloat", "parse_float(text)"),
    ("toString", "to_string()"),
    ("hasOwnProperty", "\"name\" in map"),
];

/// Returns a hint if the line looks like another language.
pub(super) fn hint_for_line(line: &str) -> Option<&'static str> {
    let is_word = |word: &str| {
        let mut parts = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        parts.any(|part| part == word)
    };
    let stands = |written: &str| match written {
        "function" => is_word(written),
        "!==" | "===" => line.contains(written),
        other => line.contains(other),
    };
    let hint = SYNTAX_HINTS.iter().find(|(written, _)| stands(written)).map(|(_, hint)| *hint);
    hint.or_else(|| ["null", "undefined", "nil"].into_iter().any(is_word).then_some(NULL_HINT))
}

/// Hint for `null`, `undefined` and `nil`.
pub(super) const NULL_HINT: &str = "write () for no value";

/// Hint for a text in single quotes.
pub(super) const QUOTES_HINT: &str = "write a string in double quotes; single quotes are for one character";

/// Returns the counterpart of a name of another language.
pub(super) fn hint_for_name(name: &str) -> Option<NameHint> {
    let (_, ours) = NAME_HINTS.iter().find(|(theirs, _)| *theirs == name)?;
    Some(NameHint::Counterpart((*ours).to_owned()))
}
