//! Files of programs other than SillyTavern.
//!
//! - `branching_chats`, `linear_chats`: programs whose chats branch, and programs whose chats do not
//! - `format_detection`: how formats are told apart, over HTTP and on the command line
//! - `folders`: files among other files
//! - `hostile`: malicious files

mod branching_chats;
mod folders;
mod format_detection;
mod hostile;
mod linear_chats;

use std::path::Path;

use clotho_engine::transfer::ImportError;
use clotho_engine::transfer::foreign::import;
use clotho_engine::transfer::sillytavern::{ForeignImportResult, ImportSource};
use serde_json::{Value, json};

use crate::sillytavern::import_options;
use crate::support::data_root::DataRoot;
use crate::support::test_store::TestStore;

/// Imports a folder or a file.
fn import_path(store: &TestStore, path: &Path) -> ForeignImportResult {
    try_import_path(store, path).unwrap()
}

fn try_import_path(store: &TestStore, path: &Path) -> Result<ForeignImportResult, ImportError> {
    store.block_on(import(
        store.store(),
        &store.ids,
        ImportSource::Path(path.to_owned()),
        import_options(store),
        |_| true,
    ))
}

/// Imports one file with this JSON.
fn import_json(store: &TestStore, value: &Value) -> ForeignImportResult {
    let folder = DataRoot::without_subfolders();
    import_path(store, &folder.write_file("file.json", &value.to_string()))
}

/// Returns a ChatGPT message.
fn chatgpt_message(id: &str, parent: Option<&str>, role: &str, text: &str) -> (String, Value) {
    let message = json!({
        "id": id, "author": {"role": role, "name": null, "metadata": {}}, "create_time": 1_700_000_000.5, "weight": 1.0,
        "content": {"content_type": "text", "parts": [text]}, "status": "finished_successfully", "recipient": "all",
        "metadata": {"model_slug": "gpt-x", "own": {"a": 1}},
    });
    (id.to_owned(), json!({"id": id, "parent": parent, "children": [], "message": message}))
}

/// Returns a ChatGPT conversation in which one question has two versions, and one of these has two answers.
fn chatgpt_conversation() -> Value {
    let mut mapping: serde_json::Map<String, Value> = [
        chatgpt_message("note", Some("root"), "system", ""),
        chatgpt_message("ask", Some("note"), "user", "Where is the lamp?"),
        chatgpt_message("one", Some("ask"), "assistant", "On the shelf."),
        chatgpt_message("other", Some("ask"), "assistant", "On the stairs."),
        chatgpt_message("thanks", Some("other"), "user", "Thank you."),
        chatgpt_message("again", Some("note"), "user", "Where is the oil?"),
    ]
    .into_iter()
    .collect();
    mapping.insert("root".into(), json!({"id": "root", "message": null, "parent": null, "children": ["note"]}));
    json!({
        "title": "The lamp", "create_time": 1_700_000_000.25, "update_time": 1_700_000_009.0, "mapping": mapping,
        "current_node": "thanks", "conversation_id": "c-1", "gizmo_id": "g-7", "is_archived": false,
    })
}
