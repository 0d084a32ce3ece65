//! Turns a story of another program into a session, with all branches and its end as HEAD. Node ids follow from the
//! path, as for SillyTavern chats. So the same file adds nothing, and a longer one only what is new.

use std::collections::{HashMap, HashSet};
use std::io::BufReader;

use serde_json::{Map, Value};

use clotho_compat::interop::chat_tree::PathHash;
use clotho_compat::interop::foreign_chat::{
    self, ForeignChat, ForeignChatError, ForeignMessage, ForeignRole, JsonElements,
};
use clotho_compat::interop::{FindingDetail, ImportFinding};
use clotho_core::clock::Time;
use clotho_core::coded_message::MessageArgs;
use clotho_core::ids::{CharacterId, LorebookId, NodeId, SessionId};
use clotho_core::tree::limits::MAX_SPEAKER_CHARS;
use clotho_core::tree::reply_facts::{Provenance, ReplyErrorRecord};
use clotho_core::tree::{Delta, Kind, Role, Status, card};
use clotho_core::world::World;
use clotho_store::{ImportedNode, NodeDraft, NodeImportEnd, SessionPresence, SourceRecord, Tx};

use super::super::ForeignImportItem;
use super::super::file_container::SourceFile;
use super::super::import::{BATCH, BATCH_BYTES, ImportError};
use super::super::lorebooks::new_lorebook;
use super::super::session_start::NewImportedSession;
use super::super::session_titles::{TitleParts, spoken_title};
use super::super::sillytavern::ForeignImport;
use super::super::sillytavern::import_match::ImportDecision;
use super::super::sillytavern::import_target::ImportTarget;
use super::super::sillytavern::message_to_node::{self, strip_nul};
use super::super::sillytavern::scan::HashingReader;
use super::file_type::ForeignFileType;

/// At most this many unreadable stories are named one by one; the rest are counted.
const NAMED: usize = 20;
/// The name of the answering character if nothing says who that is.
const NOBODY: &str = "Somebody";
/// At most this many settings of a chat are named.
const NAMED_KEYS: usize = 40;

/// The position of a message and the index of its parent.
struct ForeignMessagePosition {
    address: PathHash,
    parent: Option<usize>,
}

impl ForeignImport<'_> {
    /// Imports the stories of a file one by one. Returns `Unknown` if the file has none, otherwise `None`.
    pub(super) async fn import_stories(&mut self, place: &SourceFile) -> Result<Option<ForeignFileType>, ImportError> {
        let mut pieces =
            JsonElements::new(BufReader::with_capacity(1 << 16, HashingReader::open(place, &self.read_progress)?));
        let (mut is_known, mut is_broken, mut bad) = (false, false, SkippedStories::default());
        while let Some((number, piece)) = pieces.next_element()? {
            self.check_cancelled()?;
            let read = match piece {
                Ok(piece) => foreign_chat::read(piece).map(|tales| (tales, blake3::hash(piece))).map_err(|why| {
                    is_broken |= why != ForeignChatError::Unknown;
                    why.to_string()
                }),
                Err(fault) => {
                    is_broken = true;
                    Err(fault.0)
                }
            };
            match read {
                Ok((tales, hash)) => {
                    is_known = true;
                    for (n, tale) in tales.into_iter().enumerate() {
                        self.import_chat(place, tale, number, n, hash).await?;
                    }
                }
                Err(why) => bad.add(number, &why),
            }
        }
        if !is_known && !is_broken {
            return Ok(Some(ForeignFileType::Unknown));
        }
        // Without a readable story, the kind of the file is unknown.
        let kind = if is_known { "session" } else { "file" };
        for why in bad.findings() {
            self.count_item(ForeignImportItem::skipped(kind, place.stem(), why).from_file(&place.name));
        }
        Ok(None)
    }

    /// Imports one story. `number` is that of its element in the file, `within` its index in there.
    async fn import_chat(
        &mut self,
        place: &SourceFile,
        mut tale: ForeignChat,
        number: u64,
        within: usize,
        hash: blake3::Hash,
    ) -> Result<(), ImportError> {
        self.result.totals.chats += 1;
        let title = self.chat_title(&tale, place);
        // Skip an empty story, an unchanged one, and one whose session is in the trash.
        if tale.messages.is_empty() {
            let why = ImportFinding::skipped(&FindingDetail::NoMessages {});
            self.count_item(
                ForeignImportItem::skipped("session", title, why).from_file(&place.name).with_findings(tale.findings),
            );
            return Ok(());
        }
        let spots = message_positions(&tale.messages);
        let key = story_source_key(&tale, &spots);
        let mut hasher = blake3::Hasher::new();
        let hash = hasher.update(hash.as_bytes()).update(&within.to_le_bytes()).finalize();
        // A story whose import was interrupted has no hash.
        let mut is_begun = true;
        let session = match self.find_imported_chat(&key).await? {
            ForeignStoryMatch::Existing(_, Some(known)) if known == hash.as_bytes() => {
                self.result.totals.unchanged += 1;
                return Ok(());
            }
            ForeignStoryMatch::InTrash(session) => {
                let why = ImportFinding::skipped(&FindingDetail::SessionInTrash {});
                let mut item = ForeignImportItem::skipped("session", title, why).from_file(&place.name);
                item.id = Some(session.to_string());
                self.count_item(item);
                return Ok(());
            }
            ForeignStoryMatch::Existing(session, known) => {
                is_begun = known.is_none();
                Some(session)
            }
            ForeignStoryMatch::New => None,
        };
        // Write the lorebook and the messages.
        let owner = self.options.owner;
        let title = match session {
            None => self.store.read(move |reader| reader.unique_session_title(owner, &title)).await?,
            Some(_) => title,
        };
        let mut target = self.open_story_target(&tale, session, &title, &key, place).await?;
        self.import_lorebook(&mut tale, &key, &title, &place.name).await?;
        let mut item = ForeignImportItem::new("session", title, target.session).from_file(&place.name);
        let (before, (messages, branches)) = (self.result.totals.messages, story_size(&tale.messages));
        let newest = tale.messages.iter().filter_map(|one| one.date).max();
        let hidden = tale.messages.iter().filter(|one| one.is_hidden).count();
        let failed = tale.messages.iter().filter(|one| one.error.is_some()).count();
        let nodes = self.write_messages(&mut tale, &spots, &mut target, &format!("{}#{number}", place.name)).await?;
        // Complete the session and report.
        let mut source = SourceRecord::new(key, target.session.as_bytes());
        source.hash = Some(hash.as_bytes().to_vec());
        source.node = tale.head.and_then(|head| nodes.get(head).copied());
        source.header = (!tale.rest.is_empty()).then(|| Value::Object(tale.rest.clone()).to_string());
        let come = self.result.totals.messages - before;
        item.findings.push(ImportFinding::works(&FindingDetail::BranchMessages { messages, branches, new: come }));
        item.findings.extend(story_findings(tale, hidden, failed, target.skipped));
        self.finish_story(target, newest, source, come > 0 || is_begun).await?;
        self.count_item(item);
        Ok(())
    }

    /// Returns the title of a story: its own or that of its file, unless a program made it.
    fn chat_title(&self, tale: &ForeignChat, place: &SourceFile) -> String {
        let name = tale.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or_else(|| place.stem());
        let names: Vec<&str> = tale
            .assistant_name
            .as_deref()
            .into_iter()
            .chain([tale.program.default_assistant_name()].into_iter().flatten())
            .collect();
        let oldest = tale.messages.iter().filter_map(|message| message.date).min();
        let parts = TitleParts {
            names: &names,
            first_message_at: tale.started_at.into_iter().chain(oldest).min().map(Time),
            zone: &self.options.zone,
            language: self.options.language,
        };
        spoken_title(name, &parts)
    }

    /// Finds the session that a story became in an earlier import.
    async fn find_imported_chat(&self, key: &str) -> Result<ForeignStoryMatch, ImportError> {
        if let Some(seen) = self.dry_run.source(key)
            && let Some(session) = self.dry_run.session_of(seen, None)
        {
            return Ok(ForeignStoryMatch::Existing(session, seen.hash.clone()));
        }
        let (owner, key) = (self.options.owner, key.to_owned());
        self.store
            .read(move |reader| {
                let Some(source) = reader.source(owner, &key)? else { return Ok(ForeignStoryMatch::New) };
                let Some(session) = SessionId::from_slice(&source.became) else { return Ok(ForeignStoryMatch::New) };
                Ok(match reader.session_presence(owner, session)? {
                    SessionPresence::Present => ForeignStoryMatch::Existing(session, source.hash),
                    SessionPresence::InTrash => ForeignStoryMatch::InTrash(session),
                    SessionPresence::Deleted => ForeignStoryMatch::New,
                })
            })
            .await
    }

    /// Returns the session of a story; creates it if it is new.
    async fn open_story_target(
        &mut self,
        tale: &ForeignChat,
        session: Option<SessionId>,
        title: &str,
        key: &str,
        place: &SourceFile,
    ) -> Result<ImportTarget, ImportError> {
        let first = self.answering_character(tale, place).await?;
        let mut target = ImportTarget {
            session: session.unwrap_or_else(|| SessionId::new(self.ids.next_id(self.options.at))),
            root: NodeId::new(self.ids.next_id(self.options.at)),
            persona: None,
            known_nodes: HashSet::new(),
            new_nodes: HashSet::new(),
            has_worlds: false,
            root_world: World::default(),
            is_new: session.is_none(),
            batch: Vec::new(),
            batch_bytes: 0,
            skipped: 0,
            speakers: HashMap::new(),
            first_speaker: Some(first),
            note: None,
        };
        if !target.is_new {
            self.load_nodes(&mut target).await?;
            return Ok(target);
        }
        self.result.totals.sessions += 1;
        if !self.options.is_dry {
            let oldest = tale.messages.iter().filter_map(|message| message.date).min();
            let beginning = NewImportedSession {
                session: target.session,
                root: target.root,
                owner: self.options.owner,
                at: self.options.at,
                titles: vec![title.to_owned(), tale.program.name().to_owned()],
                first_message_at: tale.started_at.into_iter().chain(oldest).min().map(Time),
                characters: vec![first],
                persona: None,
                sources: vec![SourceRecord::new(key, target.session.as_bytes())],
                settings: Map::new(),
                is_trusted: self.options.is_trusted,
                variables: Delta::default(),
            };
            beginning.write(self.store, self.ids).await?;
        }
        Ok(target)
    }

    /// Returns the answering character. Its name comes from the file, the program, or the folder, which some
    /// programs name after the character.
    async fn answering_character(
        &mut self,
        tale: &ForeignChat,
        place: &SourceFile,
    ) -> Result<CharacterId, ImportError> {
        let folder = place.name.rsplit_once('/').and_then(|(folder, _)| folder.rsplit('/').next());
        let names = [tale.assistant_name.as_deref(), tale.program.default_assistant_name(), folder, Some(NOBODY)]
            .into_iter()
            .flatten();
        let tidy =
            |name: &str| name.trim().chars().filter(|c| !c.is_control()).take(MAX_SPEAKER_CHARS).collect::<String>();
        let name = names.map(tidy).find(|name| !name.is_empty()).unwrap_or_default();
        let known_by = format!("{}/characters/{name}", tale.program.as_str());
        if let Some(id) = self.answering_characters.get(&known_by) {
            return Ok(*id);
        }
        // An existing card of that name is used, whichever program it came from.
        if let Some(id) = self.match_item::<CharacterId>(format!("characters/{name}")).await?.existing_id() {
            return Ok(id);
        }
        let placeholder = FindingDetail::PlaceholderCharacter { program: tale.program.name() };
        let mut card = Map::from_iter([("name".to_owned(), Value::from(name.as_str()))]);
        card.extend(tale.card_fields.clone());
        if let Err(unfit) = card::validate_card(&card) {
            card.retain(|field, _| field == "name");
            let why = ImportFinding::skipped(&FindingDetail::Invalid { reason: unfit.message });
            self.count_item(ForeignImportItem::skipped("character", name.as_str(), why).from_file(&place.name));
        }
        let id = self.named_character(known_by.clone(), card, ImportFinding::kept(&placeholder)).await?;
        self.answering_characters.insert(known_by, id);
        Ok(id)
    }

    /// Imports the lorebook of a story unless it is known and unchanged.
    async fn import_lorebook(
        &mut self,
        tale: &mut ForeignChat,
        key: &str,
        title: &str,
        file: &str,
    ) -> Result<(), ImportError> {
        let Some(book) = tale.lorebook.take() else { return Ok(()) };
        let existing = self.match_item::<LorebookId>(format!("{key}/lore")).await?;
        let hash = blake3::hash(Value::Object(book.clone()).to_string().as_bytes());
        if self.decide(&existing, &hash, title, file) != ImportDecision::Import {
            return Ok(());
        }
        let (mut book, mut item) = match new_lorebook(book, title, self.ids, self.options.at) {
            Ok(new) => new,
            Err(unfit) => {
                let why = ImportFinding::skipped(&FindingDetail::Invalid { reason: unfit.message });
                self.count_item(ForeignImportItem::skipped("lorebook", title, why).from_file(file));
                return Ok(());
            }
        };
        let is_new = existing.stored.is_none();
        book.id = existing.id_or(|| book.id);
        item.id = Some(book.id.to_string());
        self.result.totals.lorebooks += 1;
        self.count_item(item.from_file(file));
        let source = existing.source(book.id.as_bytes(), Some(hash), &book.card);
        self.store_with_source(source, move |tx, owner| {
            if is_new { tx.put_lorebook(owner, &book) } else { tx.update_lorebook(owner, &book) }
        })
        .await
    }

    /// Writes the messages that the session does not have. Returns the node id of each message.
    async fn write_messages(
        &mut self,
        tale: &mut ForeignChat,
        spots: &[ForeignMessagePosition],
        target: &mut ImportTarget,
        file: &str,
    ) -> Result<Vec<NodeId>, ImportError> {
        let chosen = branch_messages(&tale.messages, tale.head);
        let mut dates: Vec<Time> = Vec::with_capacity(spots.len());
        let mut nodes: Vec<NodeId> = Vec::with_capacity(spots.len());
        let begun = tale.started_at.map(Time).filter(|time| time.has_date()).unwrap_or(self.options.at);
        for (n, (message, spot)) in tale.messages.iter_mut().zip(spots).enumerate() {
            if target.batch.len() >= BATCH || target.batch_bytes >= BATCH_BYTES {
                self.flush(target).await?;
                self.check_cancelled()?;
            }
            let above = spot.parent.and_then(|parent| Some((*nodes.get(parent)?, *dates.get(parent)?)));
            let (parent, before) = above.unwrap_or((target.root, begun));
            let created = message.date.map(Time).filter(|time| time.has_date()).unwrap_or(before);
            let node = NodeId::new(message_to_node::id(target.session, &spot.address));
            nodes.push(node);
            dates.push(created);
            if !target.known_nodes.insert(node) {
                continue;
            }
            let is_enabled = !message.is_hidden;
            let mut draft = message_draft(std::mem::take(message), node, spot, tale.program.as_str(), file);
            draft.created = created;
            draft.author = (draft.role == Role::User).then_some(self.options.owner);
            draft.character = target.first_speaker.filter(|_| draft.role == Role::Assistant);
            target.batch_bytes += draft.content.len() + 1_000;
            target.batch.push(ImportedNode { parent, draft, is_enabled, is_remembered: chosen.contains(&n) });
        }
        self.flush(target).await?;
        Ok(nodes)
    }

    /// Completes a story: sets HEAD if something new was imported, and stores the source record.
    async fn finish_story(
        &mut self,
        target: ImportTarget,
        newest: Option<i64>,
        source: SourceRecord,
        has_come: bool,
    ) -> Result<(), ImportError> {
        if self.options.is_dry {
            self.dry_run.keep(source);
            self.dry_run.keep_session(target);
            return Ok(());
        }
        let played = newest.map(Time).filter(|time| target.is_new && time.has_date());
        let ends = NodeImportEnd { head: source.node.filter(|_| has_come), last_played: played, labels: Vec::new() };
        let (owner, actor, session) = (self.options.owner, self.actor(), target.session);
        let write = move |tx: &mut Tx<'_>| {
            tx.finish_node_import(&actor, session, &ends)?;
            tx.put_source(owner, &source)
        };
        Ok(self.store.write(write).await?)
    }
}

/// Collects the findings for stories that are skipped.
#[derive(Default)]
struct SkippedStories {
    named: Vec<ImportFinding>,
    more: usize,
}

impl SkippedStories {
    fn add(&mut self, chat: u64, why: &str) {
        if self.named.len() < NAMED {
            let detail = FindingDetail::UnreadableChat { chat, reason: why.to_owned() };
            self.named.push(ImportFinding::skipped(&detail));
        } else {
            self.more += 1;
        }
    }

    fn findings(mut self) -> Vec<ImportFinding> {
        if self.more > 0 {
            self.named.push(ImportFinding::skipped(&FindingDetail::MoreUnreadableChats { count: self.more }));
        }
        self.named
    }
}

/// The session, if any, that a story became in an earlier import.
enum ForeignStoryMatch {
    New,
    Existing(SessionId, Option<Vec<u8>>),
    InTrash(SessionId),
}

/// Returns the position of each message. Equal messages below one parent get different positions.
fn message_positions(messages: &[ForeignMessage]) -> Vec<ForeignMessagePosition> {
    let mut spots: Vec<ForeignMessagePosition> = Vec::with_capacity(messages.len());
    let mut equal: HashMap<PathHash, usize> = HashMap::new();
    for one in messages {
        let above = one.parent.and_then(|parent| spots.get(parent)).map_or(PathHash::ROOT, |spot| spot.address);
        let is_user = one.role == ForeignRole::User;
        let name = match one.role {
            ForeignRole::System => "system",
            _ => one.name.as_deref().unwrap_or_default(),
        };
        let place = equal.entry(above.child(is_user, name, &one.text, 0)).or_default();
        let address = above.child(is_user, name, &one.text, *place);
        *place += 1;
        spots.push(ForeignMessagePosition { address, parent: one.parent });
    }
    spots
}

/// Returns the source key of a story: its own id, else the position of the first user message, else that of the first
/// message.
fn story_source_key(tale: &ForeignChat, spots: &[ForeignMessagePosition]) -> String {
    let word = tale.program.as_str();
    if let Some(id) = &tale.id {
        return strip_nul(&format!("{word}/{id}"));
    }
    let first = tale.messages.iter().position(|message| message.role == ForeignRole::User).unwrap_or(0);
    let stem = spots.get(first).map_or(PathHash::ROOT, |spot| spot.address);
    strip_nul(&format!("{word}/{}#{}", tale.assistant_name.as_deref().unwrap_or_default(), stem.hex()))
}

/// Returns the indexes of the messages on the path to `head`.
fn branch_messages(messages: &[ForeignMessage], head: Option<usize>) -> HashSet<usize> {
    let mut line = HashSet::new();
    let mut at = head;
    while let Some(n) = at {
        line.insert(n);
        at = messages.get(n).and_then(|one| one.parent);
    }
    line
}

fn message_draft(
    message: ForeignMessage,
    id: NodeId,
    spot: &ForeignMessagePosition,
    program: &str,
    file: &str,
) -> NodeDraft {
    let role = match message.role {
        ForeignRole::User => Role::User,
        ForeignRole::Assistant => Role::Assistant,
        ForeignRole::System => Role::System,
    };
    let kind = if spot.parent.is_none() && role == Role::Assistant { Kind::Greeting } else { Kind::Message };
    let seed = uuid::Uuid::from_bytes(*spot.address.as_bytes()).as_u64_pair().1;
    let mut draft = NodeDraft::new(id, role, kind, seed, Time(0));
    let name: String = message
        .name
        .iter()
        .flat_map(|name| name.trim().chars())
        .filter(|c| *c != '\0')
        .take(MAX_SPEAKER_CHARS)
        .collect();
    draft.name = (!name.is_empty()).then_some(name);
    draft.content = strip_nul(&message.text);
    draft.reasoning = message.reasoning.as_deref().map(strip_nul);
    draft.metadata.reply.model = message.model;
    if let Some(words) = message.error.filter(|_| role == Role::Assistant) {
        draft.status = Status::Error;
        draft.metadata.reply.error = Some(failed_reply(&words));
    }
    let place = [("id".to_owned(), message.id.into()), ("program".to_owned(), program.into())];
    let rest = Map::from_iter(place);
    draft.metadata.provenance = Some(Provenance { file: Some(file.to_owned()), rest, ..Provenance::default() });
    if !message.rest.is_empty() {
        draft.metadata.rest.insert(program.into(), message.rest.into());
    }
    draft
}

/// Returns the error of a reply that failed in the other program.
fn failed_reply(words: &str) -> ReplyErrorRecord {
    let words = strip_nul(if words.is_empty() { "the reply failed in the other program" } else { words });
    ReplyErrorRecord {
        code: "provider_failed".to_owned(),
        message: format!("the model server failed: {words}"),
        args: MessageArgs::from_iter([("words".to_owned(), Value::from(words))]),
        ..ReplyErrorRecord::default()
    }
}

/// Returns how many messages and branches a story has.
fn story_size(all: &[ForeignMessage]) -> (usize, usize) {
    let answered: HashSet<usize> = all.iter().filter_map(|one| one.parent).collect();
    (all.len(), all.len() - answered.len())
}

/// Returns the findings of a story.
fn story_findings(tale: ForeignChat, hidden: usize, failed: usize, left: usize) -> Vec<ImportFinding> {
    let mut findings = tale.findings;
    if hidden > 0 {
        findings.push(ImportFinding::translated(&FindingDetail::HiddenMessages { count: hidden }));
    }
    if failed > 0 {
        findings.push(ImportFinding::kept(&FindingDetail::FailedReplies { count: failed }));
    }
    if left > 0 {
        findings.push(ImportFinding::skipped(&FindingDetail::BelowRemoved { count: left }));
    }
    if !tale.rest.is_empty() {
        let keys: Vec<&str> = tale.rest.keys().map(String::as_str).take(NAMED_KEYS).collect();
        let detail = FindingDetail::ChatSettings { count: tale.rest.len(), keys: keys.join(", ") };
        findings.push(ImportFinding::kept(&detail));
    }
    findings
}
