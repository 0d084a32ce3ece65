//! What a dry run has seen. Nothing is written, so repeated files of one run are recognized only from here.

use std::collections::{HashMap, HashSet};

use clotho_compat::interop::chat_tree::PathHash;
use clotho_core::ids::{NodeId, SessionId};
use clotho_store::SourceRecord;

use super::import_target::{ImportTarget, LOOSE};
use super::message_to_node;

/// What a real run would have stored by now. Outside of a dry run it stays empty and the store is asked.
#[derive(Debug, Default)]
pub struct DryRunState {
    sources: HashMap<String, SourceRecord>,
    sessions: HashMap<SessionId, (NodeId, HashSet<NodeId>)>,
}

impl DryRunState {
    /// Remembers a source record.
    pub fn keep(&mut self, source: SourceRecord) {
        self.sources.insert(source.name.clone(), source);
    }

    /// Remembers a session with its nodes.
    pub fn keep_session(&mut self, target: ImportTarget) {
        self.sessions.insert(target.session, (target.root, target.known_nodes));
    }

    /// Returns the source record with this name.
    pub fn source(&self, name: &str) -> Option<&SourceRecord> {
        self.sources.get(name)
    }

    /// Returns the root and the nodes of a session.
    pub fn session(&self, id: SessionId) -> Option<&(NodeId, HashSet<NodeId>)> {
        self.sessions.get(&id)
    }

    /// Returns the session of a source record, if that has the given first message or none is given.
    pub fn session_of(&self, source: &SourceRecord, first: Option<PathHash>) -> Option<SessionId> {
        let id = SessionId::from_slice(&source.became)?;
        let has = |first: PathHash| {
            self.session(id).is_none_or(|(_, known)| known.contains(&NodeId::new(message_to_node::id(id, &first))))
        };
        first.is_none_or(has).then_some(id)
    }

    /// Finds a chat with the same bytes and name: one that came alone if this one comes in a folder, or the other
    /// way round.
    pub fn same_chat(&self, is_loose: bool, stem: &str, hash: &blake3::Hash) -> Option<&SourceRecord> {
        let (alone, end) = (format!("{LOOSE}/{stem}.jsonl"), format!("/{stem}.jsonl"));
        let is_same = |source: &&SourceRecord| source.hash.as_deref() == Some(hash.as_bytes());
        match is_loose {
            true => self.sources.values().filter(is_same).find(|one| one.node.is_some() && one.name.ends_with(&end)),
            false => self.sources.get(&alone).filter(is_same),
        }
    }
}
