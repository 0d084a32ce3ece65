//! Imports SillyTavern personas from `settings.json` or from a persona backup. Both identify a persona by the file name
//! of its avatar.

use serde_json::{Map, Value, json};

use super::{FindingDetail, ImportFinding, text};

/// Maximum file size in bytes. `settings.json` contains much more than personas.
pub const MAX_FILE_BYTES: usize = 16 << 20;
/// Maximum number of personas in one file.
const MAX_PERSONAS: usize = 1_000;

/// An imported persona, converted to the format of this program.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedPersona {
    /// The avatar's file name, which identifies the persona in the source program.
    pub file: String,
    /// Whether it has a name. A persona without a name gets the file name as its name.
    pub is_named: bool,
    /// Whether it was the default persona for new chats.
    pub is_default: bool,
    /// File names of the cards that it was bound to.
    pub bound_cards: Vec<String>,
    /// The persona as stored (`docs/api.md`). Unknown fields are in its `metadata`.
    pub card: Map<String, Value>,
    pub findings: Vec<ImportFinding>,
}

/// Why no personas could be read from a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PersonaError {
    #[error("the file has more than {MAX_FILE_BYTES} bytes")]
    TooLong,
    #[error("the file has more than {MAX_PERSONAS} personas")]
    TooMany,
    /// The file cannot be decoded as text.
    #[error("this is not a file of personas: {0}")]
    NoText(#[from] text::TextDecodeError),
    #[error("the personas are not JSON: {0}")]
    NotJson(String),
    /// Valid JSON without personas.
    #[error("this is not a file of personas: it contains none")]
    None,
}

impl PersonaError {
    /// Returns advice for the user.
    pub const fn hint(&self) -> &'static str {
        "send settings.json, or a backup of personas"
    }
}

/// Reads the personas of a file.
///
/// # Errors
/// Returns an error if the file is too large, is not JSON, or contains no personas or too many.
pub fn read(file: &[u8]) -> Result<Vec<ImportedPersona>, PersonaError> {
    if file.len() > MAX_FILE_BYTES {
        return Err(PersonaError::TooLong);
    }
    let text = text::decode(file)?;
    from_value(&text::parse_json_lenient(&text).map_err(|error| PersonaError::NotJson(error.to_string()))?)
}

/// Reads personas from parsed settings or a parsed backup.
///
/// # Errors
/// Returns an error if there are no personas or too many.
pub fn from_value(value: &Value) -> Result<Vec<ImportedPersona>, PersonaError> {
    let home = value.get("power_user").unwrap_or(value);
    let names = home.get("personas").and_then(Value::as_object).filter(|names| !names.is_empty());
    let names = names.ok_or(PersonaError::None)?;
    if names.len() > MAX_PERSONAS {
        return Err(PersonaError::TooMany);
    }
    let about = |file: &str| home.get("persona_descriptions").and_then(|all| all.get(file));
    let default = home.get("default_persona").and_then(Value::as_str);
    let is_default = |file: &str| default == Some(file);
    Ok(names.iter().map(|(file, name)| convert_persona(file, name, about(file), is_default(file))).collect())
}

fn convert_persona(file: &str, name: &Value, about: Option<&Value>, is_default: bool) -> ImportedPersona {
    let mut findings = Vec::new();
    let own = name.as_str().map(str::trim).filter(|name| !name.is_empty());
    let name = own.unwrap_or(file);
    let mut about = match about {
        Some(Value::Object(about)) => about.clone(),
        // Older files contain only the text.
        Some(Value::String(words)) => Map::from_iter([("description".to_owned(), words.clone().into())]),
        _ => Map::new(),
    };
    let description = about.shift_remove("description").unwrap_or_default();
    let description = description.as_str().unwrap_or_default().replace('\0', "");
    if about.get("position").and_then(Value::as_u64).is_some_and(|position| position != 0) {
        findings.push(ImportFinding::translated(&FindingDetail::PersonaPosition {}));
    }
    if about.get("lorebook").and_then(Value::as_str).is_some_and(|book| !book.is_empty()) {
        findings.push(ImportFinding::kept(&FindingDetail::PersonaLorebookName {}));
    }
    let bound = bound_card_files(&about);
    if !bound.is_empty() {
        findings.push(ImportFinding::kept(&FindingDetail::PersonaBound { count: bound.len() }));
    }
    let mut kept = Map::from_iter([("file".to_owned(), file.into()), ("about".to_owned(), about.into())]);
    if is_default {
        kept.insert("isDefault".to_owned(), true.into());
        findings.push(ImportFinding::works(&FindingDetail::DefaultPersona {}));
    }
    let card = json!({
        "name": name.replace('\0', ""),
        "description": description,
        "metadata": {"sillytavern": kept},
    });
    let card = card.as_object().cloned().unwrap_or_default();
    ImportedPersona { file: file.to_owned(), is_named: own.is_some(), is_default, bound_cards: bound, card, findings }
}

/// Returns the files of the cards that a persona is bound to. SillyTavern also binds personas to groups; those are
/// ignored.
fn bound_card_files(about: &Map<String, Value>) -> Vec<String> {
    let all = about.get("connections").and_then(Value::as_array).into_iter().flatten();
    let cards = all.filter(|one| one.get("type").and_then(Value::as_str) == Some("character"));
    cards.filter_map(|one| one.get("id")?.as_str()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn persona_settings_or_backup_is_read() {
        let own = json!({
            "personas": {"a.png": " Ann ", "b.png": "", "c.png": "Cid"},
            "persona_descriptions": {
                "a.png": {
                    "description": "A smith.", "position": 4, "depth": 2, "lorebook": "Atlas",
                    "connections": [{"type": "character", "id": "Ivo.png"}, {"type": "group", "id": "1"}],
                },
                "c.png": "Old.",
            },
            "default_persona": "a.png",
        });
        for file in [own.clone(), json!({"power_user": own, "other": 1})] {
            let read = read(file.to_string().as_bytes()).unwrap();
            let told: Vec<(&Value, &Value)> =
                read.iter().map(|one| (&one.card["name"], &one.card["description"])).collect();
            let (ann, file, cid) = (json!("Ann"), json!("b.png"), json!("Cid"));
            let (smith, none, old) = (json!("A smith."), json!(""), json!("Old."));
            assert_eq!(told, [(&ann, &smith), (&file, &none), (&cid, &old)]);
            assert_eq!(read[0].card["metadata"]["sillytavern"]["about"]["depth"], 2);
            assert_eq!(
                read[0].findings.iter().map(|one| one.code).collect::<Vec<_>>(),
                ["persona_position", "persona_lorebook", "persona_bound", "persona_default"]
            );
            assert_eq!(
                (&read[0].bound_cards[..], read[0].is_default, read[1].is_named),
                (&["Ivo.png".into()][..], true, false)
            );
            assert_eq!(read[0].card["metadata"]["sillytavern"]["isDefault"], true);
        }
    }

    #[test]
    fn persona_file_without_personas_returns_error() {
        for (file, words) in [
            (&b"{}"[..], "contains none"),
            (b"{\"personas\": {}}", "contains none"),
            (b"[", "not JSON"),
            (b"\xff", "UTF-8"),
        ] {
            let error = read(file).unwrap_err();
            assert!(error.to_string().contains(words) && !error.hint().is_empty(), "{error}");
        }
        let many: Map<String, Value> = (0..=MAX_PERSONAS).map(|n| (n.to_string(), "x".into())).collect();
        assert_eq!(read(json!({"personas": many}).to_string().as_bytes()), Err(PersonaError::TooMany));
    }
}
