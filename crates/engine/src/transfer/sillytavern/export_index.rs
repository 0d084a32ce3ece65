//! Reads the index that an export of Clotho wrote into the folder (`transfer/out/export_index.rs`). It lists each
//! file with its hash and the id of its item, and extra data of each session. An unchanged file whose item still
//! exists is not imported again. On another server the index says which chats are one story, and gives its settings,
//! HEAD and labels.
//!
//! The index is untrusted like all else in the folder. It only says where to look; ownership is checked in the store.
//! Session data is taken as far as a session allows it.

use std::collections::HashMap;

use serde_json::{Map, Value};
use uuid::Uuid;

use clotho_compat::interop::text;
use clotho_core::ids::{CharacterId, PresetId, SessionId};
use clotho_core::json_scan::{self, JsonBounds};
use clotho_store::{CharacterCard, SessionPresence, StoreReader};

use super::super::cards::{CharacterImport, is_same_character, lorebook_of};
use super::super::import::ImportError;
use super::ForeignImport;
use super::data_folder::{ChatFolder, DataFolder};
use super::import_match::ImportableId;
use super::scan::ChatScan;

/// Characters read per page.
const PAGE: i64 = 100;
/// The key prefix of presets that make prompts.
const PROMPTS: &str = "openai/";
/// The bounds of the index. It describes every file and session of a person, so it may have more values than others.
const BOUNDS: JsonBounds = JsonBounds { memory: 256 << 20, growth: 0, ..JsonBounds::DOCUMENT };
/// The most labels taken for a session.
const MOST_LABELS: usize = 1_000;

/// The files and sessions that an export of Clotho wrote.
#[derive(Debug, Default)]
pub struct ExportIndex {
    files: HashMap<String, (String, Uuid)>,
    sessions: HashMap<Uuid, ExportIndexSession>,
}

/// The session data that its chat files do not contain.
#[derive(Debug, Clone, Default)]
pub struct ExportIndexSession {
    pub settings: Map<String, Value>,
    pub head: Option<ChatFilePosition>,
    /// Each with its name, whether it is following, and its position.
    pub labels: Vec<(String, bool, ChatFilePosition)>,
}

/// A message of a chat file, counted from 1; 0 is before the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatFilePosition {
    /// The source key of the file.
    pub file: String,
    pub message: u64,
}

impl ExportIndexSession {
    fn from_json(value: &Value) -> Self {
        let labels = value.get("labels").and_then(Value::as_array).into_iter().flatten();
        let label = |label: &Value| {
            let following = label.get("isFollowing")?.as_bool()?;
            Some((label.get("name")?.as_str()?.to_owned(), following, ChatFilePosition::from_json(label)?))
        };
        Self {
            settings: value.get("settings").and_then(Value::as_object).cloned().unwrap_or_default(),
            head: value.get("head").and_then(ChatFilePosition::from_json),
            labels: labels.filter_map(label).take(MOST_LABELS).collect(),
        }
    }

    /// Returns the message numbers that HEAD and labels name in a file.
    pub fn positions_in(&self, file: &str) -> Vec<u64> {
        let all = self.labels.iter().map(|(.., spot)| spot).chain(&self.head);
        all.filter(|spot| spot.file == file).map(|spot| spot.message).collect()
    }
}

impl ChatFilePosition {
    fn from_json(value: &Value) -> Option<Self> {
        Some(Self { file: value.get("file")?.as_str()?.to_owned(), message: value.get("message")?.as_u64()? })
    }
}

impl ExportIndex {
    /// Whether no exported file is known.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Reads the index of a folder; without an index file it is empty.
    ///
    /// # Errors
    /// Returns an error if the index cannot be read completely. The import must stop then: without the index,
    /// stories that begin alike would be merged permanently.
    pub fn read(root: &DataFolder) -> Result<Self, ImportError> {
        let Some(place) = &root.export_index else { return Ok(Self::default()) };
        let bad = |why: String| ImportError::BadList(why);
        let bytes =
            place.as_ref().map_err(|why| bad(why.to_string()))?.read().map_err(|error| bad(error.to_string()))?;
        let text = text::decode(&bytes).map_err(|error| bad(error.to_string()))?;
        json_scan::check_bounds(&text, BOUNDS).map_err(|error| bad(error.to_string()))?;
        let value: Value = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        Self::from_json(&value).ok_or_else(|| bad("it is not an export index".to_owned()))
    }

    /// Parses the index; `None` if any part of it is invalid.
    fn from_json(value: &Value) -> Option<Self> {
        let all = |key: &str| value.get(key).and_then(Value::as_object);
        let file = |(name, file): (&String, &Value)| {
            let text = |key: &str| file.get(key).and_then(Value::as_str);
            Some((name.clone(), (text("hash")?.to_owned(), text("is")?.parse().ok()?)))
        };
        let story = |(id, entry): (&String, &Value)| Some((id.parse().ok()?, ExportIndexSession::from_json(entry)));
        Some(Self {
            files: all("files")?.into_iter().map(file).collect::<Option<_>>()?,
            sessions: all("sessions")?.into_iter().map(story).collect::<Option<_>>()?,
        })
    }

    /// Returns the id of the item that was exported as this file, if the hash matches.
    pub fn exported_id(&self, name: &str, hash: &blake3::Hash) -> Option<Uuid> {
        let (listed, is) = self.files.get(name)?;
        (*listed == hash.to_hex().as_str()).then_some(*is)
    }

    /// Whether a file is unchanged since its export, from this server or another.
    pub fn has(&self, name: &str, hash: &blake3::Hash) -> bool {
        self.exported_id(name, hash).is_some()
    }

    /// Whether the index lists a file, changed or not.
    pub fn lists_file(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Returns the session to which a chat file belonged, even if the file has grown since.
    pub fn story_of(&self, name: &str) -> Option<Uuid> {
        self.files.get(name).map(|(_, is)| *is).filter(|is| self.sessions.contains_key(is))
    }

    /// Returns the source key under which a preset that makes prompts was exported.
    fn preset(&self, is: Uuid) -> Option<&str> {
        let mut files = self.files.iter().filter(|(_, (_, one))| *one == is);
        files.find(|(name, _)| name.starts_with(PROMPTS)).map(|(name, _)| name.as_str())
    }

    /// Returns the exported data of a session.
    pub fn story(&self, id: Uuid) -> Option<&ExportIndexSession> {
        self.sessions.get(&id)
    }
}

impl ForeignImport<'_> {
    /// Returns the owner's item that was exported as this file, if both still match, and counts it as known.
    pub async fn existing_export<Id: ImportableId>(
        &mut self,
        name: &str,
        hash: &blake3::Hash,
    ) -> Result<Option<Id>, ImportError> {
        let Some(id) = self.export_index.exported_id(name, hash).and_then(|id| Id::from_slice(id.as_bytes())) else {
            return Ok(None);
        };
        let owner = self.options.owner;
        let stored = self.store.read(move |reader| Ok::<_, ImportError>(id.held(reader, owner)?)).await?;
        self.result.totals.known += u64::from(stored.is_some());
        Ok(stored.map(|stored| stored.id))
    }

    /// Replaces the preset id in exported settings by its id here; removes it if there is none.
    pub async fn choose_preset(&self, settings: &mut Map<String, Value>) -> Result<(), ImportError> {
        let preset = settings.shift_remove("preset").and_then(|id| id.as_str()?.parse::<Uuid>().ok());
        let Some((id, file)) = preset.and_then(|id| Some((id, self.export_index.preset(id)?.to_owned()))) else {
            return Ok(());
        };
        let here = match self.match_item::<PresetId>(file).await?.existing_id() {
            Some(here) => Some(here),
            None => {
                let owner = self.options.owner;
                let own = move |reader: &mut StoreReader<'_>| {
                    let stored = PresetId::from_slice(id.as_bytes()).map(|id| id.held(reader, owner)).transpose()?;
                    Ok::<_, ImportError>(stored.flatten().map(|stored| stored.id))
                };
                self.store.read(own).await?
            }
        };
        settings.extend(here.map(|here| ("preset".to_owned(), here.to_string().into())));
        Ok(())
    }

    /// Whether a group is an unchanged export of a preset or session that still exists here.
    pub async fn is_same_group(&mut self, name: &str, hash: &blake3::Hash) -> Result<bool, ImportError> {
        if self.existing_export::<PresetId>(name, hash).await?.is_some() {
            return Ok(true);
        }
        let Some(id) = self.export_index.exported_id(name, hash).and_then(|id| SessionId::from_slice(id.as_bytes()))
        else {
            return Ok(false);
        };
        let owner = self.options.owner;
        let place = self.store.read(move |reader| Ok::<_, ImportError>(reader.session_presence(owner, id)?)).await?;
        self.result.totals.known += u64::from(place != SessionPresence::Deleted);
        Ok(place != SessionPresence::Deleted)
    }

    /// Loads the existing characters by name: before characters of an export are imported, or when a chat has no
    /// card.
    pub async fn load_namesakes(&mut self) -> Result<(), ImportError> {
        let owner = self.options.owner;
        let read = move |reader: &mut StoreReader<'_>| {
            let (mut names, mut skip): (HashMap<String, Vec<CharacterId>>, _) = (HashMap::new(), 0);
            loop {
                let some = reader.characters(owner, skip, PAGE)?;
                if some.is_empty() {
                    return Ok::<_, ImportError>(names);
                }
                for one in some {
                    let name = one.card.get("name").and_then(Value::as_str).unwrap_or_default();
                    names.entry(name.to_owned()).or_default().push(one.id);
                }
                skip += PAGE;
            }
        };
        self.namesakes = Some(self.store.read(read).await?);
        Ok(())
    }

    /// Returns the character with this name, if exactly one has it.
    pub async fn only_namesake(&mut self, name: &str) -> Result<Option<CharacterId>, ImportError> {
        if self.namesakes.is_none() {
            self.load_namesakes().await?;
        }
        let called = self.namesakes.as_ref().and_then(|names| names.get(name));
        Ok(called.and_then(|ids| if let [only] = ids.as_slice() { Some(*only) } else { None }))
    }

    /// Returns the existing character that equals an imported one, so that both are copies of the same character.
    pub async fn equal_character(&self, import: &CharacterImport) -> Result<Option<CharacterCard>, ImportError> {
        let name = import.character.card.get("name").and_then(Value::as_str).unwrap_or_default();
        let Some(namesakes) = self.namesakes.as_ref().and_then(|names| names.get(name)).cloned() else {
            return Ok(None);
        };
        let (owner, import) = (self.options.owner, import.clone());
        let read = move |reader: &mut StoreReader<'_>| {
            for id in namesakes {
                let Some(one) = reader.character(owner, id)? else { continue };
                let files = reader.card_files(owner, id.uuid())?;
                let book = lorebook_of(&one).map(|id| reader.lorebook(owner, id)).transpose()?.flatten();
                let other = (&import.character, import.files.as_slice(), import.book.as_ref());
                if is_same_character((&one, &files, book.as_ref()), other) {
                    return Ok::<_, ImportError>(Some(one));
                }
            }
            Ok(None)
        };
        self.store.read(read).await
    }

    /// Whether a chat is an unchanged export of a session that still exists here. It is then counted as known, or
    /// reported as in the trash.
    pub async fn is_known_line(&mut self, folder: &ChatFolder, file: &ChatScan) -> Result<bool, ImportError> {
        let name = super::import_target::file_key(folder, file);
        let Some(id) =
            self.export_index.exported_id(&name, &file.hash).and_then(|id| SessionId::from_slice(id.as_bytes()))
        else {
            return Ok(false);
        };
        let owner = self.options.owner;
        let place = self.store.read(move |reader| Ok::<_, ImportError>(reader.session_presence(owner, id)?)).await?;
        match place {
            SessionPresence::Deleted => return Ok(false),
            SessionPresence::InTrash => self.skip_story(file, id),
            SessionPresence::Present => self.result.totals.unchanged += 1,
        }
        self.result.totals.chats += 1;
        self.read_progress.add_read(usize::try_from(file.file.bytes).unwrap_or(0));
        Ok(true)
    }
}
