//! The second reading: writes the files of one story into its session, batch by batch.

use std::collections::{HashMap, HashSet};
use std::io::BufReader;
use std::sync::Arc;

use serde_json::{Map, Value};

use clotho_compat::interop::chat::{self, ChatFileLine, ChatFileMessage, ChatFileReader};
use clotho_compat::interop::chat_tree::PathHash;
use clotho_compat::interop::{FindingDetail, ImportFinding};
use clotho_core::clock::Time;
use clotho_core::ids::{LorebookId, NodeId, SessionId};
use clotho_core::oplog::LabelTarget;
use clotho_core::tree::arrange::MAX_NAME_CHARS;
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::{Kind, Role};
use clotho_core::world::World;
use clotho_store::{Actor, BindingTarget, ImportedNode, NodeDraft, NodeImportEnd, SourceRecord};

use super::super::ForeignImportItem;
use super::super::import::{BATCH, BATCH_BYTES, ImportError};
use super::super::session_titles::{TitleParts, spoken_title};
use super::cast::ImportCast;
use super::data_folder::ChatFolder;
use super::export_index::{ChatFilePosition, ExportIndexSession};
use super::import_target::{ImportTarget, StoryMatch, file_key, story_key};
use super::message_to_node::{ImportAlternative, ImportContext, non_state_variables};
use super::scan::{ChatScan, HashingReader};
use super::{ForeignImport, unreadable, worlds};

/// Where the import of a file ended.
struct ImportedChatEnd {
    node: NodeId,
    /// Whether the node is new.
    is_new: bool,
    /// The hash of the bytes that were read.
    hash: blake3::Hash,
    imported: u64,
    /// The number of messages left out because they hang below a pruned node.
    stashed: usize,
    /// The number of messages in the file.
    messages: u64,
    requested_nodes: HashMap<u64, NodeId>,
}

impl ImportedChatEnd {
    /// Returns the node of a message, counted from 1. The last one includes the change node with changed variables of
    /// the chat.
    fn at(&self, message: u64) -> Option<NodeId> {
        if message >= self.messages { Some(self.node) } else { self.requested_nodes.get(&message).copied() }
    }
}

/// The current position of a reading.
struct ChatReadPosition<'a> {
    node: NodeId,
    address: PathHash,
    /// The state at this position; `None` if the node existed before and its state is not loaded yet.
    world: Option<World>,
    date: Time,
    /// The variables of the last message, without the state.
    variables: Option<Map<String, Value>>,
    /// The variables of the chat, until a new message has what differs from the state there.
    chat_variables: Option<&'a Map<String, Value>>,
}

impl ForeignImport<'_> {
    /// Imports the files of one story.
    pub async fn import_story(
        &mut self,
        folder: &ChatFolder,
        files: &[&ChatScan],
        is_only: bool,
        cast: &mut ImportCast,
    ) -> Result<(), ImportError> {
        let count = u64::try_from(files.len()).unwrap_or(0);
        self.result.totals.chats += count;
        // Find the session; stop if it is in the trash or all files are unchanged.
        let (session, sources) = match self.find_story(folder, files).await? {
            StoryMatch::InTrash(session) => {
                files.iter().for_each(|file| self.skip_story(file, session));
                return Ok(());
            }
            StoryMatch::Existing(session, sources) => {
                let is_same = |file: &&&ChatScan| {
                    let source = sources.get(&file_key(folder, file)).and_then(|source| source.hash.as_ref());
                    source.is_some_and(|hash| hash == file.hash.as_bytes())
                };
                if files.iter().all(|file| is_same(&file)) {
                    self.result.totals.unchanged += count;
                    let sizes = files.iter().map(|file| usize::try_from(file.file.bytes).unwrap_or(0));
                    sizes.for_each(|bytes| self.read_progress.add_read(bytes));
                    return self.add_sources(folder, files, &sources).await;
                }
                (Some(session), sources)
            }
            StoryMatch::New => (None, HashMap::new()),
        };
        let mut files = files.to_vec();
        // Longer files first: then a bookmark ends at a node that exists already.
        let is_branch = |file: &&ChatScan| file.outline.parent.is_some();
        files.sort_by_key(|file| (is_branch(file), std::cmp::Reverse(file.messages)));
        files.retain(|file| self.is_readable(file));
        if files.is_empty() {
            return Ok(());
        }
        // Write each file into the session.
        let titles = match session {
            Some(_) => Vec::new(),
            None => vec![self.story_title(folder, &files, is_only).await?],
        };
        let mut target = self.open_target(session, folder, &files, titles, cast).await?;
        let story = self.exported_session(&files);
        let ends = self.write_story_files(folder, &files, &mut target, story.as_ref()).await?;
        let whole: Vec<(&ChatScan, &ImportedChatEnd)> =
            files.iter().zip(&ends).filter_map(|(file, end)| Some((*file, end.as_ref()?))).collect();
        let is_as_it_went = files.iter().all(|file| self.export_index.has(&file_key(folder, file), &file.hash));
        // A story whose first import was interrupted before its end was recorded counts as new.
        let is_begun =
            |file: &&ChatScan| sources.get(&file_key(folder, file)).is_some_and(|source| source.node.is_none());
        let is_new = target.is_new || files.iter().any(is_begun);
        let mut wanted = match story.filter(|_| is_as_it_went) {
            Some(story) => exported_ends(folder, &whole, &story, &sources),
            None => {
                let of_card = || folder.cards.first().and_then(|card| cast.characters.get(card)?.open_chat.as_deref());
                played_ends(folder, &whole, &sources, folder.open_chat.as_deref().or_else(of_card), is_new)
            }
        };
        if !is_new && whole.iter().all(|(_, end)| end.imported == 0 && !end.is_new) {
            wanted.head = None;
        }
        self.finish(folder, &whole, &target, wanted).await?;
        if self.options.is_dry {
            self.dry_run.keep_session(target);
        }
        Ok(())
    }

    /// Writes files into a session. Returns where each of them ended; `None`: it could not be read, which is reported.
    async fn write_story_files(
        &mut self,
        folder: &ChatFolder,
        files: &[&ChatScan],
        target: &mut ImportTarget,
        story: Option<&ExportIndexSession>,
    ) -> Result<Vec<Option<ImportedChatEnd>>, ImportError> {
        let mut ends = Vec::with_capacity(files.len());
        for file in files {
            let wanted = story.map(|story| story.positions_in(&file_key(folder, file))).unwrap_or_default();
            match self.import_file(file, target, &wanted).await {
                Ok(end) => ends.push(Some(end)),
                Err(ImportError::Read(why)) => {
                    let why = ImportFinding::skipped(&FindingDetail::UnreadableFile { reason: why });
                    let item = ForeignImportItem::skipped("session", file.file.stem(), why);
                    self.count_item(item.from_file(&file.file.name));
                    ends.push(None);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(ends)
    }

    /// Returns the title of a new story: the name that somebody chose, or one that no other story of the owner has.
    async fn story_title(
        &self,
        folder: &ChatFolder,
        files: &[&ChatScan],
        is_only: bool,
    ) -> Result<String, ImportError> {
        let file = files.first().map(|file| file.file.stem()).unwrap_or_default();
        let card = folder.cards.first().map(String::as_str);
        let spoken = files.iter().find_map(|file| file.first_speaker.as_deref());
        let names: Vec<&str> = [spoken, card].into_iter().flatten().collect();
        let parts = TitleParts {
            names: &names,
            first_message_at: files.iter().filter_map(|file| file.oldest).min().map(Time),
            zone: &self.options.zone,
            language: self.options.language,
        };
        let group = folder.title.as_deref().map(str::trim).filter(|group| !group.is_empty());
        let title = match group {
            Some(group) => group_title(group, file, is_only, &parts),
            None => spoken_title(file, &parts),
        };
        if title.trim().is_empty() {
            return Ok(folder.key.clone());
        }
        // Names of files are unique in their folder.
        if title == file {
            return Ok(title);
        }
        let owner = self.options.owner;
        Ok(self.store.read(move |reader| reader.unique_session_title(owner, &title)).await?)
    }

    /// Returns what the export index says about the story of some files.
    pub fn exported_session(&self, files: &[&ChatScan]) -> Option<ExportIndexSession> {
        let story = files.iter().find_map(|file| file.outline.story_id)?;
        self.export_index.story(story).cloned()
    }

    /// Whether a file can still be opened. A story without readable files must not create a session.
    fn is_readable(&mut self, file: &ChatScan) -> bool {
        match file.file.open() {
            Ok(_) => true,
            Err(error) => {
                self.count_item(unreadable(&file.file.name, &error));
                false
            }
        }
    }

    /// Reports that a file is skipped because its story is in the trash.
    pub fn skip_story(&mut self, file: &ChatScan, session: SessionId) {
        let why = ImportFinding::skipped(&FindingDetail::SessionInTrash {});
        let mut item = ForeignImportItem::skipped("session", file.file.stem(), why);
        item.id = Some(session.to_string());
        self.count_item(item.from_file(&file.file.name));
    }

    /// Writes the messages of a file that the session does not have. `wanted` names messages whose nodes are
    /// asked for.
    async fn import_file(
        &mut self,
        file: &ChatScan,
        target: &mut ImportTarget,
        wanted: &[u64],
    ) -> Result<ImportedChatEnd, ImportError> {
        let input = HashingReader::open(&file.file, &self.read_progress)?;
        let mut lines = ChatFileReader::new(BufReader::with_capacity(1 << 16, input));
        let date = Time(file.oldest.unwrap_or(self.options.at.0));
        let mut here = ChatReadPosition {
            node: target.root,
            address: PathHash::ROOT,
            world: target.is_new.then(|| target.root_world.clone()),
            date,
            variables: None,
            chat_variables: file.header.variables(),
        };
        let before = (self.result.totals.messages, target.skipped);
        target.new_nodes.clear();
        let (mut messages, mut places) = (0, HashMap::from([(0, target.root)]));
        while let Some((number, line)) = lines.next_line()? {
            let Ok(line) = line else { continue };
            let hash = blake3::hash(line).to_hex();
            let Ok(ChatFileLine::Message(row)) = chat::read(line) else { continue };
            let hash = hash.as_str().get(..32).unwrap_or_default();
            self.import_row(file, target, &mut here, &row, number, hash).await?;
            messages += 1;
            if wanted.contains(&messages) {
                places.insert(messages, here.node);
            }
        }
        let node = self.write_end(target, here).await?;
        self.flush(target).await?;
        let hash = lines.into_input().into_inner().hash();
        let (come, left) = (self.result.totals.messages - before.0, target.skipped - before.1);
        Ok(ImportedChatEnd {
            node,
            is_new: target.new_nodes.contains(&node),
            hash,
            imported: come,
            stashed: left,
            messages,
            requested_nodes: places,
        })
    }

    /// Writes one message with its alternatives and moves the position there.
    async fn import_row(
        &mut self,
        file: &ChatScan,
        target: &mut ImportTarget,
        here: &mut ChatReadPosition<'_>,
        row: &ChatFileMessage,
        line: u64,
        hash: &str,
    ) -> Result<(), ImportError> {
        if target.batch.len() >= BATCH || target.batch_bytes >= BATCH_BYTES {
            self.flush(target).await?;
            self.check_cancelled()?;
        }
        let context = ImportContext {
            session: target.session,
            owner: self.options.owner,
            persona: target.persona.as_ref().map(|persona| persona.id),
            file: &file.file.name,
        };
        let addresses = here.address.swipe_hashes(row);
        let (mut after, mut date) = (None, here.date);
        // The first message that only this file has gets what the chat changed since.
        let selected = addresses.get(row.selected).map(|address| context.id(address));
        let is_new = selected.is_some_and(|id| !target.known_nodes.contains(&id));
        let chat_variables = if is_new { here.chat_variables.take() } else { None };
        // Add each alternative that the session does not have yet.
        for (place, (alternative, address)) in row.swipes.iter().zip(&addresses).enumerate() {
            let moment = alternative.date.as_ref().and_then(|date| chat::date::read(date, &self.options.zone));
            let created = moment.map(Time).filter(|time| time.has_date()).unwrap_or(here.date);
            let is_chosen = place == row.selected;
            if is_chosen {
                date = created;
            }
            if !target.known_nodes.insert(context.id(address)) {
                continue;
            }
            target.new_nodes.insert(context.id(address));
            let delta = match target.has_worlds {
                true => {
                    let mut world = self.world_at(target, here).await?;
                    let delta = worlds::apply_alternative(&mut world, alternative, chat_variables, &target.root_world);
                    if is_chosen {
                        after = Some(world);
                    }
                    delta
                }
                false => Default::default(),
            };
            let imported = ImportAlternative {
                row,
                position: place,
                alternative,
                address: *address,
                line,
                hash,
                speaker: target.speaker(row),
                is_first: here.node == target.root,
                created,
                before: here.variables.as_ref(),
            };
            let draft = context.message_to_node(&imported, delta);
            target.batch_bytes += draft.content.len() + 1_000;
            target.batch.push(ImportedNode {
                parent: here.node,
                draft,
                is_enabled: !row.is_hidden,
                is_remembered: is_chosen,
            });
        }
        // Continue below the selected alternative.
        if let Some(address) = addresses.get(row.selected) {
            (here.node, here.address) = (context.id(address), *address);
        }
        (here.world, here.date) = (after, date);
        here.variables = row.selected_swipe().and_then(non_state_variables);
        Ok(())
    }

    /// Returns the state at the current position; below an existing node it is read from the store.
    async fn world_at(
        &mut self,
        target: &mut ImportTarget,
        here: &mut ChatReadPosition<'_>,
    ) -> Result<World, ImportError> {
        if let Some(world) = &here.world {
            return Ok(world.clone());
        }
        let world = if self.options.is_dry { World::default() } else { self.read_world(target, here.node).await? };
        here.world = Some(world.clone());
        Ok(world)
    }

    /// Returns the state at a node of the store.
    pub async fn read_world(&mut self, target: &mut ImportTarget, node: NodeId) -> Result<World, ImportError> {
        self.flush(target).await?;
        let (owner, session) = (self.options.owner, target.session);
        self.store
            .read(move |reader| {
                let stored = reader.session(owner, session)?.ok_or(TreeError::NotFound("the session"))?;
                let placed = reader.node_or_stashed(&stored, node)?;
                let world = placed.map(|placed| reader.world(&stored, &placed)).transpose()?;
                Ok::<_, ImportError>(world.map(|world| (*world).clone()).unwrap_or_default())
            })
            .await
    }

    /// Writes the chat variables of a file without new messages. What differs goes into a change node below its last
    /// message.
    async fn write_end(
        &mut self,
        target: &mut ImportTarget,
        mut here: ChatReadPosition<'_>,
    ) -> Result<NodeId, ImportError> {
        let Some(variables) = here.chat_variables else { return Ok(here.node) };
        let mut world = self.world_at(target, &mut here).await?;
        let delta = worlds::chat_delta(&mut world, variables, &target.root_world);
        if delta.is_empty() || here.node == target.root {
            return Ok(here.node);
        }
        let address = here.address.child(false, "variables", &Value::Object(variables.clone()).to_string(), 0);
        let id = NodeId::new(super::message_to_node::id(target.session, &address));
        if target.known_nodes.insert(id) {
            target.new_nodes.insert(id);
            let mut draft = NodeDraft::new(id, Role::System, Kind::Change, 0, here.date);
            (draft.author, draft.delta) = (Some(self.options.owner), delta);
            target.batch.push(ImportedNode { parent: here.node, draft, is_enabled: true, is_remembered: false });
        }
        Ok(id)
    }

    /// Writes the pending batch; a dry run only counts it.
    pub(in crate::transfer) async fn flush(&mut self, target: &mut ImportTarget) -> Result<(), ImportError> {
        let piece = std::mem::take(&mut target.batch);
        target.batch_bytes = 0;
        let messages = |kind: Kind| u64::from(kind != Kind::Change);
        if self.options.is_dry {
            self.result.totals.messages += piece.iter().map(|seedling| messages(seedling.draft.kind)).sum::<u64>();
        } else if !piece.is_empty() {
            let (actor, session, piece) = (self.actor(), target.session, Arc::new(piece));
            let grown = self.store.write(move |tx| tx.import_nodes(&actor, session, &piece)).await?;
            self.result.totals.messages += u64::try_from(grown.added).unwrap_or(0);
            target.skipped += grown.skipped;
        }
        Ok(())
    }

    pub(in crate::transfer) fn actor(&self) -> Actor {
        Actor { user: self.options.owner, at: self.options.at, expected_leaf: None }
    }

    /// Completes a story: sets HEAD and labels, binds its lorebooks and stores the source records.
    async fn finish(
        &mut self,
        folder: &ChatFolder,
        whole: &[(&ChatScan, &ImportedChatEnd)],
        target: &ImportTarget,
        mut wanted: NodeImportEnd,
    ) -> Result<(), ImportError> {
        wanted.last_played = wanted.last_played.filter(|time| target.is_new && time.has_date());
        let mut rows = Vec::with_capacity(whole.len());
        for (position, (file, end)) in whole.iter().enumerate() {
            let mut row = SourceRecord::new(file_key(folder, file), target.session.as_bytes());
            row.hash = (end.hash == file.hash).then(|| file.hash.as_bytes().to_vec());
            row.node = Some(end.node);
            row.header = Some(Value::Object(file.header.0.clone()).to_string());
            rows.push(row);
            rows.extend(story_key(folder, file).map(|key| SourceRecord::new(key, target.session.as_bytes())));
            let joined = if position == 0 { joined_files(whole) } else { None };
            self.report_file(file, end, target, joined);
        }
        if self.options.is_dry {
            rows.into_iter().for_each(|row| self.dry_run.keep(row));
            return Ok(());
        }
        let (owner, actor, session) = (self.options.owner, self.actor(), target.session);
        let named = whole.iter().filter_map(|(file, _)| file.header.text("world_info"));
        let books: Vec<LorebookId> = named.filter_map(|name| self.imported_lorebook(name)).collect();
        self.store
            .write(move |tx| {
                tx.finish_node_import(&actor, session, &wanted)?;
                books.iter().try_for_each(|book| tx.bind_lorebook(owner, *book, BindingTarget::Session(session)))?;
                rows.iter().try_for_each(|row| tx.put_source(owner, row))
            })
            .await?;
        Ok(())
    }

    /// Adds a file to the report.
    fn report_file(
        &mut self,
        file: &ChatScan,
        end: &ImportedChatEnd,
        target: &ImportTarget,
        joined: Option<ImportFinding>,
    ) {
        let mut item = ForeignImportItem::new("session", file.file.stem(), target.session).from_file(&file.file.name);
        let detail = FindingDetail::ChatMessages { messages: file.messages, new: end.imported };
        item.findings.push(ImportFinding::works(&detail));
        item.findings.extend(joined);
        if file.has_state {
            item.findings.push(ImportFinding::translated(&FindingDetail::MessageVariables {}));
        }
        if end.stashed > 0 {
            item.findings.push(ImportFinding::skipped(&FindingDetail::BelowRemoved { count: end.stashed }));
        }
        item.findings.extend(file.note().map(|note| match target.note == Some(note) {
            true => ImportFinding::works(&FindingDetail::AuthorsNote {}),
            false => ImportFinding::kept(&FindingDetail::OtherAuthorsNote {}),
        }));
        item.findings.extend(file.unused_header_finding());
        if let Some(book) = file.header.text("world_info") {
            let name = book.to_owned();
            item.findings.push(match self.imported_lorebook(book) {
                Some(_) => ImportFinding::works(&FindingDetail::ChatLorebook { name }),
                None => ImportFinding::kept(&FindingDetail::ChatLorebookMissing { name }),
            });
        }
        if end.hash != file.hash {
            item.findings.push(ImportFinding::skipped(&FindingDetail::ChangedMeanwhile {}));
        }
        item.findings.extend(file.findings.iter().cloned());
        self.count_item(item);
    }
}

/// Returns the title of a story. A group with several stories adds the name of the file to its own.
fn group_title(group: &str, file: &str, is_only: bool, parts: &TitleParts<'_>) -> String {
    if is_only {
        return group.to_owned();
    }
    match spoken_title(file, &TitleParts { names: &[group], ..*parts }) {
        spoken if spoken == file => format!("{group} - {file}"),
        spoken => spoken,
    }
}

/// Returns HEAD and labels as the export index gives them.
fn exported_ends(
    folder: &ChatFolder,
    whole: &[(&ChatScan, &ImportedChatEnd)],
    story: &ExportIndexSession,
    sources: &HashMap<String, SourceRecord>,
) -> NodeImportEnd {
    let find = |spot: &ChatFilePosition| {
        let (file, end) = whole.iter().find(|(file, _)| file_key(folder, file) == spot.file)?;
        Some((*file, end.at(spot.message)?))
    };
    let head = story.head.as_ref().and_then(find);
    let label = |(name, following, spot): &(String, bool, ChatFilePosition)| {
        let (_, node) = find(spot)?;
        let before = sources.get(&spot.file).and_then(|source| source.node);
        Some((name.clone(), LabelTarget { node, following: *following }, before))
    };
    NodeImportEnd {
        head: head.map(|(_, node)| node),
        labels: story.labels.iter().filter_map(label).collect(),
        last_played: head.and_then(|(file, _)| file.newest).map(Time),
    }
}

/// Returns HEAD and labels of a story that was not exported by Clotho. HEAD is the end of the chat that was open
/// last, else of the one with the newest message. Each other file becomes a label. In an existing story, HEAD does
/// not move to the end of an old file that is not open.
fn played_ends(
    folder: &ChatFolder,
    whole: &[(&ChatScan, &ImportedChatEnd)],
    sources: &HashMap<String, SourceRecord>,
    open: Option<&str>,
    is_new: bool,
) -> NodeImportEnd {
    let is_open = |file: &ChatScan| Some(file.file.stem()) == open;
    let ends = whole.iter().filter(|(file, end)| is_new || end.is_new || is_open(file));
    let head = ends.max_by_key(|(file, _)| (is_open(file), file.newest));
    let bookmarks: HashSet<&str> = whole.iter().flat_map(|(file, _)| &file.bookmarks).map(String::as_str).collect();
    let label = |(file, end): &(&ChatScan, &ImportedChatEnd)| {
        let before = sources.get(&file_key(folder, file)).and_then(|source| source.node);
        let name: String = file.file.stem().chars().take(MAX_NAME_CHARS).collect();
        (name, LabelTarget { node: end.node, following: !bookmarks.contains(file.file.stem()) }, before)
    };
    NodeImportEnd {
        head: head.map(|(_, end)| end.node),
        labels: whole.iter().skip(1).map(label).collect(),
        last_played: head.and_then(|(file, _)| file.newest).map(Time),
    }
}

/// At most this many files of a story are named.
const NAMED_FILES: usize = 40;

/// Returns the finding that names the files which became one story.
fn joined_files(whole: &[(&ChatScan, &ImportedChatEnd)]) -> Option<ImportFinding> {
    let names: Vec<String> = whole.iter().map(|(file, _)| file.file.file().to_owned()).take(NAMED_FILES).collect();
    let more = whole.len() - names.len();
    let detail = FindingDetail::JoinedFiles { count: whole.len(), files: names.join(", "), more };
    (whole.len() > 1).then(|| ImportFinding::translated(&detail).with_names(names))
}
