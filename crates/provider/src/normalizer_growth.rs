//! How much a tokenizer may lengthen a text before it splits it. Each step of a normalizer can replace one character by
//! many, and the steps multiply: a small file could ask for more memory than there is.

use serde::Deserialize;
use serde_json::Value;

/// Most bytes that a tokenizer may make of one byte. Those of real models make three.
const MAX_GROWTH: usize = 256;
/// Bytes that a step of Unicode makes of one at most: some ligatures have eighteen letters.
const UNICODE_GROWTH: usize = 18;
/// Most steps inside each other.
const MAX_DEPTH: usize = 8;

/// The part of a `tokenizer.json` that changes a text. The vocabulary is skipped.
#[derive(Deserialize)]
struct TextSteps {
    #[serde(default)]
    normalizer: Option<Value>,
    #[serde(default)]
    pre_tokenizer: Option<Value>,
}

/// Checks that a tokenizer makes no long text of a short one.
///
/// # Errors
/// Returns an error if it does, or if the file is not JSON.
pub(super) fn check(file: &[u8]) -> Result<(), String> {
    let steps: TextSteps = serde_json::from_slice(file).map_err(|error| error.to_string())?;
    let steps = [steps.normalizer, steps.pre_tokenizer];
    let growth = steps.iter().flatten().map(|step| growth_of(step, MAX_DEPTH));
    match growth.fold(1_usize, usize::saturating_mul) {
        0..=MAX_GROWTH => Ok(()),
        growth => Err(format!("its normalizer makes a text up to {growth} times as long, the limit is {MAX_GROWTH}")),
    }
}

/// Returns how many bytes a step makes of one at most. `depth`: of the steps inside it.
fn growth_of(step: &Value, depth: usize) -> usize {
    let Some(inside) = depth.checked_sub(1) else { return usize::MAX };
    let list = ["normalizers", "pretokenizers"].iter().find_map(|key| step.get(key)?.as_array());
    if let Some(list) = list {
        return list.iter().map(|step| growth_of(step, inside)).fold(1, usize::saturating_mul);
    }
    let text_bytes = |value: Option<&Value>| value.and_then(Value::as_str).map_or(0, str::len);
    match step.get("type").and_then(Value::as_str).unwrap_or_default() {
        "Replace" => match step.pointer("/pattern/String").and_then(Value::as_str).map(str::len) {
            Some(found) if found > 0 => text_bytes(step.get("content")).div_ceil(found).max(1),
            // A regular expression can match between any two characters.
            _ => text_bytes(step.get("content")) + 1,
        },
        "Prepend" => text_bytes(step.get("prepend")) + 1,
        "NFKC" | "NFKD" | "NFC" | "NFD" | "Precompiled" | "BertNormalizer" | "Nmt" => UNICODE_GROWTH,
        "Lowercase" => 3,
        // A byte becomes a letter of two bytes, a blank a sign of three.
        "ByteLevel" | "Metaspace" => 3,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check_steps(normalizer: &Value, pre_tokenizer: &Value) -> Result<(), String> {
        check(json!({"normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "model": {}}).to_string().as_bytes())
    }

    fn replace(pattern: &str, content: &str) -> Value {
        json!({"type": "Replace", "pattern": {"String": pattern}, "content": content})
    }

    /// The steps of real models: Llama 2, Llama 3, T5 and BERT.
    #[test]
    fn normalizer_growth_of_real_models_is_allowed() {
        let llama =
            json!({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")]});
        check_steps(&llama, &Value::Null).unwrap();
        let split = json!({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "x"}},
            {"type": "ByteLevel"}]});
        check_steps(&Value::Null, &split).unwrap();
        let t5 = json!({"type": "Sequence", "normalizers": [{"type": "Precompiled"}, replace(" {2,}", "▁")]});
        check_steps(&t5, &json!({"type": "Metaspace", "replacement": "▁"})).unwrap();
        check_steps(&json!({"type": "BertNormalizer"}), &json!({"type": "BertPreTokenizer"})).unwrap();
    }

    #[test]
    fn normalizer_growth_that_multiplies_is_refused() {
        let doubling: Vec<Value> = (0..9).map(|_| replace("a", "aa")).collect();
        let error = check_steps(&json!({"type": "Sequence", "normalizers": doubling}), &Value::Null).unwrap_err();
        assert!(error.contains("512 times"), "{error}");
        check_steps(&json!({"type": "Sequence", "normalizers": doubling[1..]}), &Value::Null).unwrap();
        let regex = json!({"type": "Replace", "pattern": {"Regex": ""}, "content": "x".repeat(300)});
        assert!(check_steps(&regex, &Value::Null).is_err());
        let mut nested = json!({"type": "Lowercase"});
        for _ in 0..MAX_DEPTH {
            nested = json!({"type": "Sequence", "normalizers": [nested]});
        }
        assert!(check_steps(&nested, &Value::Null).is_err());
    }
}
