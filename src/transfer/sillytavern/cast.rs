//! Who plays: the cards of a folder become characters, what its settings say of the user personas. A card that has changed
//! since changes its character, unless somebody has edited that here.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::ids::{CharacterId, PersonaId};
use crate::interop::{Fate, Finding};
use crate::store::{Card, CharacterCard, Source};
use crate::tree::card;

use super::super::Item;
use super::super::import::ImportError;
use super::house::Place;
use super::root::Root;
use super::{Work, unreadable};

/// Everybody who may play in a chat.
#[derive(Debug, Default)]
pub struct Cast {
    /// Characters by the file of their card, without ending.
    pub characters: HashMap<String, Player>,
    /// Personas by their file, and by their name.
    pub personas: HashMap<String, PersonaId>,
}

/// A character.
#[derive(Debug, Clone)]
pub struct Player {
    pub id: CharacterId,
    /// The chat that was open last.
    pub open_chat: Option<String>,
}

/// A card as it was read.
struct Read {
    card: Map<String, Value>,
    findings: Vec<Finding>,
    open_chat: Option<String>,
}

impl<F: FnMut(super::Progress) -> bool> Work<'_, F> {
    /// Brings the characters in.
    pub async fn characters(&mut self, root: &Root, cast: &mut Cast) -> Result<(), ImportError> {
        for place in &root.cards {
            self.go_on()?;
            let bytes = match place.read() {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.report(unreadable(&place.name, &error));
                    continue;
                }
            };
            match read(place, &bytes) {
                Ok(read) => {
                    let hash = blake3::hash(&bytes);
                    let player = self.character(place.stem(), read, Some(&hash), &place.name).await?;
                    cast.characters.insert(place.stem().to_owned(), player);
                }
                Err(why) => self.report(Item::skipped("character", place.stem(), why).from_file(&place.name)),
            }
        }
        Ok(())
    }

    /// A character for a chat whose card is not there: it has a name and nothing else.
    pub async fn stand_in(&mut self, stem: &str, cast: &mut Cast) -> Result<Player, ImportError> {
        if let Some(player) = cast.characters.get(stem) {
            return Ok(player.clone());
        }
        let message = "its card is not there: the character has only a name; import again when it is";
        let findings = vec![Finding::new(Fate::Kept, "card_missing", message)];
        let name: String = stem.chars().take(card_name()).collect();
        let card = Map::from_iter([("name".to_owned(), Value::from(name))]);
        let read = Read { card, findings, open_chat: None };
        let player = self.character(stem, read, None, "").await?;
        cast.characters.insert(stem.to_owned(), player.clone());
        Ok(player)
    }

    /// Keeps a card, or finds that it is kept already.
    async fn character(
        &mut self,
        stem: &str,
        read: Read,
        hash: Option<&blake3::Hash>,
        file: &str,
    ) -> Result<Player, ImportError> {
        let Read { card, mut findings, open_chat } = read;
        let (owner, source) = (self.wish.owner, format!("characters/{stem}"));
        let name = source.clone();
        let (known, held) = self
            .store
            .read(move |reader| {
                let known = reader.source(owner, &name)?;
                let id = known.as_ref().and_then(|known| CharacterId::from_slice(&known.became));
                let held = id.map(|id| reader.character(owner, id)).transpose()?.flatten();
                Ok::<_, ImportError>((known, held))
            })
            .await?;
        let hash = hash.map(|hash| hash.as_bytes().to_vec());
        let is_same = known.as_ref().is_some_and(|known| hash.is_none() || known.hash == hash);
        if let (Some(held), true) = (&held, is_same) {
            return Ok(Player { id: held.id, open_chat });
        }
        let at = self.wish.at;
        let shown = card.get("name").and_then(Value::as_str).unwrap_or(stem).to_owned();
        let id = held.as_ref().map_or_else(|| CharacterId::new(self.ids.next(at)), |held| held.id);
        let written = |card: &Map<String, Value>| blake3::hash(json!(card).to_string().as_bytes()).to_hex().to_string();
        let is_edited = match (&held, known.and_then(|known| known.header)) {
            (Some(held), Some(header)) => written(&held.card) != header,
            _ => false,
        };
        if is_edited {
            let message = "its file has changed, but so has the character here, which stays as it is";
            findings.push(Finding::new(Fate::Kept, "edited_here", message));
            self.report(Item::new("character", shown, id).from_file(file).with(findings));
            return Ok(Player { id, open_chat });
        }
        self.arrived.totals.characters += 1;
        self.report(
            Item::new("character", shown, id).from_file(if file.is_empty() { stem } else { file }).with(findings),
        );
        if !self.wish.is_dry {
            let is_new = held.is_none();
            let created = held.map_or(at, |held| held.created);
            let mut source = Source::new(source, id.as_bytes());
            (source.hash, source.header) = (hash, Some(written(&card)));
            let new = CharacterCard { id, card, created, updated: at };
            self.store
                .write(move |tx| {
                    if is_new {
                        tx.put_character(owner, &new)?
                    } else {
                        tx.update_character(owner, &new)?
                    }
                    tx.put_source(owner, &source)
                })
                .await?;
        }
        Ok(Player { id, open_chat })
    }

    /// Brings the personas in that the settings name.
    pub async fn personas(&mut self, root: &Root, cast: &mut Cast) -> Result<(), ImportError> {
        let Some(place) = &root.settings else { return Ok(()) };
        let read = place.read().map_err(|error| error.to_string());
        let settings: Value =
            match read.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string())) {
                Ok(settings) => settings,
                Err(why) => {
                    let why = Finding::new(Fate::Skipped, "bad_settings", format!("they cannot be read: {why}"));
                    self.report(Item::skipped("file", &place.name, why).from_file(&place.name));
                    return Ok(());
                }
            };
        let own = |key: &str| settings.get("power_user").unwrap_or(&settings).get(key).and_then(Value::as_object);
        let descriptions = own("persona_descriptions");
        for (file, name) in own("personas").into_iter().flatten() {
            let Some(name) = name.as_str().filter(|name| !name.trim().is_empty()) else { continue };
            let about = descriptions.and_then(|all| all.get(file)).cloned().unwrap_or(Value::Null);
            let id = self.persona(file, name, &about).await?;
            cast.personas.insert(file.clone(), id);
            cast.personas.entry(name.to_owned()).or_insert(id);
        }
        Ok(())
    }

    async fn persona(&mut self, file: &str, name: &str, about: &Value) -> Result<PersonaId, ImportError> {
        let (owner, at, source) = (self.wish.owner, self.wish.at, format!("personas/{file}"));
        let known = source.clone();
        let held = self
            .store
            .read(move |reader| {
                let known = reader.source(owner, &known)?.and_then(|known| PersonaId::from_slice(&known.became));
                Ok::<_, ImportError>(known.map(|id| reader.persona(owner, id)).transpose()?.flatten())
            })
            .await?;
        if let Some(held) = held {
            return Ok(held.id);
        }
        let id = PersonaId::new(self.ids.next(at));
        let description = about.get("description").and_then(Value::as_str).unwrap_or_default();
        let name: String = name.trim().chars().take(card_name()).collect();
        let card = json!({"name": name, "description": description, "metadata": {"sillytavern": {"file": file, "about": about}}});
        let Value::Object(card) = card else { return Ok(id) };
        if let Err(unfit) = card::fits(&card) {
            let why = Finding::new(Fate::Skipped, "unfit", unfit.message);
            self.report(Item::skipped("persona", name, why).from_file("settings.json"));
            return Ok(id);
        }
        self.arrived.totals.personas += 1;
        self.report(Item::new("persona", name, id).from_file("settings.json"));
        if !self.wish.is_dry {
            let (new, source) = (Card { id, card, created: at, updated: at }, Source::new(source, id.as_bytes()));
            self.store
                .write(move |tx| {
                    tx.put_persona(owner, &new)?;
                    tx.put_source(owner, &source)
                })
                .await?;
        }
        Ok(id)
    }
}

/// The longest name of a card, in characters.
fn card_name() -> usize {
    crate::tree::bounds::LONGEST_SPEAKER
}

/// Reads a card.
fn read(place: &Place, bytes: &[u8]) -> Result<Read, Finding> {
    let unread = |message: String| Finding::new(Fate::Skipped, "unreadable_card", message);
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| unread(format!("only cards in JSON are read so far: {error}")))?;
    let data = value.get("data").filter(|data| data.is_object()).unwrap_or(&value);
    let mut card = Map::new();
    let fields = [
        ("name", "name"),
        ("description", "description"),
        ("personality", "personality"),
        ("scenario", "scenario"),
        ("first_mes", "firstMessage"),
        ("mes_example", "exampleMessages"),
        ("system_prompt", "systemPrompt"),
        ("post_history_instructions", "postHistoryInstructions"),
        ("creator_notes", "creatorNotes"),
        ("alternate_greetings", "alternateGreetings"),
        ("tags", "tags"),
    ];
    for (theirs, ours) in fields {
        if let Some(field) = data.get(theirs).filter(|field| !field.is_null()) {
            card.insert(ours.into(), field.clone());
        }
    }
    if card.get("name").and_then(Value::as_str).is_none_or(|name| name.trim().is_empty()) {
        card.insert("name".into(), place.stem().into());
    }
    card::fits(&card).map_err(|unfit| unread(unfit.message))?;
    let open_chat = value.get("chat").and_then(Value::as_str).map(str::to_owned);
    Ok(Read { card, findings: Vec::new(), open_chat })
}
