//! What this server wrote into a folder itself (`transfer/out/shelf.rs`): a list of its files, each with its hash and with what
//! it is here. A file that is still as it went out, of something that is still here, brings nothing.
//!
//! The list is a stranger's word like all else in a folder: it only says where to look, and who owns a thing is looked up.

use std::collections::HashMap;
use std::io;

use serde_json::Value;
use uuid::Uuid;

use crate::ids::SessionId;
use crate::store::Whereabouts;

use super::super::import::ImportError;
use super::Work;
use super::known::Thing;
use super::root::{Folder, Root};
use super::scan::Scanned;

/// The files of a folder that went out from here or from another house.
#[derive(Debug, Default)]
pub struct List(HashMap<String, (String, Uuid)>);

impl List {
    /// The list of a folder. One that is not there says nothing.
    ///
    /// # Errors
    /// It cannot be read, or is no JSON.
    pub fn of(root: &Root) -> io::Result<Self> {
        let Some(place) = &root.list else { return Ok(Self::default()) };
        let value: Value = serde_json::from_slice(&place.read()?)?;
        let files = value.get("files").and_then(Value::as_object).into_iter().flatten();
        let file = |(name, file): (&String, &Value)| {
            let text = |key: &str| file.get(key).and_then(Value::as_str);
            Some((name.clone(), (text("hash")?.to_owned(), text("is")?.parse().ok()?)))
        };
        Ok(Self(files.filter_map(file).collect()))
    }

    /// What went out as a file that has this hash.
    fn is(&self, name: &str, hash: &blake3::Hash) -> Option<Uuid> {
        let (listed, is) = self.0.get(name)?;
        (*listed == hash.to_hex().as_str()).then_some(*is)
    }
}

impl<F: FnMut(super::Progress) -> bool> Work<'_, F> {
    /// The thing of the owner's that went out as this file.
    pub async fn went_out<Id: Thing>(&mut self, name: &str, hash: &blake3::Hash) -> Result<Option<Id>, ImportError> {
        let Some(id) = self.list.is(name, hash).and_then(|id| Id::from_slice(id.as_bytes())) else { return Ok(None) };
        let owner = self.wish.owner;
        let held = self.store.read(move |reader| Ok::<_, ImportError>(id.held(reader, owner)?)).await?;
        self.arrived.totals.known += u64::from(held.is_some());
        Ok(held.map(|held| held.id))
    }

    /// Whether a chat is a line of a session that is here, as it went out; then it is counted as known.
    pub async fn is_known_line(&mut self, folder: &Folder, file: &Scanned) -> Result<bool, ImportError> {
        let name = super::bed::file_key(folder, file);
        let Some(id) = self.list.is(&name, &file.hash).and_then(|id| SessionId::from_slice(id.as_bytes())) else {
            return Ok(false);
        };
        let owner = self.wish.owner;
        let place = self.store.read(move |reader| Ok::<_, ImportError>(reader.whereabouts(owner, id)?)).await?;
        match place {
            Whereabouts::Gone => return Ok(false),
            Whereabouts::InTrash => self.leave(file, id),
            Whereabouts::Here => self.arrived.totals.unchanged += 1,
        }
        self.arrived.totals.chats += 1;
        self.way.passed(usize::try_from(file.place.bytes).unwrap_or(0));
        Ok(true)
    }
}
