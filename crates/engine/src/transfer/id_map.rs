//! The ids of an imported session: its own if none of them is taken, otherwise new ones for all. A copy gets new ids
//! everywhere, also inside the JSON of metadata, deltas, traces and log. Each node keeps its old id as `provenance`.

use std::collections::HashMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use uuid::Uuid;

use clotho_core::ids::{FragmentId, NodeId, SessionId, UserId};
use clotho_core::oplog::{FragmentInfo, LabelTarget};
use clotho_core::tree::reply_facts::Provenance;
use clotho_store::archive::{ArchiveLine, HistoryNode, NodeLine, OperationLine, SessionLine, TraceLine};

use super::check::{ImportCheck, StashAndLabels};

/// Maps the ids in a file to ids here.
#[derive(Debug, Clone)]
pub struct ImportIdMap {
    session: SessionId,
    from: UserId,
    owner: UserId,
    new: HashMap<Uuid, Uuid>,
}

impl ImportIdMap {
    /// Keeps all ids, except that the importing user replaces the owner.
    pub fn keeping(session: &SessionLine, owner: UserId) -> Self {
        Self { session: session.id, from: session.owner, owner, new: HashMap::new() }
    }

    /// Makes new ids for the session, its nodes and its fragments.
    pub fn copying(checked: &ImportCheck, owner: UserId, mut next: impl FnMut() -> Uuid) -> Self {
        let nodes = checked.nodes.iter().map(|id| id.uuid());
        let fragments = checked.fragments.iter().map(|id| id.uuid());
        let old = std::iter::once(checked.session.id.uuid()).chain(nodes).chain(fragments);
        let new = old.map(|old| (old, next())).collect();
        Self { new, ..Self::keeping(&checked.session, owner) }
    }

    /// Whether the session is a copy. A copy does not take over the source records of the original.
    pub fn is_copy(&self) -> bool {
        !self.new.is_empty()
    }

    fn id(&self, id: Uuid) -> Uuid {
        self.new.get(&id).copied().unwrap_or(id)
    }

    /// Maps the id of a node.
    pub fn node(&self, id: NodeId) -> NodeId {
        NodeId::new(self.id(id.uuid()))
    }

    fn fragment(&self, id: FragmentId) -> FragmentId {
        FragmentId::new(self.id(id.uuid()))
    }

    /// Maps the ids of stash and labels.
    pub fn stash_and_labels(&self, beside: &StashAndLabels) -> StashAndLabels {
        let cut = |cut: &FragmentInfo| FragmentInfo { fragment: self.fragment(cut.fragment), ..cut.clone() };
        let mark = |mark: &LabelTarget| LabelTarget { node: self.node(mark.node), ..*mark };
        StashAndLabels {
            stash: beside.stash.iter().map(|(top, one)| (self.node(*top), cut(one))).collect(),
            stashed_nodes: beside
                .stashed_nodes
                .iter()
                .map(|(node, id)| (self.node(*node), self.fragment(*id)))
                .collect(),
            labels: beside.labels.iter().map(|(name, one)| (name.clone(), mark(one))).collect(),
        }
    }

    fn user(&self, id: UserId) -> UserId {
        if id == self.from { self.owner } else { id }
    }

    /// Maps the ids and the owner of the session.
    pub fn session(&self, line: SessionLine) -> SessionLine {
        SessionLine {
            id: SessionId::new(self.id(line.id.uuid())),
            owner: self.owner,
            root: self.node(line.root),
            head: self.node(line.head),
            ..line
        }
    }

    /// Maps the ids in a line.
    ///
    /// # Errors
    /// Returns an error if its JSON cannot be parsed, because nothing of it may get lost.
    pub fn line(&self, line: ArchiveLine) -> serde_json::Result<ArchiveLine> {
        Ok(match line {
            ArchiveLine::Session(session) => ArchiveLine::Session(Box::new(self.session(*session))),
            ArchiveLine::Node(node) => ArchiveLine::Node(Box::new(self.node_line(*node)?)),
            ArchiveLine::Operation(operation) => ArchiveLine::Operation(Box::new(self.operation(*operation)?)),
            ArchiveLine::Trace(trace) => ArchiveLine::Trace(Box::new(self.trace(*trace))),
            ArchiveLine::Source(mut source) => {
                source.node = source.node.map(|node| self.node(node));
                ArchiveLine::Source(source)
            }
            other @ (ArchiveLine::Blob(_) | ArchiveLine::End(_)) => other,
        })
    }

    fn node_line(&self, mut line: NodeLine) -> serde_json::Result<NodeLine> {
        line.author = line.author.map(|id| self.user(id));
        if self.new.is_empty() {
            return Ok(line);
        }
        line.metadata = self.metadata(&line)?;
        for delta in &mut line.deltas {
            delta.body = self.json(&delta.body)?;
        }
        line.remembered = line.remembered.map(|id| self.node(id));
        line.fragment = line.fragment.map(|id| self.fragment(id));
        line.parent = line.parent.map(|id| self.node(id));
        line.id = self.node(line.id);
        Ok(line)
    }

    /// Maps the metadata of a node and adds its provenance.
    fn metadata(&self, line: &NodeLine) -> serde_json::Result<Box<RawValue>> {
        let mut metadata: Map<String, Value> = serde_json::from_str(line.metadata.get())?;
        metadata.values_mut().for_each(|value| self.value(value));
        let origin = Provenance::of_copy(metadata.get("provenance"), self.session, line.id);
        metadata.insert("provenance".to_owned(), origin);
        serde_json::value::to_raw_value(&metadata)
    }

    fn operation(&self, mut line: OperationLine) -> serde_json::Result<OperationLine> {
        line.actor = line.actor.map(|id| self.user(id));
        line.effects = self.json(&line.effects)?;
        Ok(line)
    }

    fn trace(&self, mut line: TraceLine) -> TraceLine {
        if self.new.is_empty() {
            return line;
        }
        line.node = self.node(line.node);
        self.value(&mut line.head);
        line.blocks.iter_mut().for_each(|(about, _)| self.value(about));
        line.history.base = line.history.base.map(|id| self.node(id));
        for sent in line.history.add.iter_mut().flatten() {
            *sent = sent.local().map_or(HistoryNode::Elsewhere, |id| HistoryNode::Here(self.node(id)));
        }
        line
    }

    fn json(&self, text: &RawValue) -> serde_json::Result<Box<RawValue>> {
        if self.new.is_empty() {
            return Ok(text.to_owned());
        }
        let mut value: Value = serde_json::from_str(text.get())?;
        self.value(&mut value);
        serde_json::value::to_raw_value(&value)
    }

    /// Maps every text that is a known id, at any depth. The parser limits the depth.
    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(new) = self.text(text) {
                    *text = new;
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|value| self.value(value)),
            Value::Object(map) => {
                map.values_mut().for_each(|value| self.value(value));
                if map.keys().any(|key| self.text(key).is_some()) {
                    let old = std::mem::take(map);
                    *map = old.into_iter().map(|(key, value)| (self.text(&key).unwrap_or(key), value)).collect();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&self, text: &str) -> Option<String> {
        // Only texts with the length of an id are parsed.
        let id: NodeId = Some(text).filter(|text| text.len() == 36)?.parse().ok()?;
        self.new.get(&id.uuid()).map(Uuid::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// JSON that cannot be parsed is an error, never replaced by something empty.
    #[test]
    fn import_copy_malformed_json_returns_error() {
        let id = |n: u128| Uuid::from_u128(n);
        let names = ImportIdMap {
            session: SessionId::new(id(1)),
            from: UserId::new(id(2)),
            owner: UserId::new(id(3)),
            new: HashMap::from([(id(4), id(5))]),
        };
        let node = |metadata: &str, delta: &str| {
            let text = format!(
                r#"{{"node": {{"id": "{}", "role": "user", "kind": "message", "status": "complete", "content": "Hi.",
                "metadata": {metadata}, "diceSeed": 1, "revision": 1, "deltas": [{{"revision": 1, "body": {delta}}}], "created": 0}}}}"#,
                id(4)
            );
            names.line(serde_json::from_str(&text).unwrap())
        };
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        let Ok(ArchiveLine::Node(copy)) = node(r#"{"model": "m"}"#, "{}") else { panic!("it reads well") };
        assert_eq!(copy.id.uuid(), id(5));
        assert!(copy.metadata.get().contains("\"model\"") && copy.metadata.get().contains("provenance"));
        assert!(node("[]", "{}").is_err(), "metadata that is no object");
        assert!(node("{}", &deep).is_err(), "JSON that nobody reads");
    }
}
