//! Folders of SillyTavern: `lore_personas_and_presets` is what there is besides chats, `golden` reads the recorded chats, `trees` says which files become which trees, `repeat_import` what a
//! second run does, `skipped_files` what is not read, `chat_export` how chats go out again and `canonical` in what they may differ then, `folder_export` a whole folder the same way, `folder_transfer` such a folder in another house, `worlds` what variables become, `play` goes on with an imported story over HTTP, `command` is what a host
//! types, `kills` what a crash leaves, `memory` what is held of a large one, and
//! `hostile` who means no good.

mod canonical;
mod chat_export;
pub mod command;
mod folder_export;
mod folder_transfer;
mod golden;
pub mod hostile;
mod kills;
mod lore_personas_and_presets;
mod memory;
pub mod play;
mod repeat_import;
mod skipped_files;
mod trees;
mod worlds;

use std::path::{Path, PathBuf};

use clotho_core::ids::{NodeId, SessionId};
use clotho_core::tree::Node;
use clotho_engine::transfer::ImportError;
use clotho_engine::transfer::sillytavern::{ForeignImportResult, ImportOptions, ImportSource, import};
use clotho_store::StoredSession;
use clotho_store::archive::ArchiveLimits;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::support::test_store::TestStore;

/// Takes a folder in.
fn taken(store: &TestStore, path: &Path) -> ForeignImportResult {
    taken_until(store, path, |_| true).unwrap()
}

pub fn wish(store: &TestStore) -> ImportOptions {
    ImportOptions {
        owner: store.owner,
        at: store.now(),
        zone: TimeZone::UTC,
        is_dry: false,
        limits: ArchiveLimits::of(64 << 20),
    }
}

fn taken_until(
    store: &TestStore,
    path: &Path,
    told: impl FnMut(clotho_engine::transfer::ImportProgress) -> bool + Send,
) -> Result<ForeignImportResult, ImportError> {
    store.block_on(import(store.store(), &store.ids, ImportSource::Path(path.to_owned()), wish(store), told))
}

/// A recorded chat.
pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden/chats").join(name)
}

/// The owner's sessions, by title.
pub fn sessions(store: &TestStore) -> Vec<StoredSession> {
    let owner = store.owner;
    let mut all = store.read(move |reader| reader.sessions(owner, 0, 1_000));
    all.sort_by(|one, other| one.session.title.cmp(&other.session.title));
    all
}

/// The one session that there is.
pub fn only(store: &TestStore) -> StoredSession {
    let mut all = sessions(store);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// All nodes of a session but the root, each with the texts that lead to it.
pub fn nodes(store: &TestStore, held: &StoredSession) -> Vec<(Vec<String>, Node)> {
    let held = held.clone();
    store.read(move |reader| {
        let (mut found, mut next) = (Vec::new(), vec![(Vec::new(), held.session.root)]);
        while let Some((path, at)) = next.pop() {
            for child in reader.children(&held, at)? {
                let mut way: Vec<String> = path.clone();
                way.push(child.node.content.clone());
                next.push((way.clone(), child.node.id));
                found.push((way, child.node));
            }
        }
        Ok(found)
    })
}

/// The node with a text.
pub fn node(store: &TestStore, held: &StoredSession, text: &str) -> Node {
    let mut found = nodes(store, held).into_iter().map(|(_, node)| node).filter(|node| node.content == text);
    let node = found.next().unwrap_or_else(|| panic!("nobody said {text}"));
    assert!(found.next().is_none(), "{text} was said twice");
    node
}

/// The texts of the children of a node, in order.
pub fn children(store: &TestStore, held: &StoredSession, parent: NodeId) -> Vec<String> {
    let held = held.clone();
    let children = store.read(move |reader| reader.children(&held, parent));
    children.into_iter().map(|child| child.node.content).collect()
}

/// Everything about the stories of a store that does not depend on when and how often they were taken in.
pub fn face(store: &TestStore) -> Value {
    let told = |held: &StoredSession| {
        let mut seen: Vec<Value> = nodes(store, held)
            .into_iter()
            .map(|(way, node)| {
                let world = store.world(held.session.id, node.id);
                json!({
                    "way": way, "role": node.role.word(), "kind": node.kind.word(), "enabled": node.is_enabled,
                    "metadata": node.metadata, "created": node.created.0, "world": world.vars,
                    "name": node.name, "reasoning": node.reasoning,
                })
            })
            .collect();
        seen.sort_by_key(Value::to_string);
        let own = held.clone();
        let labels = store.read(move |reader| reader.labels(&own));
        let at = |id: NodeId| store.placed(held.session.id, id).node.content;
        let labels: Vec<Value> =
            labels.iter().map(|label| json!([label.name, at(label.node), label.following])).collect();
        json!({"title": held.session.title, "nodes": seen, "labels": labels, "line": store.shown(held.session.id)})
    };
    let mut all: Vec<Value> = sessions(store).iter().map(told).collect();
    all.sort_by_key(Value::to_string);
    Value::from(all)
}

/// The worlds of a line of nodes, as the store folds them.
fn state(store: &TestStore, session: SessionId, node: NodeId) -> Value {
    store.world(session, node).vars.get("stat_data").cloned().unwrap_or(Value::Null)
}
