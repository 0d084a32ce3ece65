//! Import and export of SillyTavern folders.
//!
//! - `golden`, `trees`, `worlds`: reading the recorded chats, which files become which trees, and what variables
//!   become
//! - `lore_personas_and_presets`, `skipped_files`: everything besides chats, and what is not read
//! - `repeat_import`, `kills`, `memory`: a second run, crashes, and memory use
//! - `deleted_characters`: what the folder of a deleted character brings back
//! - `play`, `command`: an imported session continued over HTTP, and the command line
//! - `imported_scripts`: regex scripts leave imported messages alone
//! - `chat_export`, `canonical`: export of chats, and the differences that it may have
//! - `folder_export`, `folder_transfer`: export of a whole folder, and its import into another store
//! - `hostile`: malicious files

mod canonical;
mod chat_export;
pub mod command;
mod deleted_characters;
mod folder_export;
mod folder_transfer;
mod golden;
pub mod hostile;
mod import_kills;
mod imported_scripts;
mod lore_personas_and_presets;
mod memory;
pub mod play;
mod repeat_import;
mod skipped_files;
mod titles;
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

/// Imports a folder.
fn import_folder(store: &TestStore, path: &Path) -> ForeignImportResult {
    import_folder_until(store, path, |_| true).unwrap()
}

pub fn import_options(store: &TestStore) -> ImportOptions {
    ImportOptions {
        owner: store.owner,
        language: Default::default(),
        at: store.now(),
        zone: TimeZone::UTC,
        is_dry: false,
        is_trusted: true,
        limits: ArchiveLimits::for_archive(64 << 20),
    }
}

fn import_folder_until(
    store: &TestStore,
    path: &Path,
    told: impl FnMut(clotho_engine::transfer::ImportProgress) -> bool + Send,
) -> Result<ForeignImportResult, ImportError> {
    store.block_on(import(store.store(), &store.ids, ImportSource::Path(path.to_owned()), import_options(store), told))
}

/// Returns the path of a recorded chat.
pub fn chat_fixture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden/chats").join(name)
}

/// Returns the owner's sessions, by title.
pub fn sessions(store: &TestStore) -> Vec<StoredSession> {
    let owner = store.owner;
    let mut all = store.read(move |reader| reader.sessions(owner, 0, 1_000));
    all.sort_by(|one, other| one.session.title.cmp(&other.session.title));
    all
}

/// Returns the only session.
pub fn only_session(store: &TestStore) -> StoredSession {
    let mut all = sessions(store);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// Returns all nodes of a session but the root, each with the texts that lead to it.
pub fn nodes_with_paths(store: &TestStore, held: &StoredSession) -> Vec<(Vec<String>, Node)> {
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

/// Returns the node with a text.
pub fn node_by_text(store: &TestStore, held: &StoredSession, text: &str) -> Node {
    let mut found = nodes_with_paths(store, held).into_iter().map(|(_, node)| node).filter(|node| node.content == text);
    let node = found.next().unwrap_or_else(|| panic!("nobody said {text}"));
    assert!(found.next().is_none(), "{text} was said twice");
    node
}

/// Returns the texts of a node's children, in order.
pub fn child_texts(store: &TestStore, held: &StoredSession, parent: NodeId) -> Vec<String> {
    let held = held.clone();
    let children = store.read(move |reader| reader.children(&held, parent));
    children.into_iter().map(|child| child.node.content).collect()
}

/// Returns everything about the sessions of a store that does not depend on when and how often they were imported.
pub fn dump_sessions(store: &TestStore) -> Value {
    let told = |held: &StoredSession| {
        let mut seen: Vec<Value> = nodes_with_paths(store, held)
            .into_iter()
            .map(|(way, node)| {
                let world = store.world(held.session.id, node.id);
                json!({
                    "way": way, "role": node.role.as_str(), "kind": node.kind.as_str(), "enabled": node.is_enabled,
                    "metadata": node.metadata, "created": node.created.0, "world": world.vars,
                    "name": node.name, "reasoning": node.reasoning,
                })
            })
            .collect();
        seen.sort_by_key(Value::to_string);
        let own = held.clone();
        let labels = store.read(move |reader| reader.labels(&own));
        let at = |id: NodeId| store.stored_node(held.session.id, id).node.content;
        let labels: Vec<Value> =
            labels.iter().map(|label| json!([label.name, at(label.node), label.following])).collect();
        json!({"title": held.session.title, "nodes": seen, "labels": labels, "line": store.visible_texts(held.session.id)})
    };
    let mut all: Vec<Value> = sessions(store).iter().map(told).collect();
    all.sort_by_key(Value::to_string);
    Value::from(all)
}

/// Returns the variables of a chat (`stat_data`) in a node's world, as the store folds it.
fn stat_data(store: &TestStore, session: SessionId, node: NodeId) -> Value {
    store.world(session, node).vars.get("stat_data").cloned().unwrap_or(Value::Null)
}
