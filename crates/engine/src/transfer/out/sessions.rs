//! Writes the sessions of a user as chats and groups into a data folder.

use std::collections::{BTreeMap, HashMap};
use std::io::{Seek, Write};

use serde_json::{Map, Value, json};

use clotho_compat::interop::{FindingDetail, ImportFinding};
use clotho_core::clock::Time;
use clotho_core::ids::NodeId;
use clotho_core::tree::Kind;
use clotho_store::{SessionExportError, SourceRecord, StoreError, StoredSession, exported_settings};

use super::super::report::ForeignImportItem;
use super::branch::ExportBranch;
use super::branch_files::{BranchFile, BranchFiles, file_name};
use super::cast::ExportCast;
use super::data_folder::DataFolderWriter;
use super::export_index::ExportIndexSessionWriter;
use super::export_names::{ExportFileNames, ImportedGroups, OpenChats};
use super::file_names::{UniqueFileNames, safe_file_name};
use super::sillytavern::{self, ChatLinks};

/// The folder of group chats.
const GROUP_CHATS: &str = "group chats";

/// A group that is being exported.
#[derive(Default)]
struct GroupExport {
    /// The session that it was made from; only used for a group that was not imported.
    source_session: String,
    name: String,
    members: Vec<String>,
    chats: Vec<String>,
    open: Option<(Time, String)>,
}

impl GroupExport {
    /// Returns the group file. For an imported group only its chats are replaced.
    fn file(self, id: &str, came: Option<Map<String, Value>>) -> Value {
        let members: Vec<String> = self.members.iter().map(|member| format!("{member}.png")).collect();
        let mut group = came.unwrap_or_else(|| {
            let new = json!({
                "id": id, "name": self.name, "members": members, "avatar_url": "", "allow_self_responses": false,
                "activation_strategy": 0, "generation_mode": 0, "disabled_members": [], "fav": false,
            });
            new.as_object().cloned().unwrap_or_default()
        });
        group.insert("chat_id".to_owned(), self.open.map(|(_, name)| name).into());
        group.insert("chats".to_owned(), self.chats.into());
        group.into()
    }
}

/// The folder into which the chats of a session are written.
struct SessionFolder {
    path: String,
    /// The group, if several characters speak.
    group: Option<String>,
}

impl SessionFolder {
    /// Chooses the folder: the one it was imported from, that of its group, or that of its first character.
    fn choose(stored: &StoredSession, sources: &[SourceRecord], cast: &ExportCast) -> Self {
        let came = sources.iter().find_map(|source| Some(source.name.rsplit_once('/')?.0));
        let first = cast.characters.first().map_or("Somebody", |character| character.file.as_str());
        let group = match came {
            Some(folder) => folder.strip_prefix("group chats/").map(str::to_owned),
            None => (cast.characters.len() > 1).then(|| stored.session.id.to_string()),
        };
        let path = if group.is_some() { GROUP_CHATS.to_owned() } else { format!("chats/{}", safe_file_name(first)) };
        Self { path, group }
    }

    /// Returns the folder in source keys.
    fn key(&self) -> String {
        self.group.as_ref().map_or(self.path.clone(), |id| format!("{}/{id}", self.path))
    }
}

/// What is shared while the sessions are written one by one.
struct SessionsExport<'a> {
    files: ExportFileNames<'a>,
    /// The file names used in each folder, by its lowercase path.
    names: HashMap<String, UniqueFileNames>,
    groups: BTreeMap<String, GroupExport>,
    open_chats: OpenChats,
}

/// Replaces `latest` if `open` is newer.
fn keep_later(latest: &mut Option<(Time, String)>, open: Option<(Time, String)>) {
    let moment = |open: &Option<(Time, String)>| open.as_ref().map(|(at, _)| *at);
    if moment(&open) > moment(latest) {
        *latest = open;
    }
}

impl SessionsExport<'_> {
    fn names_in(&mut self, folder: &SessionFolder) -> &mut UniqueFileNames {
        self.names.entry(folder.path.to_lowercase()).or_default()
    }

    /// Records the chat that was open in the session of the first character.
    fn mark_open(&mut self, cast: &ExportCast, open: Option<(Time, String)>) {
        if let Some(character) = cast.characters.first() {
            keep_later(self.open_chats.entry(character.id).or_default(), open);
        }
    }

    /// Adds a session with several characters to its group.
    fn add_group_session(
        &mut self,
        id: String,
        stored: &StoredSession,
        cast: &ExportCast,
        lines: BranchFiles,
        open: Option<(Time, String)>,
    ) {
        let group = self.groups.entry(id).or_default();
        group.source_session = stored.session.id.to_string();
        group.name.clone_from(&stored.session.title);
        keep_later(&mut group.open, open);
        for character in &cast.characters {
            if !group.members.contains(&character.file) {
                group.members.push(character.file.clone());
            }
        }
        group.chats.extend(lines.files.into_iter().map(|end| end.name));
    }
}

impl<W: Write + Seek> DataFolderWriter<'_, W> {
    /// Writes all sessions and their groups. Returns the chat of each character that was open last.
    pub fn sessions(
        &mut self,
        files: ExportFileNames<'_>,
        mut imported_groups: ImportedGroups,
        mut report_progress: impl FnMut(u64),
    ) -> Result<OpenChats, SessionExportError> {
        let mut shared =
            SessionsExport { files, names: HashMap::new(), groups: BTreeMap::new(), open_chats: OpenChats::new() };
        // Reserve the names of imported files first, so that no new file takes them.
        self.for_each_page(
            |reader, owner, skip, most| reader.sessions(owner, skip, most),
            |writer, stored| {
                let sources = writer.files_of(&stored)?;
                if sources.is_empty() {
                    return Ok(());
                }
                let cast = ExportCast::read(&mut writer.reader, &stored)?.with_files(shared.files.cards);
                let names = shared.names_in(&SessionFolder::choose(&stored, &sources, &cast));
                let came = sources.iter().filter_map(|source| file_name(&source.name));
                came.for_each(|name| names.reserve(name, stored.session.id));
                Ok(())
            },
        )?;
        // Write the sessions, then the groups that they belong to.
        self.for_each_page(
            |reader, owner, skip, most| reader.sessions(owner, skip, most),
            |writer, stored| {
                writer.session(&stored, &mut shared)?;
                writer.outcome.sessions += 1;
                report_progress(writer.outcome.sessions);
                Ok(())
            },
        )?;
        for (id, group) in shared.groups {
            let (is, came) =
                imported_groups.remove(&id).map_or((group.source_session.clone(), None), |(is, came)| (is, Some(came)));
            self.group(&id, &is, &group.file(&id, came))?;
        }
        // Write the groups without a session, too.
        for (id, (is, group)) in imported_groups {
            self.group(&id, &is, &group.into())?;
        }
        Ok(shared.open_chats)
    }

    fn group(&mut self, id: &str, is: &str, group: &Value) -> Result<(), SessionExportError> {
        let hash = self.put(&format!("groups/{id}.json"), group.to_string().as_bytes())?;
        self.export_index.add_file(&format!("group/{id}"), hash, is);
        Ok(())
    }

    /// Returns the chat files from which a session was imported.
    fn files_of(&mut self, stored: &StoredSession) -> Result<Vec<SourceRecord>, StoreError> {
        let mut sources = self.reader.sources_of(self.owner, stored.session.id.as_bytes())?;
        sources.retain(|source| source.header.is_some() && source.node.is_some() && file_name(&source.name).is_some());
        Ok(sources)
    }

    fn session(&mut self, stored: &StoredSession, shared: &mut SessionsExport<'_>) -> Result<(), SessionExportError> {
        let sources = self.files_of(stored)?;
        let cast = ExportCast::read(&mut self.reader, stored)?.with_files(shared.files.cards);
        self.report_damage(stored, &cast);
        let folder = SessionFolder::choose(stored, &sources, &cast);
        // Write each branch as a chat and add it to the export index.
        let lines = BranchFiles::read(&mut self.reader, stored, &sources, shared.names_in(&folder))?;
        let persona = stored.session.persona.as_ref().and_then(|persona| shared.files.personas.get(&persona.id));
        let (head, mut open) = (self.last_message(stored)?, None);
        let mut settings = exported_settings(&stored.session);
        settings.extend(stored.session.preset.map(|id| ("preset".to_owned(), id.to_string().into())));
        let mut story = ExportIndexSessionWriter::new(settings);
        for BranchFile { leaf, name } in &lines.files {
            let Some(end) = self.reader.node(stored, *leaf)? else { continue };
            let line = ExportBranch::all_messages(&mut self.reader, stored, end)?;
            let links = ChatLinks {
                parent: lines.main().filter(|main| main != name),
                bookmarks: Some(&lines.bookmarks),
                persona: persona.map(String::as_str),
                wanted: head,
            };
            let (reader, mut written) = (&mut self.reader, sillytavern::ChatWriteResult::default());
            let hash = self.target.put(&format!("{}/{name}.jsonl", folder.path), |mut out| {
                written = sillytavern::write(reader, &line, &cast, &links, &mut out)?;
                Ok(())
            })?;
            let file = format!("{}/{name}.jsonl", folder.key());
            self.export_index.add_file(&file, hash, stored.session.id);
            for label in lines.labels.iter().filter(|label| label.node == *leaf) {
                story.label(label, &file, written.messages);
            }
            let at = head.map_or(Some(0), |_| written.wanted);
            if let Some(message) = at.filter(|_| !story.has_head() || *leaf == stored.session.head) {
                story.head(&file, message);
                open = Some((stored.session.updated, name.clone()));
            }
            self.outcome.chats += 1;
        }
        self.export_index.add_session(stored.session.id, story);
        match folder.group {
            Some(id) => shared.add_group_session(id, stored, &cast, lines, open),
            None => shared.mark_open(&cast, open),
        }
        Ok(())
    }

    /// Returns the last message at or above HEAD, skipping change nodes; `None` if HEAD is before the first message.
    fn last_message(&mut self, stored: &StoredSession) -> Result<Option<NodeId>, StoreError> {
        let mut at = Some(stored.session.head);
        while let Some(placed) = at.map(|at| self.reader.node(stored, at)).transpose()?.flatten() {
            match placed.node.kind {
                Kind::Root => return Ok(None),
                Kind::Change => at = placed.node.parent,
                _ => return Ok(Some(placed.node.id)),
            }
        }
        Ok(None)
    }

    /// Reports the cards of a session that cannot be read.
    fn report_damage(&mut self, stored: &StoredSession, cast: &ExportCast) {
        if cast.damaged.is_empty() {
            return;
        }
        let (count, cards) = (cast.damaged.len(), cast.damaged.join(", "));
        let finding = ImportFinding::translated(&FindingDetail::DamagedCards { count, cards });
        self.outcome.report.items.push(
            ForeignImportItem::new("session", &stored.session.title, stored.session.id).with_findings(vec![finding]),
        );
    }
}
