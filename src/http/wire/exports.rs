//! Exports: whole sessions, and single branches in formats of other programs.

use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::ids::WireNodeId;
use crate::http::error::ApiError;
use crate::http::file::SESSION_MEDIA_TYPE;
use clotho_engine::transfer::BranchExportFormat;

/// Format and part of a session export.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct SessionExportQuery {
    /// Format of the file; default `session`.
    #[param(inline)]
    pub format: SessionFormatParam,
    /// Leaf of the branch, for formats with a single branch; default HEAD.
    #[param(value_type = Option<String>)]
    pub leaf: Option<WireNodeId>,
}

/// A format of a session export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionFormatParam {
    /// The whole session, which this server can import again.
    #[default]
    Session,
    /// One branch as a SillyTavern chat, with alternative replies as swipes.
    SillyTavern,
    /// One branch as Markdown, escaped so that texts read as written.
    Markdown,
    /// One branch as a self-contained HTML page.
    Html,
}

/// Format of a full export.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct ExportAllQuery {
    /// Format of the archive; only `sillytavern`.
    #[param(inline)]
    pub format: ExportAllFormatParam,
}

/// A format of a full export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExportAllFormatParam {
    /// A SillyTavern data folder as a ZIP archive.
    #[default]
    SillyTavern,
}

impl SessionFormatParam {
    /// Returns the media type of the file.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Session => SESSION_MEDIA_TYPE,
            Self::SillyTavern => "application/jsonl",
            Self::Markdown => "text/markdown; charset=utf-8",
            Self::Html => "text/html; charset=utf-8",
        }
    }
}

impl SessionExportQuery {
    /// Returns the format of a single branch; `None` for a whole session.
    ///
    /// # Errors
    /// Returns an error if `leaf` is set for a whole session.
    pub fn export_form(&self) -> Result<Option<BranchExportFormat>, ApiError> {
        let form = match self.format {
            SessionFormatParam::Session => None,
            SessionFormatParam::SillyTavern => Some(BranchExportFormat::SillyTavern),
            SessionFormatParam::Markdown => Some(BranchExportFormat::Markdown),
            SessionFormatParam::Html => Some(BranchExportFormat::Html),
        };
        if form.is_none() && self.leaf.is_some() {
            let refusal =
                ApiError::invalid("leaf", "a whole session has several leaves, and this format exports one branch");
            return Err(refusal.hint("remove it, or choose another format, such as markdown"));
        }
        Ok(form)
    }
}
