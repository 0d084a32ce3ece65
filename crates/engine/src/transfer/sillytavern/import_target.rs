//! The session that a story is written into: found if it was imported before, otherwise created.

use std::collections::{HashMap, HashSet};

use clotho_compat::interop::chat::ChatFileMessage;
use clotho_compat::interop::chat_tree::{ChatOutline, PathHash};
use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, NodeId, PersonaId, SessionId, UserId};
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::limits::MAX_CHARACTERS;
use clotho_core::tree::{AuthorsNote, PersonaRef, Session};
use clotho_core::world::World;
use clotho_store::{ImportedNode, SessionPresence, SourceRecord, StoreReader};

use super::super::file_container::stem;
use super::super::import::ImportError;
use super::super::session_start::NewImportedSession;
use super::cast::{FolderCharacter, ImportCast};
use super::data_folder::ChatFolder;
use super::scan::ChatScan;
use super::{ForeignImport, message_to_node, worlds};

/// The session, if any, that a story became in an earlier import.
pub enum StoryMatch {
    New,
    /// A session, with the source records of the files that are known.
    Existing(SessionId, HashMap<String, SourceRecord>),
    /// A session that lies in the trash.
    InTrash(SessionId),
}

/// The session that a story is being written into.
pub struct ImportTarget {
    pub session: SessionId,
    pub root: NodeId,
    pub persona: Option<PersonaRef>,
    /// The nodes that exist or are about to be written.
    pub known_nodes: HashSet<NodeId>,
    /// The nodes that the current file adds.
    pub new_nodes: HashSet<NodeId>,
    /// Whether variables have to be followed from message to message.
    pub has_worlds: bool,
    /// The state before the first message: the variables of the first chat.
    pub root_world: World,
    pub is_new: bool,
    pub batch: Vec<ImportedNode>,
    pub batch_bytes: usize,
    /// The number of messages that were left out.
    pub skipped: usize,
    /// The speaking characters by file stem of their card.
    pub speakers: HashMap<String, CharacterId>,
    /// The character that speaks if a message names no card.
    pub first_speaker: Option<CharacterId>,
    pub note: Option<AuthorsNote>,
}

impl ImportTarget {
    /// Returns the character that speaks a message.
    pub fn speaker(&self, row: &ChatFileMessage) -> Option<CharacterId> {
        let own = row.speaker_card_file().and_then(|file| self.speakers.get(stem(file)).copied());
        own.or(self.first_speaker)
    }
}

impl ForeignImport<'_> {
    /// Finds the session that a story became in an earlier import, or earlier in a dry run.
    pub async fn find_story(&self, folder: &ChatFolder, files: &[&ChatScan]) -> Result<StoryMatch, ImportError> {
        let owner = self.options.owner;
        // Collect the keys of each file: its story, its name, and its hash for a chat that came by another way.
        let names: Vec<(String, bool, Option<PathHash>)> = files
            .iter()
            .flat_map(|file| {
                let story = story_key(folder, file).map(|key| (key, false, None));
                story.into_iter().chain([(file_key(folder, file), true, file.outline.first)])
            })
            .collect();
        let same: Vec<(String, String, blake3::Hash)> =
            files.iter().map(|file| (file_key(folder, file), file.file.stem().to_owned(), file.hash)).collect();
        let is_loose = folder.key == LOOSE;
        // Look the keys up in what a dry run has seen.
        let seen: HashMap<String, (Option<SessionId>, SourceRecord)> = names
            .iter()
            .filter_map(|(name, is_file, first)| {
                let source = self.dry_run.source(name)?;
                Some((name.clone(), (self.dry_run.session_of(source, first.filter(|_| *is_file)), source.clone())))
            })
            .chain(same.iter().filter_map(|(key, stem, hash)| {
                let source = self.dry_run.same_chat(is_loose, stem, hash)?;
                Some((format!("={key}"), (self.dry_run.session_of(source, None), source.clone())))
            }))
            .collect();
        // Look them up in the store; records of a dry run go first.
        self.store
            .read(move |reader| {
                let (mut sources, mut session, mut in_trash) = (HashMap::new(), None, None);
                for (name, is_file, first) in names {
                    if let Some((id, source)) = seen.get(&name) {
                        session = session.or(*id);
                        sources.extend(id.map(|_| (name, source.clone())));
                        continue;
                    }
                    let Some(source) = reader.source(owner, &name)? else { continue };
                    let Some(id) = SessionId::from_slice(&source.became) else { continue };
                    match reader.session_presence(owner, id)? {
                        SessionPresence::Deleted => continue,
                        SessionPresence::InTrash => {
                            in_trash = Some(id);
                            continue;
                        }
                        SessionPresence::Present => {}
                    }
                    // A file of another folder can have the same name, so check that the session
                    // has its first message.
                    if is_file
                        && let Some(first) = first
                        && let Some(stored) = reader.session(owner, id)?
                        && reader.node_or_stashed(&stored, NodeId::new(message_to_node::id(id, &first)))?.is_none()
                    {
                        continue;
                    }
                    session = session.or(Some(id));
                    sources.insert(name, source);
                }
                let is_new = session.is_none() && in_trash.is_none();
                // Otherwise look for the same chat under another key.
                for (key, stem, hash) in same.into_iter().filter(|_| is_new) {
                    if let Some((Some(id), source)) = seen.get(&format!("={key}")) {
                        session = session.or(Some(*id));
                        sources.insert(key, source.clone());
                        continue;
                    }
                    if let Some((id, source)) = same_chat(reader, owner, is_loose, &stem, &hash)? {
                        session = session.or(Some(id));
                        sources.insert(key, source);
                    }
                }
                Ok::<_, ImportError>(match (session, in_trash) {
                    (Some(session), _) => StoryMatch::Existing(session, sources),
                    (None, Some(session)) => StoryMatch::InTrash(session),
                    (None, None) => StoryMatch::New,
                })
            })
            .await
    }

    /// Records the new keys of files that were imported under other names before.
    pub async fn add_sources(
        &mut self,
        folder: &ChatFolder,
        files: &[&ChatScan],
        sources: &HashMap<String, SourceRecord>,
    ) -> Result<(), ImportError> {
        for file in files {
            let key = file_key(folder, file);
            let Some(source) = sources.get(&key).filter(|source| source.name != key) else { continue };
            let story = story_key(folder, file);
            let mut own = source.clone();
            own.name = key;
            let became = own.became.clone();
            let story = story.map(|name| SourceRecord { name, became, ..SourceRecord::new("", &[0; 16]) });
            if self.options.is_dry {
                story.clone().into_iter().for_each(|story| self.dry_run.keep(story));
            }
            self.store_with_source(own, move |tx, owner| {
                story.iter().try_for_each(|source| tx.put_source(owner, source))
            })
            .await?;
        }
        Ok(())
    }

    /// Returns the session of a story; creates it if it is new.
    pub async fn open_target(
        &mut self,
        session: Option<SessionId>,
        folder: &ChatFolder,
        files: &[&ChatScan],
        titles: Vec<String>,
        cast: &mut ImportCast,
    ) -> Result<ImportTarget, ImportError> {
        let characters = self.story_characters(folder, files, cast).await?;
        let mut target = ImportTarget {
            session: session.unwrap_or_else(|| SessionId::new(self.ids.next_id(self.options.at))),
            root: NodeId::new(self.ids.next_id(self.options.at)),
            persona: None,
            known_nodes: HashSet::new(),
            new_nodes: HashSet::new(),
            has_worlds: files.iter().any(|file| file.has_state || file.header.variables().is_some()),
            root_world: World::default(),
            is_new: session.is_none(),
            batch: Vec::new(),
            batch_bytes: 0,
            skipped: 0,
            speakers: characters.iter().map(|(file, character)| (file.clone(), character.id)).collect(),
            first_speaker: characters.first().map(|(_, character)| character.id),
            note: files.iter().find_map(|file| file.note()),
        };
        match session {
            Some(_) => {
                self.load_nodes(&mut target).await?;
                if target.has_worlds && !self.options.is_dry {
                    let root = target.root;
                    target.root_world = self.read_world(&mut target, root).await?;
                }
            }
            None => self.begin_session(&mut target, folder, files, &characters, titles, cast).await?,
        }
        Ok(target)
    }

    /// Loads the root, persona, note and node ids of an existing session.
    pub(in crate::transfer) async fn load_nodes(&self, target: &mut ImportTarget) -> Result<(), ImportError> {
        let (owner, id) = (self.options.owner, target.session);
        if let Some((root, nodes)) = self.dry_run.session(id) {
            (target.root, target.known_nodes) = (*root, nodes.clone());
            return Ok(());
        }
        let (root, persona, note, nodes) = self
            .store
            .read(move |reader| {
                let stored = reader.session(owner, id)?.ok_or(TreeError::NotFound("the session"))?;
                let nodes = reader.node_ids(&stored)?;
                let Session { root, persona, note, .. } = stored.session;
                Ok::<_, ImportError>((root, persona, note, nodes))
            })
            .await?;
        (target.root, target.persona, target.note, target.known_nodes) =
            (root, persona, note, nodes.into_iter().collect());
        Ok(())
    }

    /// Returns the characters of some files, in speaking order, each with the file stem of its card.
    async fn story_characters(
        &mut self,
        folder: &ChatFolder,
        files: &[&ChatScan],
        cast: &mut ImportCast,
    ) -> Result<Vec<(String, FolderCharacter)>, ImportError> {
        let mut names: Vec<String> = folder.cards.clone();
        for speaker in files.iter().flat_map(|file| &file.speakers) {
            let speaker = stem(speaker).to_owned();
            if !names.contains(&speaker) {
                names.push(speaker);
            }
        }
        if names.is_empty() {
            let spoken = files.iter().find_map(|file| file.first_speaker.clone());
            names.push(spoken.unwrap_or_else(|| "Somebody".into()));
        }
        let mut characters = Vec::with_capacity(names.len());
        for name in names.into_iter().take(MAX_CHARACTERS) {
            let character = self.placeholder_character(&name, cast).await?;
            characters.push((name, character));
        }
        Ok(characters)
    }

    async fn begin_session(
        &mut self,
        target: &mut ImportTarget,
        folder: &ChatFolder,
        files: &[&ChatScan],
        members: &[(String, FolderCharacter)],
        titles: Vec<String>,
        cast: &ImportCast,
    ) -> Result<(), ImportError> {
        self.result.totals.sessions += 1;
        // The variables of the chat stand above its first message, so that every version of every message has them.
        let variables = files.first().and_then(|file| file.header.variables());
        let before = World::default();
        let variables = variables.map(|wanted| worlds::chat_delta(&mut target.root_world, wanted, &before));
        if self.options.is_dry {
            return Ok(());
        }
        let persona = user_persona(folder, files, cast);
        let mut sources: Vec<SourceRecord> = Vec::new();
        for file in files {
            sources.extend(
                [story_key(folder, file), Some(file_key(folder, file))]
                    .into_iter()
                    .flatten()
                    .map(|name| SourceRecord::new(name, target.session.as_bytes())),
            );
        }
        let mut settings = self.exported_session(files).map(|story| story.settings).unwrap_or_default();
        if let Some(note) = &target.note {
            settings.entry("note").or_insert_with(|| note.to_json());
        }
        self.choose_preset(&mut settings).await?;
        let beginning = NewImportedSession {
            session: target.session,
            root: target.root,
            owner: self.options.owner,
            at: self.options.at,
            titles,
            first_message_at: files.iter().filter_map(|file| file.oldest).min().map(Time),
            characters: members.iter().map(|(_, character)| character.id).collect(),
            persona,
            sources,
            settings,
            is_trusted: self.options.is_trusted,
            variables: variables.unwrap_or_default(),
        };
        target.persona = beginning.write(self.store, self.ids).await?;
        Ok(())
    }
}

/// Chooses the persona: the one that a chat names, else the one that its messages name, else the one bound to the
/// card, else the default persona.
fn user_persona(folder: &ChatFolder, files: &[&ChatScan], cast: &ImportCast) -> Option<PersonaId> {
    let named = files.iter().find_map(|file| {
        let by_file = file.header.text("persona").and_then(|file| cast.personas.get(file));
        by_file.or_else(|| cast.personas.get(file.user.as_ref()?))
    });
    let bound = || folder.cards.iter().find_map(|card| cast.card_personas.get(card));
    named.or_else(bound).copied().or(cast.default)
}

/// Returns the source key of a chat file.
pub fn file_key(folder: &ChatFolder, file: &ChatScan) -> String {
    format!("{}/{}.jsonl", folder.key, file.file.stem())
}

/// Returns the source key of the story of a file: the exported session if it is known, else the position of the first
/// message of the user.
pub fn story_key(folder: &ChatFolder, file: &ChatScan) -> Option<String> {
    let ChatOutline { story_id: story, first_user: stem, .. } = &file.outline;
    let of_house = story.map(|story| format!("{}@{story}", folder.key));
    of_house.or_else(|| Some(format!("{}#{}", folder.key, stem.as_ref()?.hex())))
}

/// The folder key of chats that were imported one by one.
pub const LOOSE: &str = "chats";

/// Finds a chat that was imported before with the same bytes and name: alone if it now comes in a folder, or the
/// other way round.
fn same_chat(
    reader: &mut StoreReader<'_>,
    owner: UserId,
    is_loose: bool,
    stem: &str,
    hash: &blake3::Hash,
) -> Result<Option<(SessionId, SourceRecord)>, ImportError> {
    let found = match is_loose {
        true => reader.chats_of_hash(owner, hash.as_bytes())?,
        false => reader.source(owner, &format!("{LOOSE}/{stem}.jsonl"))?.into_iter().collect(),
    };
    let end = format!("/{stem}.jsonl");
    for source in found {
        let is_same = source.hash.as_deref() == Some(hash.as_bytes()) && source.name.ends_with(&end);
        let Some(id) = SessionId::from_slice(&source.became).filter(|_| is_same) else { continue };
        if reader.session_presence(owner, id)? == SessionPresence::Present {
            return Ok(Some((id, source)));
        }
    }
    Ok(None)
}
