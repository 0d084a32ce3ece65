//! Everything of a user as a folder of data that the other program opens: cards, chats and groups, lorebooks, personas, presets.
//!
//! What came in from such a folder goes back under its own name, so that it is known there and here.

use std::collections::{BTreeMap, HashMap};
use std::io::{Seek, Write};

use serde_json::{Map, Value, json};

use crate::ids::{CharacterId, LorebookId, PersonaId, UserId};
use crate::interop::card;
use crate::store::{CardFile, ExportError, Held, PersonaCard, Reader, Snapshot, Source, StoreError};

use super::super::cards::{lorebook_of, sheet};
use super::super::personas::persona_mark;
use super::super::sillytavern::{FOLDERS, LIST};
use super::cast::Cast;
use super::line::Line;
use super::lines::{End, Lines, file_name};
use super::names::{Names, is_plain, safe};
use super::shelf::{List, Shelf};
use super::sillytavern::{self, Links};

/// So many things are read at once.
const PAGE: i64 = 100;

/// How much went out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gone {
    /// Characters.
    pub characters: u64,
    /// Lorebooks that are no character's own.
    pub lorebooks: u64,
    /// Personas.
    pub personas: u64,
    /// Presets, regular expressions and groups.
    pub presets: u64,
    /// Sessions.
    pub sessions: u64,
    /// Chats: a session has one for each of its lines.
    pub chats: u64,
}

/// Writes everything of a user. `told` hears after each session how many there are so far.
///
/// # Errors
/// The database or the bytes fail.
pub fn export_all<W: Write + Seek>(
    snapshot: &mut Snapshot,
    owner: UserId,
    shelf: Shelf<W>,
    told: impl FnMut(u64),
) -> Result<(Option<W>, Gone), ExportError> {
    let mut house = House { reader: snapshot.reader(), owner, shelf, list: List::default(), gone: Gone::default() };
    let cards = house.characters()?;
    house.lorebooks(&cards)?;
    let personas = house.personas()?;
    let (groups, regex) = house.presets()?;
    let Personas { files, power_user } = personas;
    let settings = json!({"power_user": power_user, "extension_settings": {"regex": regex}});
    house.put("settings.json", settings.to_string().as_bytes())?;
    house.sessions(&cards.files, &files, groups, told)?;
    let House { mut shelf, list, gone, .. } = house;
    let text = list.text();
    shelf.put(LIST, |out| Ok(out.write_all(text.as_bytes())?))?;
    Ok((shelf.end()?, gone))
}

struct House<'a, W: Write + Seek> {
    reader: Reader<'a>,
    owner: UserId,
    shelf: Shelf<W>,
    list: List,
    gone: Gone,
}

/// The files of the cards, and which lorebooks are in them.
#[derive(Default)]
struct Cards {
    files: HashMap<CharacterId, String>,
    books: Vec<LorebookId>,
}

/// The personas by their files, and what the settings say of them.
struct Personas {
    files: HashMap<PersonaId, String>,
    power_user: Value,
}

/// Groups as they came in, by their files.
type Groups = BTreeMap<String, Map<String, Value>>;

/// A group on its way out.
#[derive(Default)]
struct Group {
    name: String,
    members: Vec<String>,
    chats: Vec<String>,
}

impl Group {
    /// Its file: what came in says how it plays.
    fn file(self, id: &str, came: Option<Map<String, Value>>) -> Value {
        let members: Vec<String> = self.members.iter().map(|member| format!("{member}.png")).collect();
        let mut group = came.unwrap_or_else(|| {
            let new = json!({
                "id": id, "name": self.name, "members": members, "avatar_url": "", "allow_self_responses": false,
                "activation_strategy": 0, "generation_mode": 0, "disabled_members": [], "fav": false,
                "chat_id": self.chats.first(),
            });
            new.as_object().cloned().unwrap_or_default()
        });
        group.insert("chats".to_owned(), self.chats.into());
        group.into()
    }
}

impl<W: Write + Seek> House<'_, W> {
    /// A small file.
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<blake3::Hash, ExportError> {
        self.shelf.put(name, |out| Ok(out.write_all(bytes)?))
    }

    /// The names under which things of a kind came in, and which they may have.
    fn came_as(&mut self, became: &[u8; 16], folder: &str) -> Result<Option<String>, StoreError> {
        let sources = self.reader.sources_of(self.owner, became)?;
        let name = sources.iter().find_map(|source| source.name.strip_prefix(folder)?.strip_prefix('/'));
        Ok(name.filter(|name| is_plain(name)).map(str::to_owned))
    }

    fn characters(&mut self) -> Result<Cards, ExportError> {
        let (mut cards, mut names, mut new) = (Cards::default(), Names::default(), Vec::new());
        self.every(
            |reader, owner, skip, most| reader.characters(owner, skip, most),
            |house, card| {
                cards.books.extend(lorebook_of(&card));
                match house.came_as(card.id.as_bytes(), "characters")?.filter(|name| names.take(name)) {
                    Some(name) => _ = cards.files.insert(card.id, name),
                    None => new
                        .push((card.id, card.card.get("name").and_then(Value::as_str).unwrap_or_default().to_owned())),
                }
                Ok(())
            },
        )?;
        cards.files.extend(new.into_iter().map(|(id, name)| (id, names.unique(&name))));
        self.every(
            |reader, owner, skip, most| reader.characters(owner, skip, most),
            |house, character| {
                let Some(name) = cards.files.get(&character.id) else { return Ok(()) };
                let files = house.reader.card_files(house.owner, character.id.uuid())?;
                let book =
                    lorebook_of(&character).map(|id| house.reader.lorebook(house.owner, id)).transpose()?.flatten();
                let path = format!("characters/{name}.png");
                let hash = house.put(&path, &card::png(&sheet(&character, &files, book.as_ref())))?;
                house.list.note(&format!("characters/{name}"), hash, character.id);
                house.gone.characters += 1;
                Ok(())
            },
        )?;
        Ok(cards)
    }

    fn lorebooks(&mut self, cards: &Cards) -> Result<(), ExportError> {
        let mut names = Names::default();
        self.every(
            |reader, owner, skip, most| reader.lorebooks(owner, skip, most),
            |house, book| {
                let came = house.came_as(book.id.as_bytes(), "worlds")?;
                if came.is_none() && cards.books.contains(&book.id) {
                    return Ok(());
                }
                let title = book.card.get("name").and_then(Value::as_str).unwrap_or_default();
                let name = names.unique(came.as_deref().unwrap_or(title));
                let path = format!("worlds/{name}.json");
                let hash = house.put(&path, json!(book.card).to_string().as_bytes())?;
                house.list.note(&format!("worlds/{name}"), hash, book.id);
                house.gone.lorebooks += 1;
                Ok(())
            },
        )
    }

    fn personas(&mut self) -> Result<Personas, ExportError> {
        let (mut files, mut names) = (HashMap::new(), Names::default());
        let (mut named, mut described, mut default) = (Map::new(), Map::new(), None);
        self.every(
            |reader, owner, skip, most| reader.personas(owner, skip, most),
            |house, persona| {
                let file = house.persona_file(&persona, &mut names)?;
                let text = |key: &str| persona.card.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                let came = persona_part(&persona, "about").and_then(Value::as_object).cloned();
                let mut about = Map::from_iter([("description".to_owned(), text("description").into())]);
                about.extend(came.unwrap_or_else(|| Map::from_iter([("position".to_owned(), json!(0))])));
                named.insert(file.clone(), text("name").into());
                described.insert(file.clone(), about.into());
                if persona_part(&persona, "isDefault") == Some(&json!(true)) {
                    default = default.take().or(Some(file.clone()));
                }
                let picture = house.reader.card_file(house.owner, persona.id.uuid(), CardFile::PICTURE)?;
                if let Some(picture) = picture {
                    house.put(&format!("User Avatars/{file}"), &picture.bytes)?;
                }
                house.list.note(&format!("personas/{file}"), persona_mark(&persona.card), persona.id);
                files.insert(persona.id, file);
                house.gone.personas += 1;
                Ok(())
            },
        )?;
        let power_user = json!({"personas": named, "persona_descriptions": described, "default_persona": default});
        Ok(Personas { files, power_user })
    }

    /// Presets go back as they came: the groups for those who write them, and what stood in the settings.
    fn presets(&mut self) -> Result<(Groups, Vec<Value>), ExportError> {
        let (mut groups, mut regex, mut names) = (Groups::new(), Vec::new(), Names::default());
        self.every(
            |reader, owner, skip, most| reader.presets(owner, None, skip, most),
            |house, head| {
                let Some(preset) = house.reader.preset(house.owner, head.id)? else { return Ok(()) };
                let body = preset.card.get("body").and_then(Value::as_object).cloned().unwrap_or_default();
                let came = house.came_as(head.id.as_bytes(), &head.kind)?;
                let name = came.unwrap_or_else(|| safe(&head.name));
                if head.kind == "group" {
                    groups.insert(name, body);
                } else if head.kind == "regex" {
                    regex.push(body.into());
                } else if let Some((folder, _)) = FOLDERS.iter().find(|(_, kind)| *kind == head.kind) {
                    let name = if names.take(&format!("{folder}/{name}")) { name } else { names.unique(&name) };
                    house.put(&format!("{folder}/{name}.json"), Value::from(body).to_string().as_bytes())?;
                }
                house.gone.presets += 1;
                Ok(())
            },
        )?;
        Ok((groups, regex))
    }

    fn persona_file(&mut self, persona: &PersonaCard, names: &mut Names) -> Result<String, StoreError> {
        let came = self.came_as(persona.id.as_bytes(), "personas")?;
        if let Some(came) = came.filter(|came| names.take(came)) {
            return Ok(came);
        }
        let name = persona.card.get("name").and_then(Value::as_str).unwrap_or_default();
        Ok(format!("{}.png", names.unique(name)))
    }

    fn sessions(
        &mut self,
        cards: &HashMap<CharacterId, String>,
        personas: &HashMap<PersonaId, String>,
        mut kept: Groups,
        mut told: impl FnMut(u64),
    ) -> Result<(), ExportError> {
        let mut names: HashMap<String, Names> = HashMap::new();
        // The names of what came in are given first, so that nothing new takes them.
        self.every(
            |reader, owner, skip, most| reader.sessions(owner, skip, most),
            |house, held| {
                for source in house.files_of(&held)? {
                    let (folder, _) = source.name.rsplit_once('/').unwrap_or_default();
                    let shared = if folder.starts_with("group chats") { "group chats" } else { folder };
                    names.entry(shared.to_owned()).or_default().take(file_name(&source.name).unwrap_or_default());
                }
                Ok(())
            },
        )?;
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        self.every(
            |reader, owner, skip, most| reader.sessions(owner, skip, most),
            |house, held| {
                house.session(&held, cards, personas, &mut names, &mut groups)?;
                house.gone.sessions += 1;
                told(house.gone.sessions);
                Ok(())
            },
        )?;
        for (id, group) in groups {
            let group = group.file(&id, kept.remove(&id));
            self.put(&format!("groups/{id}.json"), group.to_string().as_bytes())?;
        }
        // Groups without a story, too.
        for (id, group) in kept {
            self.put(&format!("groups/{id}.json"), Value::from(group).to_string().as_bytes())?;
        }
        Ok(())
    }

    /// The files of which a session was made.
    fn files_of(&mut self, held: &Held) -> Result<Vec<Source>, StoreError> {
        let mut sources = self.reader.sources_of(self.owner, held.session.id.as_bytes())?;
        sources.retain(|source| source.header.is_some() && source.node.is_some() && file_name(&source.name).is_some());
        Ok(sources)
    }

    fn session(
        &mut self,
        held: &Held,
        cards: &HashMap<CharacterId, String>,
        personas: &HashMap<PersonaId, String>,
        names: &mut HashMap<String, Names>,
        groups: &mut BTreeMap<String, Group>,
    ) -> Result<(), ExportError> {
        let sources = self.files_of(held)?;
        let cast = Cast::of(&mut self.reader, held)?.with_files(cards);
        let came = sources.iter().find_map(|source| Some(source.name.rsplit_once('/')?.0.to_owned()));
        let first = cast.characters.first().map_or("Somebody", |player| player.file.as_str());
        let group = match &came {
            Some(folder) => folder.strip_prefix("group chats/").map(str::to_owned),
            None => (cast.characters.len() > 1).then(|| held.session.id.to_string()),
        };
        let folder = if group.is_some() { "group chats".to_owned() } else { format!("chats/{}", safe(first)) };
        let lines = Lines::of(&mut self.reader, held, &sources, names.entry(folder.clone()).or_default())?;
        let persona = held.session.persona.as_ref().and_then(|persona| personas.get(&persona.id));
        for End { leaf, name } in &lines.ends {
            let Some(leaf) = self.reader.node(held, *leaf)? else { continue };
            let line = Line::whole(&mut self.reader, held, leaf)?;
            let links = Links {
                parent: lines.main().filter(|main| main != name),
                bookmarks: Some(&lines.bookmarks),
                persona: persona.map(String::as_str),
            };
            let path = format!("{folder}/{name}.jsonl");
            let reader = &mut self.reader;
            let hash = self.shelf.put(&path, |mut out| sillytavern::write(reader, &line, &cast, &links, &mut out))?;
            let key = group.as_ref().map_or(folder.clone(), |id| format!("{folder}/{id}"));
            self.list.note(&format!("{key}/{name}.jsonl"), hash, held.session.id);
            self.gone.chats += 1;
        }
        if let Some(id) = group {
            let entry = groups.entry(id).or_default();
            entry.name.clone_from(&held.session.title);
            for player in &cast.characters {
                if !entry.members.contains(&player.file) {
                    entry.members.push(player.file.clone());
                }
            }
            entry.chats.extend(lines.ends.into_iter().map(|end| end.name));
        }
        Ok(())
    }

    /// Hands everything of a kind on, page by page.
    fn every<T>(
        &mut self,
        mut page: impl FnMut(&mut Reader<'_>, UserId, i64, i64) -> Result<Vec<T>, StoreError>,
        mut each: impl FnMut(&mut Self, T) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let mut skip = 0;
        loop {
            let some = page(&mut self.reader, self.owner, skip, PAGE)?;
            if some.is_empty() {
                return Ok(());
            }
            for one in some {
                each(self, one)?;
            }
            skip += PAGE;
        }
    }
}

fn persona_part<'a>(persona: &'a PersonaCard, name: &str) -> Option<&'a Value> {
    persona.card.get("metadata")?.get("sillytavern")?.get(name)
}
