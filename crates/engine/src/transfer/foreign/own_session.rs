//! Imports a session file of Clotho among other files. Imported alone, such a file becomes a copy. In a folder or
//! archive it only restores what is missing, so the same folder can be imported again.

use clotho_compat::interop::{FindingDetail, FindingOutcome, ImportFinding};
use clotho_core::ids::{SessionId, UserId};
use clotho_store::archive::{ArchiveLine, ArchiveReader, SessionLine};
use clotho_store::{SessionPresence, SourceRecord, StoreError, StoreReader};

use super::super::ForeignImportItem;
use super::super::check::check;
use super::super::file_container::SourceFile;
use super::super::import::{ImportError, SessionImportOptions, import_from};
use super::super::sillytavern::ForeignImport;

impl ForeignImport<'_> {
    /// Imports a session file, unless its session exists.
    pub(super) async fn import_session(&mut self, place: &SourceFile) -> Result<(), ImportError> {
        self.result.totals.chats += 1;
        let report_progress = match self.import_own(place).await {
            Ok(item) => item,
            Err(ImportError::Fault(fault)) => {
                skipped_item(place, invalid_session_finding(fault.message).at_line(fault.line))
            }
            Err(ImportError::Refused(refusal)) => skipped_item(place, invalid_session_finding(refusal.to_string())),
            Err(error) => return Err(error),
        };
        self.read_progress.add_read(usize::try_from(place.bytes).unwrap_or(usize::MAX));
        self.count_item(report_progress.from_file(&place.name));
        Ok(())
    }

    /// Imports a session file and returns its report item.
    async fn import_own(&mut self, place: &SourceFile) -> Result<ForeignImportItem, ImportError> {
        let mut lines = ArchiveReader::begin(place.open()?, self.options.limits)?;
        let Some(ArchiveLine::Session(session)) = lines.next_line()? else {
            return Err(lines.error("expected the session").into());
        };
        let (owner, id) = (self.options.owner, session.id);
        let read = move |reader: &mut StoreReader<'_>| Ok::<_, ImportError>(existing_session(reader, owner, id)?);
        let seen = self.dry_run.source(&source_name(id)).map(|_| (id, SessionPresence::Present));
        let found = match seen {
            Some(seen) => seen,
            None => self.store.read(read).await?,
        };
        match found {
            (is, SessionPresence::Present) => {
                self.result.totals.unchanged += 1;
                let mut item = ForeignImportItem::new("session", session.title, is);
                item.fate = FindingOutcome::Kept;
                Ok(item.with_findings(vec![ImportFinding::kept(&FindingDetail::SessionExists {})]))
            }
            (is, SessionPresence::InTrash) => {
                let why = ImportFinding::skipped(&FindingDetail::SessionInTrash {});
                let mut item = ForeignImportItem::skipped("session", session.title, why);
                item.id = Some(is.to_string());
                Ok(item)
            }
            (_, SessionPresence::Deleted) => self.import_checked(place, *session).await,
        }
    }

    async fn import_checked(
        &mut self,
        place: &SourceFile,
        session: SessionLine,
    ) -> Result<ForeignImportItem, ImportError> {
        let (owner, limits) = (self.options.owner, self.options.limits);
        let (is, nodes) = if self.options.is_dry {
            let mut lines = ArchiveReader::begin(place.open()?, limits)?;
            let nodes = check(&mut lines, || self.check_cancelled())?.counts.nodes;
            self.dry_run.keep(SourceRecord::new(source_name(session.id), session.id.as_bytes()));
            (session.id, nodes)
        } else {
            let arrival = SessionImportOptions { owner, job: None, title: None, is_trusted: self.options.is_trusted };
            let (report_progress, way) = (&mut self.listener, &self.read_progress);
            let mut report_progress = |_| report_progress(way.progress());
            let is = import_from(self.store, place, arrival, self.ids, self.options.at, limits, &mut report_progress)
                .await?;
            let stored = self.store.read(move |reader| Ok::<_, ImportError>(reader.session(owner, is)?)).await?;
            (is, stored.map_or(0, |stored| stored.counts.nodes))
        };
        if is != session.id {
            let source = SourceRecord::new(source_name(session.id), is.as_bytes());
            self.store.write(move |tx| tx.put_source(owner, &source)).await?;
        }
        let nodes = u64::try_from(nodes).unwrap_or(0);
        self.result.totals.sessions += 1;
        self.result.totals.messages += nodes;
        let detail = FindingDetail::SessionMessages { messages: usize::try_from(nodes).unwrap_or(0) };
        Ok(ForeignImportItem::new("session", session.title, is).with_findings(vec![ImportFinding::works(&detail)]))
    }
}

fn invalid_session_finding(reason: String) -> ImportFinding {
    ImportFinding::skipped(&FindingDetail::InvalidSession { reason })
}

fn skipped_item(place: &SourceFile, why: ImportFinding) -> ForeignImportItem {
    ForeignImportItem::skipped("session", place.stem(), why)
}

/// Returns the source key of a session that was imported under another id, because its own was taken.
fn source_name(session: SessionId) -> String {
    format!("session/{session}")
}

/// Returns the id of the session or its copy here, and whether it exists.
fn existing_session(
    reader: &mut StoreReader<'_>,
    owner: UserId,
    session: SessionId,
) -> Result<(SessionId, SessionPresence), StoreError> {
    let copy = reader.source(owner, &source_name(session))?.and_then(|source| SessionId::from_slice(&source.became));
    for id in [Some(session), copy].into_iter().flatten() {
        let place = reader.session_presence(owner, id)?;
        if !matches!(place, SessionPresence::Deleted) {
            return Ok((id, place));
        }
    }
    Ok((session, SessionPresence::Deleted))
}
