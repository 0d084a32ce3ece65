//! What went out, in a last file (`sillytavern/export_index.rs` reads it): each file with its hash and with what it is here, by which an
//! import into the same house knows what is there already; and of each session what its chats do not say.

use serde_json::{Map, Value, json};

use clotho_core::ids::SessionId;
use clotho_store::Label;

use super::super::report::ForeignImportReport;

/// The list while it is written.
#[derive(Debug, Default)]
pub struct ExportIndexWriter {
    files: Map<String, Value>,
    sessions: Map<String, Value>,
}

/// What goes along with a session beside its chats.
#[derive(Debug, Default)]
pub struct ExportIndexSessionWriter {
    settings: Map<String, Value>,
    head: Value,
    labels: Vec<Value>,
}

impl ExportIndexSessionWriter {
    /// A session with these settings.
    pub fn of(settings: Map<String, Value>) -> Self {
        Self { settings, ..Self::default() }
    }

    /// HEAD stands at a message of a file, counted from 1; 0 is before the first.
    pub fn head(&mut self, file: &str, message: u64) {
        self.head = json!({"file": file, "message": message});
    }

    /// Whether it is said where HEAD stands.
    pub fn has_head(&self) -> bool {
        !self.head.is_null()
    }

    /// A label stands at a message of a file.
    pub fn label(&mut self, label: &Label, file: &str, message: u64) {
        self.labels.push(json!({
            "name": label.name, "isFollowing": label.following, "file": file, "message": message,
        }));
    }
}

impl ExportIndexWriter {
    /// Notes a file.
    pub fn add_file(&mut self, name: &str, hash: blake3::Hash, is: impl std::fmt::Display) {
        self.files.insert(name.to_owned(), json!({"hash": hash.to_hex().as_str(), "is": is.to_string()}));
    }

    /// Notes a session.
    pub fn add_session(&mut self, id: SessionId, story: ExportIndexSessionWriter) {
        let ExportIndexSessionWriter { settings, head, labels } = story;
        self.sessions.insert(id.to_string(), json!({"settings": settings, "head": head, "labels": labels}));
    }

    /// As it is written, with what is to say of what went out.
    pub fn text(self, report: &ForeignImportReport) -> String {
        let Self { files, sessions } = self;
        json!({"format": "clotho-list", "version": 1, "files": files, "sessions": sessions, "report": report.items})
            .to_string()
    }
}
