//! Repairs of models' tool arguments: names in another spelling, and trailing commas. Only unambiguous errors are
//! repaired, and each repair of a name is reported. Pure.

use serde_json::Value;

/// Parses JSON that may have trailing commas.
///
/// # Errors
/// Returns an error if it is invalid for another reason.
pub fn parse_lenient(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match without_trailing_commas(text) {
        Some(mended) => serde_json::from_str(&mended).map_err(|_| error),
        None => Err(error),
    })
}

/// Removes trailing commas; `None` if there are none.
fn without_trailing_commas(text: &str) -> Option<String> {
    let mut output = String::with_capacity(text.len());
    // A comma and the whitespace after it, until something else follows.
    let mut pending = String::new();
    let (mut is_quoted, mut is_escaped, mut is_mended) = (false, false, false);
    for c in text.chars() {
        if is_quoted {
            output.push(c);
            is_quoted = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            continue;
        }
        let is_after = c == ',' && pending.is_empty() && !output.trim_end().ends_with(['{', '[', ',', ':']);
        if is_after || (c.is_whitespace() && !pending.is_empty()) {
            pending.push(c);
            continue;
        }
        if matches!(c, '}' | ']') && !pending.is_empty() {
            is_mended = true;
            pending.remove(0);
        }
        output.push_str(&pending);
        pending.clear();
        output.push(c);
        is_quoted = c == '"';
    }
    output.push_str(&pending);
    is_mended.then_some(output)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lenient_json_trailing_comma_parses() {
        for (text, expected) in [
            (r#"{"item": "ring", }"#, json!({"item": "ring"})),
            ("{\"list\": [1, 2,\n ],}", json!({"list": [1, 2]})),
            (r#"{"said": "a,} \",]", "n": 1,}"#, json!({"said": "a,} \",]", "n": 1})),
            (r#"{"a": "\\",}"#, json!({"a": "\\"})),
            ("[]", json!([])),
        ] {
            assert_eq!(parse_lenient(text).unwrap(), expected, "{text}");
        }
        for bad in ["{,}", "[1,,]", "{\"a\" 1,}", "[1,", ",", "{\"a\": 1,}}", "nonsense"] {
            assert!(parse_lenient(bad).is_err(), "{bad}");
        }
        let said = parse_lenient("{\"a\" 1,}").unwrap_err().to_string();
        assert_eq!(said, serde_json::from_str::<Value>("{\"a\" 1,}").unwrap_err().to_string(), "of what was written");
    }
}
