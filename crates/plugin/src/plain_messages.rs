//! Rewrites messages of deserialisers for plugin authors: without internal type names, and with a suggestion for an
//! unknown word.

use super::suggest::did_you_mean;

/// Rewrites the error of a file to one plain sentence.
pub(super) fn plain_message(message: &str) -> String {
    let message = message.trim().replace('\n', "; ");
    let unknown =
        [("unknown field `", "there is no \"", "\" here"), ("unknown variant `", "\"", "\" is not known here")];
    for (theirs, before, behind) in unknown {
        if let Some((name, names)) = message.strip_prefix(theirs).and_then(|rest| rest.split_once('`')) {
            // Names are between backticks; the text around them is grammar.
            let names: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
            let there = if names.is_empty() { String::new() } else { format!("; there are {}", quoted_list(&names)) };
            return format!("{before}{name}{behind}{}{there}", did_you_mean(name, names));
        }
    }
    if let Some(name) = message.strip_prefix("missing field `") {
        return format!("\"{}\" is missing", name.trim_end_matches('`'));
    }
    let wrong = ["invalid type: ", "invalid value: "].into_iter().find_map(|theirs| message.strip_prefix(theirs));
    match wrong.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, expected)) => format!("expected {}, not {}", expected_kind(expected), found_value(found)),
        None => message.replace('`', "\""),
    }
}

fn quoted_list(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// Names the expected kind in plain words.
fn expected_kind(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a string" => "a string".to_owned(),
        "a boolean" | "bool" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") || other.starts_with("a spanned") => "a table".to_owned(),
        other => other.replace('`', "\""),
    }
}

/// Names the found value in plain words.
fn found_value(found: &str) -> String {
    let strip = |kind: &str| found.strip_prefix(kind).map(|rest| rest.trim_matches('`').to_owned());
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => ["integer ", "floating point ", "boolean "]
            .into_iter()
            .find_map(strip)
            .or_else(|| found.strip_prefix("string ").map(|text| format!("the string {text}")))
            .unwrap_or_else(|| found.replace('`', "\"")),
    }
}

/// Replaces Rhai's type names with plain words.
pub(super) fn plain_types(text: &str) -> String {
    let text = text.replace("&str | ImmutableString | String", "text");
    let mut out = String::new();
    for part in text.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_')) {
        let word = part.trim_end_matches(|c: char| !(c.is_alphanumeric() || c == '_'));
        let rest = part.get(word.len()..).unwrap_or_default();
        out.push_str(match word {
            "i64" | "f64" => "number",
            "ImmutableString" | "string" | "char" => "text",
            "array" => "list",
            "bool" => "true/false",
            "Fn" => "function",
            other => other,
        });
        out.push_str(rest);
    }
    out.replace("()", "nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_message_hides_internal_type_names() {
        let check = |message: &str, plain: &str| assert_eq!(plain_message(message), plain);
        check(
            "unknown field `licence`, expected one of `id`, `license`",
            "there is no \"licence\" here (did you mean \"license\"?); there are \"id\", \"license\"",
        );
        check("unknown field `x`, there are no fields", "there is no \"x\" here");
        check(
            "unknown variant `int`, expected `integer` or `text`",
            "\"int\" is not known here; there are \"integer\", \"text\"",
        );
        check("missing field `id`", "\"id\" is missing");
        check("invalid type: integer `12`, expected a string", "expected a string, not 12");
        check("invalid type: string \"ab\", expected a sequence", "expected a list, not the string \"ab\"");
        check("invalid value: integer `-1`, expected u64", "expected a whole number from 0, not -1");
        check("invalid type: sequence, expected struct RawNode", "expected a table, not a list");
        check("duplicate key", "duplicate key");
        let given = plain_types("(Ctx, &str | ImmutableString | String, i64, (), array)");
        assert_eq!(given, "(Ctx, text, number, nothing, list)");
    }
}
