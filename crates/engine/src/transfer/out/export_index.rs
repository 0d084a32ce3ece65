//! Writes the export index, the last file of a data folder; `sillytavern/export_index.rs` reads it. It lists each
//! file with its hash and the id of its item, so that an import on the same server recognizes it. It also has the
//! session data that chat files cannot hold.

use serde_json::{Map, Value, json};

use clotho_core::ids::SessionId;
use clotho_store::Label;

use super::super::report::ForeignImportReport;

/// The index while it is written.
#[derive(Debug, Default)]
pub struct ExportIndexWriter {
    files: Map<String, Value>,
    sessions: Map<String, Value>,
}

/// The session data that chat files do not contain.
#[derive(Debug, Default)]
pub struct ExportIndexSessionWriter {
    settings: Map<String, Value>,
    head: Value,
    labels: Vec<Value>,
}

impl ExportIndexSessionWriter {
    /// Starts a session with these settings.
    pub fn new(settings: Map<String, Value>) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Sets HEAD to a message of a file, counted from 1; 0 is before the first.
    pub fn head(&mut self, file: &str, message: u64) {
        self.head = json!({"file": file, "message": message});
    }

    /// Whether HEAD is set.
    pub fn has_head(&self) -> bool {
        !self.head.is_null()
    }

    /// Adds a label at a message of a file.
    pub fn label(&mut self, label: &Label, file: &str, message: u64) {
        self.labels.push(json!({
            "name": label.name, "isFollowing": label.following, "file": file, "message": message,
        }));
    }
}

impl ExportIndexWriter {
    /// Adds a file, with its hash and the id of its item.
    pub fn add_file(&mut self, name: &str, hash: blake3::Hash, is: impl std::fmt::Display) {
        self.files.insert(name.to_owned(), json!({"hash": hash.to_hex().as_str(), "is": is.to_string()}));
    }

    /// Adds a session.
    pub fn add_session(&mut self, id: SessionId, story: ExportIndexSessionWriter) {
        let ExportIndexSessionWriter { settings, head, labels } = story;
        self.sessions.insert(id.to_string(), json!({"settings": settings, "head": head, "labels": labels}));
    }

    /// Returns the JSON text of the index, including the report of the export.
    pub fn into_text(self, report: &ForeignImportReport) -> String {
        let Self { files, sessions } = self;
        json!({"format": "clotho-list", "version": 1, "files": files, "sessions": sessions, "report": report.items})
            .to_string()
    }
}
