//! Who plays: the cards of a folder become characters, what its settings say of the user personas. A card that has changed
//! since changes its character, unless somebody has edited that here.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::ids::{CharacterId, PersonaId};
use crate::interop::{Fate, Finding};
use crate::store::{Card, CharacterCard, Source, Tx};
use crate::tree::bounds::LONGEST_SPEAKER;
use crate::tree::card;

use super::super::Item;
use super::super::cards::{Arriving, arriving};
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

impl<F: FnMut(super::Progress) -> bool> Work<'_, F> {
    /// Brings the characters in.
    pub async fn characters(&mut self, root: &Root, cast: &mut Cast) -> Result<(), ImportError> {
        for place in &root.cards {
            self.go_on()?;
            match place.read() {
                Ok(bytes) => {
                    if let Some(player) = self.character(place, &bytes).await? {
                        cast.characters.insert(place.stem().to_owned(), player);
                    }
                }
                Err(error) => self.report(unreadable(&place.name, &error)),
            }
        }
        Ok(())
    }

    /// Keeps a card, or finds that it is kept already.
    pub(in crate::transfer) async fn character(
        &mut self,
        place: &Place,
        bytes: &[u8],
    ) -> Result<Option<Player>, ImportError> {
        let (name, hash) = (format!("characters/{}", place.stem()), blake3::hash(bytes));
        let (source, held) = self.known(&name).await?;
        let at = self.wish.at;
        let id = held.as_ref().map_or_else(|| CharacterId::new(self.ids.next(at)), |held| held.id);
        let mut arriving = match arriving(bytes, Some(&place.name), id, self.ids, at) {
            Ok(arriving) => arriving,
            Err(error) => {
                let why = Finding::new(Fate::Skipped, "no_card", error.to_string());
                self.report(Item::skipped("character", place.stem(), why).from_file(&place.name));
                return Ok(None);
            }
        };
        let player = Player { id, open_chat: arriving.open_chat.take() };
        let is_same = source.as_ref().is_some_and(|source| source.hash.as_deref() == Some(hash.as_bytes()));
        if let (Some(_), true) = (&held, is_same) {
            return Ok(Some(player));
        }
        if is_same {
            let message = "you have deleted it here: it is not brought back";
            let findings = vec![Finding::new(Fate::Skipped, "deleted_here", message)];
            self.report(Item::new("character", place.stem(), id).from_file(&place.name).with(findings));
            return Ok(None);
        }
        let is_edited = match (&held, source.and_then(|source| source.header)) {
            (Some(held), Some(header)) => mark(&held.card) != header,
            _ => false,
        };
        if is_edited {
            let message = "its file has changed, but so has the character here, which stays as it is";
            let findings = vec![Finding::new(Fate::Kept, "edited_here", message)];
            self.report(Item::new("character", place.stem(), id).from_file(&place.name).with(findings));
            return Ok(Some(player));
        }
        self.arrived.totals.characters += 1;
        std::mem::take(&mut arriving.items).into_iter().for_each(|item| self.report(item));
        let mut source = Source::new(name, id.as_bytes());
        (source.hash, source.header) = (Some(hash.as_bytes().to_vec()), Some(mark(&arriving.character.card)));
        if let Some(held) = &held {
            arriving.character.created = held.created;
        }
        self.keep_character(arriving, held.is_none(), source).await?;
        Ok(Some(player))
    }

    /// A character for a chat whose card is not there: it has a name and nothing else.
    pub async fn stand_in(&mut self, stem: &str, cast: &mut Cast) -> Result<Player, ImportError> {
        if let Some(player) = cast.characters.get(stem) {
            return Ok(player.clone());
        }
        let name: String = stem.chars().filter(|c| !c.is_control()).take(LONGEST_SPEAKER).collect();
        let name = if name.trim().is_empty() { "Somebody".to_owned() } else { name };
        let card = Map::from_iter([("name".to_owned(), Value::from(name))]);
        let message = "its card is not there: the character has only a name; import again when it is";
        let why = Finding::new(Fate::Kept, "card_missing", message);
        let id = self.somebody(&format!("characters/{stem}"), card, why).await?;
        let player = Player { id, open_chat: None };
        cast.characters.insert(stem.to_owned(), player.clone());
        Ok(player)
    }

    /// A character who is known by a name among the sources, made of a card if it is not there.
    pub(in crate::transfer) async fn somebody(
        &mut self,
        known_by: &str,
        card: Map<String, Value>,
        why: Finding,
    ) -> Result<CharacterId, ImportError> {
        let (source, held) = self.known(known_by).await?;
        let id = held.as_ref().map_or_else(|| CharacterId::new(self.ids.next(self.wish.at)), |held| held.id);
        if held.is_some() && source.is_some() {
            return Ok(id);
        }
        let name = card.get("name").and_then(Value::as_str).unwrap_or_default();
        self.report(Item::new("character", name, id).with(vec![why]));
        self.arrived.totals.characters += 1;
        let mut source = Source::new(known_by, id.as_bytes());
        source.header = Some(mark(&card));
        let at = self.wish.at;
        let character = CharacterCard { id, card, created: at, updated: at };
        let arriving = Arriving { character, files: Vec::new(), book: None, open_chat: None, items: Vec::new() };
        self.keep_character(arriving, true, source).await?;
        Ok(id)
    }

    /// What is known of a card, and the character that it has become.
    pub(in crate::transfer) async fn known(
        &self,
        name: &str,
    ) -> Result<(Option<Source>, Option<CharacterCard>), ImportError> {
        let (owner, name) = (self.wish.owner, name.to_owned());
        self.store
            .read(move |reader| {
                let source = reader.source(owner, &name)?;
                let id = source.as_ref().and_then(|source| CharacterId::from_slice(&source.became));
                let held = id.map(|id| reader.character(owner, id)).transpose()?.flatten();
                Ok((source, held))
            })
            .await
    }

    async fn keep_character(&self, arriving: Arriving, is_new: bool, source: Source) -> Result<(), ImportError> {
        if self.wish.is_dry {
            return Ok(());
        }
        let owner = self.wish.owner;
        let write = move |tx: &mut Tx<'_>| {
            if is_new {
                arriving.keep(tx, owner)?
            } else {
                arriving.replace(tx, owner)?
            }
            tx.put_source(owner, &source)
        };
        Ok(self.store.write(write).await?)
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
            let Some(name) = name.as_str().filter(|name| !name.trim().is_empty()) else {
                let why =
                    Finding::new(Fate::Skipped, "no_name", "it has no name, by which a message would say who speaks");
                self.report(Item::skipped("persona", file, why).from_file(&place.name));
                continue;
            };
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
                Ok::<_, ImportError>(
                    reader.source(owner, &known)?.and_then(|known| PersonaId::from_slice(&known.became)),
                )
            })
            .await?;
        // Also one that has been deleted here since: it is not brought back.
        if let Some(held) = held {
            return Ok(held);
        }
        let id = PersonaId::new(self.ids.next(at));
        let description = about.get("description").and_then(Value::as_str).unwrap_or_default();
        let name: String = name.trim().chars().take(LONGEST_SPEAKER).collect();
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

/// By what it is seen whether a card has been edited here since.
fn mark(card: &Map<String, Value>) -> String {
    blake3::hash(json!(card).to_string().as_bytes()).to_hex().to_string()
}
