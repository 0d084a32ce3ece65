//! The second reading: the files of one story, written into its session piece by piece.

use std::collections::{HashMap, HashSet};
use std::io::BufReader;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::clock::Time;
use crate::ids::{CharacterId, NodeId, SessionId};
use crate::interop::chat::{self, Line, Lines, Row};
use crate::interop::grove::Address;
use crate::interop::{Fate, Finding};
use crate::oplog::Mark;
use crate::store::{Actor, Draft, Ends, Seedling, Source, Whereabouts};
use crate::tree::arrange::LONGEST_NAME;
use crate::tree::bounds::MOST_CHARACTERS;
use crate::tree::edit::Refusal;
use crate::tree::{CardRef, Kind, PersonaRef, Role, Session};
use crate::world::World;

use super::super::Item;
use super::super::import::{ImportError, PIECE, PIECE_BYTES};
use super::cast::{Cast, Player};
use super::house::stem;
use super::root::Folder;
use super::scan::{Scanned, Watched};
use super::sprout::{Soil, Sprout, beside_state};
use super::{Work, worlds};

/// What the story of some files is here.
enum Found {
    /// Nothing yet.
    New,
    /// A session, with what is known of each file.
    Here(SessionId, HashMap<String, Source>),
    /// A session that was thrown away.
    InTrash(SessionId),
}

/// The session of a story while it grows.
struct Bed {
    session: SessionId,
    root: NodeId,
    persona: Option<PersonaRef>,
    /// The nodes that are there, or on their way.
    known: HashSet<NodeId>,
    /// Whether worlds have to be followed.
    has_worlds: bool,
    is_new: bool,
    piece: Vec<Seedling>,
    piece_bytes: usize,
    /// Who speaks: by the file of the card; nothing stands for the first.
    speakers: HashMap<String, CharacterId>,
    first: Option<CharacterId>,
}

/// Where a file ends.
struct End {
    node: NodeId,
    /// The hash of what was read.
    hash: blake3::Hash,
    come: u64,
}

/// Where a reading stands.
struct Here {
    node: NodeId,
    address: Address,
    /// The world there; unknown below what was there before.
    world: Option<World>,
    date: Time,
    /// The variables of the last message, but for the state.
    variables: Option<Map<String, Value>>,
}

impl<F: FnMut(super::Progress) -> bool> Work<'_, F> {
    /// Takes the files of one story in.
    pub async fn plant(&mut self, folder: &Folder, files: &[&Scanned], cast: &mut Cast) -> Result<(), ImportError> {
        let count = u64::try_from(files.len()).unwrap_or(0);
        self.arrived.totals.chats += count;
        let (session, sources) = match self.find(folder, files).await? {
            Found::InTrash(session) => {
                for file in files {
                    self.leave(file, session);
                }
                return Ok(());
            }
            Found::Here(session, sources) => {
                let is_same = |file: &&&Scanned| {
                    let known = sources.get(&file_key(folder, file)).and_then(|source| source.hash.as_ref());
                    known.is_some_and(|hash| hash == file.hash.as_bytes())
                };
                if files.iter().all(|file| is_same(&file)) {
                    self.arrived.totals.unchanged += count;
                    files.iter().for_each(|file| self.way.passed(usize::try_from(file.place.bytes).unwrap_or(0)));
                    return Ok(());
                }
                (Some(session), sources)
            }
            Found::New => (None, HashMap::new()),
        };
        let mut files = files.to_vec();
        // What goes further comes first, so that a bookmark ends where something stands already.
        let is_branch = |file: &&Scanned| file.outline.parent.is_some();
        files.sort_by_key(|file| (is_branch(file), std::cmp::Reverse(file.messages)));
        let mut bed = self.bed(session, folder, &files, cast).await?;
        let mut ends = Vec::with_capacity(files.len());
        for file in &files {
            match self.grow(file, &mut bed).await {
                Ok(end) => ends.push(Some(end)),
                Err(ImportError::Read(why)) => {
                    let why = Finding::new(Fate::Skipped, "unreadable", format!("it cannot be read: {why}"));
                    self.report(Item::skipped("session", file.place.stem(), why).from_file(&file.place.name));
                    ends.push(None);
                }
                Err(error) => return Err(error),
            }
        }
        let open = folder.cards.first().and_then(|card| cast.characters.get(card)?.open_chat.clone());
        self.finish(folder, &files, &ends, &bed, &sources, open.as_deref()).await
    }

    /// The session that a story has become already.
    async fn find(&self, folder: &Folder, files: &[&Scanned]) -> Result<Found, ImportError> {
        let owner = self.wish.owner;
        let names: Vec<(String, bool, Option<Address>)> = files
            .iter()
            .flat_map(|file| {
                let stem = file.outline.stem.map(|stem| (stem_key(folder, &stem), false, None));
                stem.into_iter().chain([(file_key(folder, file), true, file.outline.first)])
            })
            .collect();
        self.store
            .read(move |reader| {
                let (mut sources, mut session, mut in_trash) = (HashMap::new(), None, None);
                for (name, is_file, first) in names {
                    let Some(source) = reader.source(owner, &name)? else { continue };
                    let Some(id) = SessionId::from_slice(&source.became) else { continue };
                    match reader.whereabouts(owner, id)? {
                        Whereabouts::Gone => continue,
                        Whereabouts::InTrash => {
                            in_trash = Some(id);
                            continue;
                        }
                        Whereabouts::Here => {}
                    }
                    // Another story may have the name of this file, elsewhere.
                    if is_file
                        && let Some(first) = first
                        && let Some(held) = reader.session(owner, id)?
                        && reader.node_or_stashed(&held, NodeId::new(super::sprout::id(id, &first)))?.is_none()
                    {
                        continue;
                    }
                    session = session.or(Some(id));
                    sources.insert(name, source);
                }
                Ok::<_, ImportError>(match (session, in_trash) {
                    (Some(session), _) => Found::Here(session, sources),
                    (None, Some(session)) => Found::InTrash(session),
                    (None, None) => Found::New,
                })
            })
            .await
    }

    fn leave(&mut self, file: &Scanned, session: SessionId) {
        let message = "its story lies in the trash: bring it back or delete it for good, and import again";
        let mut item = Item::skipped("session", file.place.stem(), Finding::new(Fate::Skipped, "in_trash", message));
        item.id = Some(session.to_string());
        self.report(item.from_file(&file.place.name));
    }

    /// The session of a story, begun if it is new.
    async fn bed(
        &mut self,
        session: Option<SessionId>,
        folder: &Folder,
        files: &[&Scanned],
        cast: &mut Cast,
    ) -> Result<Bed, ImportError> {
        let players = self.players(folder, files, cast).await?;
        let mut bed = Bed {
            session: session.unwrap_or_else(|| SessionId::new(self.ids.next(self.wish.at))),
            root: NodeId::new(self.ids.next(self.wish.at)),
            persona: None,
            known: HashSet::new(),
            has_worlds: files.iter().any(|file| file.has_state || file.header.variables().is_some()),
            is_new: session.is_none(),
            piece: Vec::new(),
            piece_bytes: 0,
            speakers: players.iter().map(|(file, player)| (file.clone(), player.id)).collect(),
            first: players.first().map(|(_, player)| player.id),
        };
        match session {
            Some(id) => {
                let owner = self.wish.owner;
                let (root, persona, known) = self
                    .store
                    .read(move |reader| {
                        let held = reader.session(owner, id)?.ok_or(Refusal::NotFound("the session"))?;
                        let known = reader.node_ids(&held)?;
                        Ok::<_, ImportError>((held.session.root, held.session.persona, known))
                    })
                    .await?;
                (bed.root, bed.persona, bed.known) = (root, persona, known.into_iter().collect());
            }
            None => self.begin(&mut bed, folder, files, &players, cast).await?,
        }
        Ok(bed)
    }

    /// Who plays in some files, in speaking order.
    async fn players(
        &mut self,
        folder: &Folder,
        files: &[&Scanned],
        cast: &mut Cast,
    ) -> Result<Vec<(String, Player)>, ImportError> {
        let mut names: Vec<String> = folder.cards.clone();
        for speaker in files.iter().flat_map(|file| &file.speakers) {
            let speaker = stem(speaker).to_owned();
            if !names.contains(&speaker) {
                names.push(speaker);
            }
        }
        if names.is_empty() {
            let spoken = files.iter().find_map(|file| file.voice.clone());
            names.push(spoken.unwrap_or_else(|| "Somebody".into()));
        }
        let mut players = Vec::with_capacity(names.len());
        for name in names.into_iter().take(MOST_CHARACTERS) {
            let player = self.stand_in(&name, cast).await?;
            players.push((name, player));
        }
        Ok(players)
    }

    async fn begin(
        &mut self,
        bed: &mut Bed,
        folder: &Folder,
        files: &[&Scanned],
        players: &[(String, Player)],
        cast: &Cast,
    ) -> Result<(), ImportError> {
        self.arrived.totals.sessions += 1;
        if self.wish.is_dry {
            return Ok(());
        }
        let (owner, at) = (self.wish.owner, self.wish.at);
        let persona = files.iter().find_map(|file| {
            let by_file = file.header.text("persona").and_then(|file| cast.personas.get(file));
            by_file.or_else(|| cast.personas.get(file.user.as_ref()?)).copied()
        });
        let ids: Vec<CharacterId> = players.iter().map(|(_, player)| player.id).collect();
        let (cards, persona) = self
            .store
            .read(move |reader| {
                let mut cards = Vec::new();
                for id in ids {
                    let card = reader.character(owner, id)?.ok_or(Refusal::NotFound("the character"))?;
                    cards.push((id, Value::Object(card.card).to_string()));
                }
                let persona = persona.map(|id| reader.persona(owner, id)).transpose()?.flatten();
                Ok::<_, ImportError>((cards, persona.map(|card| (card.id, Value::Object(card.card).to_string()))))
            })
            .await?;
        let first = files.iter().filter_map(|file| file.oldest).min().map(Time).filter(|time| time.has_date());
        let title = files.first().map(|file| file.place.stem()).unwrap_or_default();
        let title: String = title.chars().filter(|c| !c.is_control()).take(LONGEST_TITLE).collect();
        let session = Session {
            id: bed.session,
            owner,
            title: if title.trim().is_empty() { folder.key.clone() } else { title },
            cards: Vec::new(),
            persona: None,
            root: bed.root,
            head: bed.root,
            op: 0,
            head_op: 0,
            mode: "tree".into(),
            model: None,
            params: Map::new(),
            plugins: Vec::new(),
            seed: self.ids.seed(),
            edits: 0,
            created: first.unwrap_or(at),
            updated: at,
        };
        let root = Draft::new(bed.root, Role::System, Kind::Root, self.ids.seed(), first.unwrap_or(at));
        let mut sources: Vec<Source> = Vec::new();
        for file in files {
            let stem = file.outline.stem.map(|stem| stem_key(folder, &stem));
            sources.extend(
                [stem, Some(file_key(folder, file))]
                    .into_iter()
                    .flatten()
                    .map(|name| Source::new(name, bed.session.as_bytes())),
            );
        }
        bed.persona = self
            .store
            .write(move |tx| {
                let mut session = session.clone();
                for (id, card) in &cards {
                    session.cards.push(CardRef { id: *id, hash: tx.put_blob(card.as_bytes())? });
                }
                if let Some((id, card)) = &persona {
                    session.persona = Some(PersonaRef { id: *id, hash: tx.put_blob(card.as_bytes())? });
                }
                tx.begin_session(&session, &root, &[], at)?;
                sources.iter().try_for_each(|source| tx.put_source(owner, source))?;
                Ok(session.persona)
            })
            .await?;
        Ok(())
    }

    /// Writes what a file has and the session has not.
    async fn grow(&mut self, file: &Scanned, bed: &mut Bed) -> Result<End, ImportError> {
        let input = Watched::open(&file.place, &self.way)?;
        let mut lines = Lines::new(BufReader::with_capacity(1 << 16, input));
        let date = Time(file.oldest.unwrap_or(self.wish.at.0));
        let world = Some(World::default());
        let mut here = Here { node: bed.root, address: Address::ROOT, world, date, variables: None };
        let before = self.arrived.totals.messages;
        while let Some((number, line)) = lines.next_line()? {
            let Ok(line) = line else { continue };
            let hash = blake3::hash(line).to_hex();
            let Ok(Line::Row(row)) = chat::read(line) else { continue };
            let hash = hash.as_str().get(..32).unwrap_or_default();
            self.row(file, bed, &mut here, (&row, number, hash)).await?;
        }
        let node = self.leaf(file, bed, here).await?;
        self.flush(bed).await?;
        let hash = lines.into_input().into_inner().hash();
        Ok(End { node, hash, come: self.arrived.totals.messages - before })
    }

    /// Writes one message, and goes there.
    async fn row(
        &mut self,
        file: &Scanned,
        bed: &mut Bed,
        here: &mut Here,
        (row, line, hash): (&Row, u64, &str),
    ) -> Result<(), ImportError> {
        if bed.piece.len() >= PIECE || bed.piece_bytes >= PIECE_BYTES {
            self.flush(bed).await?;
            self.go_on()?;
        }
        let soil = Soil {
            session: bed.session,
            owner: self.wish.owner,
            persona: bed.persona.as_ref().map(|persona| persona.id),
            file: &file.place.name,
        };
        let addresses = here.address.of(row);
        let (mut after, mut date) = (None, here.date);
        for (place, (alternative, address)) in row.alternatives.iter().zip(&addresses).enumerate() {
            let moment = alternative.date.as_ref().and_then(|date| chat::date::read(date, &self.wish.zone));
            let created = moment.map(Time).filter(|time| time.has_date()).unwrap_or(here.date);
            let is_chosen = place == row.chosen;
            if is_chosen {
                date = created;
            }
            if !bed.known.insert(soil.id(address)) {
                continue;
            }
            let delta = match bed.has_worlds {
                true => {
                    let mut world = self.world(bed, here).await?;
                    let delta = worlds::step(&mut world, alternative);
                    if is_chosen {
                        after = Some(world);
                    }
                    delta
                }
                false => Default::default(),
            };
            let speaker = row.speaker_file().and_then(|file| bed.speakers.get(stem(file)).copied()).or(bed.first);
            let sprout = Sprout {
                row,
                place,
                alternative,
                address: *address,
                line,
                hash,
                speaker,
                is_first: here.node == bed.root,
                created,
                before: here.variables.as_ref(),
            };
            let draft = soil.node(&sprout, delta);
            bed.piece_bytes += draft.content.len() + 1_000;
            bed.piece.push(Seedling { parent: here.node, draft, is_enabled: !row.is_hidden, is_chosen });
        }
        if let Some(address) = addresses.get(row.chosen) {
            (here.node, here.address) = (soil.id(address), *address);
        }
        (here.world, here.date) = (after, date);
        here.variables = row.shown().and_then(beside_state);
        Ok(())
    }

    /// The world at the place where a reading stands. Below what was there before only the store knows it.
    async fn world(&mut self, bed: &mut Bed, here: &mut Here) -> Result<World, ImportError> {
        if let Some(world) = &here.world {
            return Ok(world.clone());
        }
        let world = if self.wish.is_dry { World::default() } else { self.read_world(bed, here.node).await? };
        here.world = Some(world.clone());
        Ok(world)
    }

    async fn read_world(&mut self, bed: &mut Bed, node: NodeId) -> Result<World, ImportError> {
        self.flush(bed).await?;
        let (owner, session) = (self.wish.owner, bed.session);
        self.store
            .read(move |reader| {
                let held = reader.session(owner, session)?.ok_or(Refusal::NotFound("the session"))?;
                let placed = reader.node_or_stashed(&held, node)?;
                let world = placed.map(|placed| reader.world(&held, &placed)).transpose()?;
                Ok::<_, ImportError>(world.map(|world| (*world).clone()).unwrap_or_default())
            })
            .await
    }

    /// Where a file ends its variables are those of the chat: a part of its last message, where that is new.
    async fn leaf(&mut self, file: &Scanned, bed: &mut Bed, mut here: Here) -> Result<NodeId, ImportError> {
        let Some(variables) = file.header.variables() else { return Ok(here.node) };
        let mut world = self.world(bed, &mut here).await?;
        let delta = worlds::towards(&mut world, variables);
        if delta.is_empty() || here.node == bed.root {
            return Ok(here.node);
        }
        if let Some(last) = bed.piece.iter_mut().rev().find(|seedling| seedling.draft.id == here.node) {
            last.draft.delta.operations.extend(delta.operations);
            last.draft.delta.problems.extend(delta.problems);
            last.draft.delta.notes.extend(delta.notes);
            return Ok(here.node);
        }
        let address = here.address.below(false, "variables", &Value::Object(variables.clone()).to_string(), 0);
        let id = NodeId::new(super::sprout::id(bed.session, &address));
        if bed.known.insert(id) {
            let mut draft = Draft::new(id, Role::System, Kind::Change, 0, here.date);
            (draft.author, draft.delta) = (Some(self.wish.owner), delta);
            bed.piece.push(Seedling { parent: here.node, draft, is_enabled: true, is_chosen: false });
        }
        Ok(id)
    }

    /// Writes what has come together.
    async fn flush(&mut self, bed: &mut Bed) -> Result<(), ImportError> {
        let piece = std::mem::take(&mut bed.piece);
        bed.piece_bytes = 0;
        let messages = |kind: Kind| u64::from(kind != Kind::Change);
        if self.wish.is_dry {
            self.arrived.totals.messages += piece.iter().map(|seedling| messages(seedling.draft.kind)).sum::<u64>();
        } else if !piece.is_empty() {
            let (actor, session, piece) = (self.actor(), bed.session, Arc::new(piece));
            let come = self.store.write(move |tx| tx.grow(&actor, session, &piece)).await?;
            self.arrived.totals.messages += u64::try_from(come).unwrap_or(0);
        }
        Ok(())
    }

    fn actor(&self) -> Actor {
        Actor { user: self.wish.owner, at: self.wish.at, expected_leaf: None }
    }

    /// All of a story is in: its lines get their names, HEAD goes where it was played last, and the files are known.
    async fn finish(
        &mut self,
        folder: &Folder,
        files: &[&Scanned],
        ends: &[Option<End>],
        bed: &Bed,
        sources: &HashMap<String, Source>,
        open: Option<&str>,
    ) -> Result<(), ImportError> {
        let whole: Vec<(&Scanned, &End)> =
            files.iter().zip(ends).filter_map(|(file, end)| Some((*file, end.as_ref()?))).collect();
        let played = |(file, _): &&(&Scanned, &End)| (Some(file.place.stem()) == open, file.newest);
        let head = whole.iter().max_by_key(played);
        let mut wanted = Ends { head: head.map(|(_, end)| end.node), ..Ends::default() };
        wanted.played = head.and_then(|(file, _)| file.newest).map(Time).filter(|time| bed.is_new && time.has_date());
        let bookmarks: HashSet<&str> = files.iter().flat_map(|file| &file.bookmarks).map(String::as_str).collect();
        let mut rows = Vec::with_capacity(whole.len());
        for (position, (file, end)) in whole.iter().enumerate() {
            let name = file_key(folder, file);
            let before = sources.get(&name).and_then(|source| source.node);
            if position > 0 {
                let label: String = file.place.stem().chars().take(LONGEST_NAME).collect();
                let following = !bookmarks.contains(file.place.stem());
                wanted.labels.push((label, Mark { node: end.node, following }, before));
            }
            let mut row = Source::new(name, bed.session.as_bytes());
            row.hash = (end.hash == file.hash).then(|| file.hash.as_bytes().to_vec());
            row.node = Some(end.node);
            row.header = Some(Value::Object(file.header.0.clone()).to_string());
            rows.push(row);
            rows.extend(file.outline.stem.map(|stem| Source::new(stem_key(folder, &stem), bed.session.as_bytes())));
            self.tell(file, end, bed);
        }
        if self.wish.is_dry {
            return Ok(());
        }
        let (owner, actor, session) = (self.wish.owner, self.actor(), bed.session);
        self.store
            .write(move |tx| {
                tx.end_growth(&actor, session, &wanted)?;
                rows.iter().try_for_each(|row| tx.put_source(owner, row))
            })
            .await?;
        Ok(())
    }

    /// What is to say of a file.
    fn tell(&mut self, file: &Scanned, end: &End, bed: &Bed) {
        let mut item = Item::new("session", file.place.stem(), bed.session).from_file(&file.place.name);
        let message = format!("{} messages; with all alternatives {} are new", file.messages, end.come);
        item.findings.push(Finding::new(Fate::Works, "messages", message));
        if file.has_state {
            let message = "the variables of its messages are the world, which goes back and forth with them";
            item.findings.push(Finding::new(Fate::Translated, "variables", message));
        }
        item.findings.extend(file.kept());
        if end.hash != file.hash {
            let message = "it changed while it was read: import it again to have all of it";
            item.findings.push(Finding::new(Fate::Skipped, "changed_meanwhile", message));
        }
        item.findings.extend(file.findings.iter().cloned());
        self.report(item);
    }
}

/// The longest title, in characters.
const LONGEST_TITLE: usize = 300;

/// By what a file is known again.
fn file_key(folder: &Folder, file: &Scanned) -> String {
    format!("{}/{}.jsonl", folder.key, file.place.stem())
}

/// By what a story is known again: the first message of the user, and all before it.
fn stem_key(folder: &Folder, stem: &Address) -> String {
    let hex = blake3::Hash::from_bytes(std::array::from_fn(|n| stem.bytes().get(n).copied().unwrap_or(0))).to_hex();
    format!("{}#{}", folder.key, hex.as_str().get(..32).unwrap_or_default())
}
