//! Imports personas of other programs.

use serde_json::{Map, Value};

use clotho_compat::interop::persona::{self, PersonaError};
use clotho_compat::interop::{FindingDetail, ImportFinding};
use clotho_core::clock::{IdGenerator, Time};
use clotho_core::ids::{PersonaId, UserId};
use clotho_core::tree::card::validate_card;
use clotho_core::tree::limits::MAX_SPEAKER_CHARS;
use clotho_store::{CardFile, PersonaCard, Tx, WriteError};

use super::pictures::{picture_files, picture_url};
use super::report::{ForeignImportItem, ForeignImportReport};

/// A persona that is being imported.
#[derive(Debug, Clone)]
pub struct PersonaImport {
    pub persona: PersonaCard,
    /// Its picture and thumbnail.
    pub files: Vec<CardFile>,
    /// Its item in the report.
    pub item: ForeignImportItem,
}

/// Reads the personas of a file, with a report item for each. Invalid ones are skipped.
///
/// # Errors
/// Returns an error if the file has no personas.
pub fn read_personas(
    file: &[u8],
    name: Option<&str>,
    ids: &IdGenerator,
    now: Time,
) -> Result<(Vec<PersonaCard>, ForeignImportReport), PersonaError> {
    let (mut personas, mut report) = (Vec::new(), ForeignImportReport::default());
    for read in persona::read(file)? {
        let mut item = match new_persona(read, None, PersonaId::new(ids.next_id(now)), now) {
            Ok(PersonaImport { persona, item, .. }) => {
                personas.push(persona);
                item
            }
            Err(item) => *item,
        };
        item.file = name.map(str::to_owned);
        report.items.push(item);
    }
    Ok((personas, report))
}

/// Converts a persona that was read, with its picture if there is one.
///
/// # Errors
/// Returns the report item if the persona exceeds a limit.
pub fn new_persona(
    read: persona::ImportedPersona,
    picture: Option<Vec<u8>>,
    id: PersonaId,
    now: Time,
) -> Result<PersonaImport, Box<ForeignImportItem>> {
    let persona::ImportedPersona { mut card, mut findings, .. } = read;
    let called = card.get("name").and_then(|name| name.as_str()).unwrap_or_default();
    let called: String = called.chars().take(MAX_SPEAKER_CHARS).collect();
    card.insert("name".to_owned(), called.clone().into());
    let mut files = Vec::new();
    if let Some(bytes) = picture {
        let address = picture_url("personas", id, &bytes);
        match picture_files(bytes) {
            Ok(both) => {
                files.extend(both);
                card.insert("avatar".to_owned(), address.into());
            }
            Err(error) => {
                findings.push(ImportFinding::skipped(&FindingDetail::PersonaPicture { reason: error.to_string() }))
            }
        }
    }
    if let Err(unfit) = validate_card(&card) {
        return Err(Box::new(ForeignImportItem::skipped(
            "persona",
            called,
            ImportFinding::skipped(&FindingDetail::Invalid { reason: unfit.message }),
        )));
    }
    let persona = PersonaCard { id, card, created: now, updated: now };
    Ok(PersonaImport { persona, files, item: ForeignImportItem::new("persona", called, id).with_findings(findings) })
}

/// Returns a hash of name and description, which shows whether they were changed.
pub fn persona_fingerprint(card: &Map<String, Value>) -> blake3::Hash {
    let content = ["name", "description"].map(|key| card.get(key).cloned().unwrap_or_default());
    blake3::hash(Value::from(content.to_vec()).to_string().as_bytes())
}

impl PersonaImport {
    /// Writes the persona and its picture, as a new one or over the one with its id.
    ///
    /// # Errors
    /// Returns an error if the database fails, or there is no persona to replace.
    pub fn write(&self, tx: &mut Tx<'_>, owner: UserId, is_new: bool) -> Result<(), WriteError> {
        if is_new { tx.put_persona(owner, &self.persona) } else { tx.update_persona(owner, &self.persona) }?;
        self.files.iter().try_for_each(|file| tx.put_card_file(self.persona.id.uuid(), file))
    }
}
