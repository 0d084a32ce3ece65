//! What the conversion of a lorebook did with the fields and decorators of its entries, and the findings about it.

use crate::interop::{FindingDetail, ImportFinding};

/// The most names in a finding.
const MAX_NAMES: usize = 12;

/// Occurrences of something, with their different names in order.
#[derive(Debug, Default)]
struct NamedCount {
    count: usize,
    names: Vec<String>,
}

impl NamedCount {
    fn add(&mut self, name: &str) {
        self.count += 1;
        if !self.names.iter().any(|known| known == name) && self.names.len() <= MAX_NAMES {
            self.names.push(name.chars().take(60).collect());
        }
    }

    fn names(&self) -> String {
        let more = if self.names.len() > MAX_NAMES { ", …" } else { "" };
        format!("{}{more}", self.names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", "))
    }
}

/// Collects what a conversion did.
#[derive(Debug, Default)]
pub struct ConversionNotes {
    /// Decorators that became fields of their entries.
    applied: NamedCount,
    /// Decorators without effect here.
    ignored: NamedCount,
    /// Fields whose values cannot be read.
    unreadable: NamedCount,
    /// Fields without effect here.
    kept: NamedCount,
    /// Entries that hold other entries, which have no content of their own.
    folders: usize,
}

impl ConversionNotes {
    /// Counts a decorator that became a field.
    pub fn decorator_applied(&mut self, name: &str) {
        self.applied.add(name);
    }

    /// Counts a decorator that means nothing here.
    pub fn decorator_ignored(&mut self, name: &str) {
        self.ignored.add(name);
    }

    /// Counts a field whose value cannot be read.
    pub fn unreadable_field(&mut self, name: &str) {
        self.unreadable.add(name);
    }

    /// Counts a field that means nothing here.
    pub fn field_ignored(&mut self, name: &str) {
        self.kept.add(name);
    }

    /// Counts an entry that only holds others.
    pub const fn folder_skipped(&mut self) {
        self.folders += 1;
    }

    /// Returns the findings, most important first.
    pub fn findings(self) -> Vec<ImportFinding> {
        let Self { applied, ignored, unreadable, kept, folders } = self;
        let mut found = Vec::new();
        if unreadable.count > 0 {
            let detail = FindingDetail::UnreadableLoreFields { count: unreadable.count, fields: unreadable.names() };
            found.push(ImportFinding::skipped(&detail));
        }
        if applied.count > 0 {
            let detail = FindingDetail::AppliedDecorators { count: applied.count, names: applied.names() };
            found.push(ImportFinding::translated(&detail));
        }
        if ignored.count > 0 {
            let detail = FindingDetail::IgnoredDecorators { count: ignored.count, names: ignored.names() };
            found.push(ImportFinding::kept(&detail));
        }
        if kept.count > 0 {
            let detail = FindingDetail::IgnoredLoreFields { count: kept.count, fields: kept.names() };
            found.push(ImportFinding::kept(&detail));
        }
        if folders > 0 {
            found.push(ImportFinding::skipped(&FindingDetail::LoreFolders { count: folders }));
        }
        found
    }
}
