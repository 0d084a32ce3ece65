//! Presets: prompt settings, samplers, templates, regex scripts and similar JSON files. Each kind has its own format.
//! The folder of a file tells its kind, otherwise its keys do.

use serde_json::{Map, Value};

use super::{FindingDetail, ImportFinding, scripts, text};

/// Keys that identify a kind. Kinds whose files also contain keys of other kinds come first.
const KIND_KEYS: [(&str, &[&str]); 10] = [
    ("openai", &["prompts", "prompt_order", "openai_max_context", "chat_completion_source"]),
    ("regex", &["findRegex"]),
    ("quickReplies", &["qrList", "quickReplySlots"]),
    ("group", &["activation_strategy", "disabled_members"]),
    ("theme", &["main_text_color", "blur_tint_color"]),
    ("instruct", &["input_sequence", "output_sequence"]),
    ("context", &["story_string"]),
    ("novel", &["tail_free_sampling", "phrase_rep_pen"]),
    ("textgen", &["mirostat_mode", "typical_p", "temperature_last"]),
    ("kobold", &["rep_pen_slope", "sampler_order"]),
];

/// Keys that identify small templates. A template has all of them.
const TEMPLATE_KEYS: [(&str, &[&str]); 2] =
    [("reasoning", &["prefix", "suffix", "separator"]), ("sysprompt", &["name", "content"])];

/// Maximum number of keys in such a template.
const MAX_TEMPLATE_KEYS: usize = 6;

/// Fields that can contain secrets.
const SECRET_FIELDS: [&str; 4] = ["proxy_password", "custom_include_headers", "api_key", "mancer_api_key"];

/// Removes secrets from a preset that is exported with something else.
pub fn remove_secrets(body: &mut Map<String, Value>) {
    for key in SECRET_FIELDS {
        body.shift_remove(key);
    }
}

/// Why a file is not a preset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PresetImportError {
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// Valid JSON, but not objects.
    #[error("it is JSON, but not a preset")]
    NoPreset,
    /// Its keys do not identify a kind.
    #[error("the file does not show which kind of preset it is")]
    NoKind,
}

impl PresetImportError {
    /// Returns advice for the user.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::NotJson(_) => "export the preset again from the program that it comes from",
            Self::NoPreset => "send a preset as it was exported, or a list of regex scripts",
            Self::NoKind => "state the kind of preset in kind",
        }
    }
}

/// Returns the presets in a file. Most files have one; regex scripts also come as a list.
///
/// # Errors
/// Returns an error if the file is not JSON, or not an object or a list of objects.
pub fn read(file: &[u8]) -> Result<Vec<Map<String, Value>>, PresetImportError> {
    let not_json = |error: &dyn std::fmt::Display| PresetImportError::NotJson(error.to_string());
    let text = text::decode(file).map_err(|error| not_json(&error))?;
    let all = match text::parse_json_lenient(&text).map_err(|error| not_json(&error))? {
        Value::Array(list) => list,
        one => vec![one],
    };
    let object = |value| if let Value::Object(body) = value { Ok(body) } else { Err(PresetImportError::NoPreset) };
    let all: Vec<_> = all.into_iter().map(object).collect::<Result<_, _>>()?;
    if all.is_empty() { Err(PresetImportError::NoPreset) } else { Ok(all) }
}

/// Detects the kind of a preset by its keys. Returns `None` if they do not identify one.
pub fn kind_of(body: &Map<String, Value>) -> Option<&'static str> {
    let has = |key: &&str| body.contains_key(*key);
    let by_mark = KIND_KEYS.iter().find(|(_, marks)| marks.iter().any(has));
    let is_small = body.len() <= MAX_TEMPLATE_KEYS;
    let template = || TEMPLATE_KEYS.iter().filter(|_| is_small).find(|(_, keys)| keys.iter().all(has));
    by_mark.or_else(template).map(|(kind, _)| *kind)
}

/// Returns the name written in a preset.
pub fn embedded_name(body: &Map<String, Value>) -> Option<&str> {
    let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty());
    text("scriptName").or_else(|| text("name"))
}

/// Returns the findings for a preset of a kind.
pub fn import_findings(kind: &str, body: &Map<String, Value>) -> Vec<ImportFinding> {
    // What the preset itself does.
    let mut findings = vec![match kind {
        "regex" if scripts::is_for_display(body) => ImportFinding::works(&FindingDetail::OwnDisplayScript {}),
        "regex" => ImportFinding::works(&FindingDetail::OwnPromptScript {}),
        "variables" => ImportFinding::works(&FindingDetail::OwnVariables {}),
        _ => ImportFinding::kept(&FindingDetail::UnsupportedPreset { kind: kind.to_owned() }),
    }];
    // Its regex scripts, its models and its secrets.
    let extensions = body.get("extensions");
    findings.extend(scripts::script_findings(extensions.and_then(|extensions| extensions.get("regex_scripts"))));
    let models = extensions.and_then(|extensions| extensions.get("clotho")?.get("models")?.as_array());
    if let Some(models) = models.filter(|models| !models.is_empty() && kind == "openai") {
        let names: Vec<&str> = models.iter().filter_map(Value::as_str).collect();
        findings.push(ImportFinding::works(&FindingDetail::PresetModels { models: names.join(", ") }));
    }
    let told = |key: &&&str| body.get(**key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let secrets: Vec<&str> = SECRET_FIELDS.iter().filter(told).copied().collect();
    if !secrets.is_empty() {
        let detail = FindingDetail::PresetSecrets { count: secrets.len(), fields: secrets.join(", ") };
        findings.push(ImportFinding::kept(&detail));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn preset_kind_is_detected_by_keys() {
        let check = |body: Value, kind: Option<&str>| assert_eq!(kind_of(body.as_object().unwrap()), kind, "{body}");
        check(json!({"temperature": 1, "prompts": []}), Some("openai"));
        check(json!({"scriptName": "a", "findRegex": "/a/g"}), Some("regex"));
        check(json!({"version": 2, "name": "a", "qrList": []}), Some("quickReplies"));
        check(json!({"members": [], "activation_strategy": 0}), Some("group"));
        check(json!({"name": "Dusk", "main_text_color": "red"}), Some("theme"));
        check(json!({"input_sequence": "### In:", "output_sequence": "### Out:", "name": "a"}), Some("instruct"));
        check(json!({"story_string": "{{description}}", "name": "a"}), Some("context"));
        check(json!({"temperature": 1, "tail_free_sampling": 0.9}), Some("novel"));
        check(json!({"temp": 1, "rep_pen": 1, "mirostat_mode": 0, "sampler_order": []}), Some("textgen"));
        check(json!({"temp": 1, "rep_pen": 1, "rep_pen_slope": 0, "sampler_order": []}), Some("kobold"));
        check(json!({"name": "a", "prefix": "<think>", "suffix": "</think>", "separator": ""}), Some("reasoning"));
        check(json!({"name": "a", "content": "Write."}), Some("sysprompt"));
        check(json!({"name": "a", "description": "A cartographer."}), None);
        check(json!({}), None);
    }

    #[test]
    fn preset_file_single_or_list_is_read() {
        assert_eq!(read(b"{\"a\": 1}").unwrap().len(), 1);
        assert_eq!(read("\u{feff}[{}, {}]".as_bytes()).unwrap().len(), 2);
        for none in [&b"[]"[..], b"5", b"[1]"] {
            assert_eq!(read(none), Err(PresetImportError::NoPreset));
        }
        assert!(matches!(read(b"{\"a\": "), Err(PresetImportError::NotJson(_))));
    }

    #[test]
    fn preset_embedded_name_is_read() {
        let check =
            |body: Value, name: Option<&str>| assert_eq!(embedded_name(body.as_object().unwrap()), name, "{body}");
        check(json!({"name": " Dusk "}), Some("Dusk"));
        check(json!({"scriptName": "Trim", "name": "x"}), Some("Trim"));
        check(json!({"name": " "}), None);
    }
}
