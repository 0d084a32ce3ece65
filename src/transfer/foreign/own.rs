//! A session that this program wrote, among other files. By itself such a file becomes a copy beside what is here; in a folder or
//! an archive it brings back what is missing, so that the same folder may be taken in again.

use crate::archive::{ArchiveLine, ArchiveReader, SessionLine};
use crate::ids::{SessionId, UserId};
use crate::interop::finding::many;
use crate::interop::{FindingOutcome, ImportFinding};
use crate::store::{SessionPresence, SourceRecord, StoreError, StoreReader};

use super::super::ForeignImportItem;
use super::super::check::check;
use super::super::house::SourceFile;
use super::super::import::{ImportError, SessionImportOptions, import_from};
use super::super::sillytavern::ForeignImport;

impl ForeignImport<'_> {
    /// Takes a session in, unless it is here.
    pub(super) async fn session(&mut self, place: &SourceFile) -> Result<(), ImportError> {
        self.arrived.totals.chats += 1;
        let told = match self.own(place).await {
            Ok(item) => item,
            Err(ImportError::Fault(fault)) => {
                bad(place, ImportFinding::new(FindingOutcome::Skipped, "bad_session", fault.message).at(fault.line))
            }
            Err(ImportError::Refused(refusal)) => {
                bad(place, ImportFinding::new(FindingOutcome::Skipped, "bad_session", refusal.to_string()))
            }
            Err(error) => return Err(error),
        };
        self.way.passed(usize::try_from(place.bytes).unwrap_or(usize::MAX));
        self.report(told.from_file(&place.name));
        Ok(())
    }

    /// Takes it in; answers with what is to say of it.
    async fn own(&mut self, place: &SourceFile) -> Result<ForeignImportItem, ImportError> {
        let mut lines = ArchiveReader::begin(place.open()?, self.wish.limits)?;
        let Some(ArchiveLine::Session(session)) = lines.next_line()? else {
            return Err(lines.fault("the session is expected here").into());
        };
        let (owner, id) = (self.wish.owner, session.id);
        let read = move |reader: &mut StoreReader<'_>| Ok::<_, ImportError>(became(reader, owner, id)?);
        let seen = self.look.source(&known_by(id)).map(|_| (id, SessionPresence::Here));
        let found = match seen {
            Some(seen) => seen,
            None => self.store.read(read).await?,
        };
        match found {
            (is, SessionPresence::Here) => {
                self.arrived.totals.unchanged += 1;
                let words = "it is here already and stays as it is; by itself the file becomes a copy beside it";
                let mut item = ForeignImportItem::new("session", session.title, is);
                item.fate = FindingOutcome::Kept;
                Ok(item.with(vec![ImportFinding::new(FindingOutcome::Kept, "session_here", words)]))
            }
            (is, SessionPresence::InTrash) => {
                let message = "it lies in the trash: bring it back or delete it for good, and import again";
                let mut item = ForeignImportItem::skipped(
                    "session",
                    session.title,
                    ImportFinding::new(FindingOutcome::Skipped, "in_trash", message),
                );
                item.id = Some(is.to_string());
                Ok(item)
            }
            (_, SessionPresence::Gone) => self.comes(place, *session).await,
        }
    }

    async fn comes(&mut self, place: &SourceFile, session: SessionLine) -> Result<ForeignImportItem, ImportError> {
        let (owner, limits) = (self.wish.owner, self.wish.limits);
        let (is, nodes) = if self.wish.is_dry {
            let mut lines = ArchiveReader::begin(place.open()?, limits)?;
            let nodes = check(&mut lines, || self.go_on())?.counts.nodes;
            self.look.keep(SourceRecord::new(known_by(session.id), session.id.as_bytes()));
            (session.id, nodes)
        } else {
            let arrival = SessionImportOptions { owner, job: None, title: None };
            let (told, way) = (&mut self.told, &self.way);
            let mut told = |_| told(way.progress());
            let is = import_from(self.store, place, arrival, self.ids, self.wish.at, limits, &mut told).await?;
            let held = self.store.read(move |reader| Ok::<_, ImportError>(reader.session(owner, is)?)).await?;
            (is, held.map_or(0, |held| held.counts.nodes))
        };
        if is != session.id {
            let source = SourceRecord::new(known_by(session.id), is.as_bytes());
            self.store.write(move |tx| tx.put_source(owner, &source)).await?;
        }
        let nodes = u64::try_from(nodes).unwrap_or(0);
        self.arrived.totals.sessions += 1;
        self.arrived.totals.messages += nodes;
        let words = many(usize::try_from(nodes).unwrap_or(0), "message, with all", "messages, with all")
            + " that belongs to them";
        Ok(ForeignImportItem::new("session", session.title, is).with(vec![ImportFinding::new(
            FindingOutcome::Works,
            "messages",
            words,
        )]))
    }
}

fn bad(place: &SourceFile, why: ImportFinding) -> ForeignImportItem {
    ForeignImportItem::skipped("session", place.stem(), why)
}

/// By what a session is known that came in under another id, because somebody else has its own.
fn known_by(session: SessionId) -> String {
    format!("session/{session}")
}

/// What a session is here, and where it is.
fn became(
    reader: &mut StoreReader<'_>,
    owner: UserId,
    session: SessionId,
) -> Result<(SessionId, SessionPresence), StoreError> {
    let copy = reader.source(owner, &known_by(session))?.and_then(|source| SessionId::from_slice(&source.became));
    for id in [Some(session), copy].into_iter().flatten() {
        let place = reader.whereabouts(owner, id)?;
        if !matches!(place, SessionPresence::Gone) {
            return Ok((id, place));
        }
    }
    Ok((session, SessionPresence::Gone))
}
