//! What a look has seen: nothing of it is written, so whatever comes twice in one run is known again only from here.

use std::collections::{HashMap, HashSet};

use clotho_compat::interop::chat_tree::PathHash;
use clotho_core::ids::{NodeId, SessionId};
use clotho_store::SourceRecord;

use super::import_target::{ImportTarget, LOOSE};
use super::message_to_node;

/// What would be there by now. In a run that writes it stays empty: there the store says it.
#[derive(Debug, Default)]
pub struct DryRunState {
    sources: HashMap<String, SourceRecord>,
    sessions: HashMap<SessionId, (NodeId, HashSet<NodeId>)>,
}

impl DryRunState {
    /// Something would be known by this from now on.
    pub fn keep(&mut self, source: SourceRecord) {
        self.sources.insert(source.name.clone(), source);
    }

    /// A session would stand like this.
    pub fn keep_session(&mut self, bed: ImportTarget) {
        self.sessions.insert(bed.session, (bed.root, bed.known));
    }

    /// What would be known by a name.
    pub fn source(&self, name: &str) -> Option<&SourceRecord> {
        self.sources.get(name)
    }

    /// The root and the nodes that a session would have.
    pub fn session(&self, id: SessionId) -> Option<&(NodeId, HashSet<NodeId>)> {
        self.sessions.get(&id)
    }

    /// The session that a name would lead to, where it has the message with which what asks begins.
    pub fn session_of(&self, source: &SourceRecord, first: Option<PathHash>) -> Option<SessionId> {
        let id = SessionId::from_slice(&source.became)?;
        let has = |first: PathHash| {
            self.session(id).is_none_or(|(_, known)| known.contains(&NodeId::new(message_to_node::id(id, &first))))
        };
        first.is_none_or(has).then_some(id)
    }

    /// A chat that would have come in with the same bytes and name: by itself, where it comes in a folder now, or the other way
    /// round.
    pub fn same_chat(&self, is_loose: bool, stem: &str, hash: &blake3::Hash) -> Option<&SourceRecord> {
        let (alone, end) = (format!("{LOOSE}/{stem}.jsonl"), format!("/{stem}.jsonl"));
        let is_same = |source: &&SourceRecord| source.hash.as_deref() == Some(hash.as_bytes());
        match is_loose {
            true => self.sources.values().filter(is_same).find(|one| one.node.is_some() && one.name.ends_with(&end)),
            false => self.sources.get(&alone).filter(is_same),
        }
    }
}
