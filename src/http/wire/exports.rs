//! What goes out: whole sessions, and single lines in forms that others read.

use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::ids::WireNodeId;
use crate::http::error::ApiError;
use crate::http::file::SESSION_MEDIA_TYPE;
use clotho_engine::transfer::BranchExportFormat;

/// What of a session goes out, and how.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct SessionExportQuery {
    /// The form; `session` unless said.
    #[param(inline)]
    pub format: SessionFormatParam,
    /// Where the line ends, in the forms that have one line; HEAD unless said.
    #[param(value_type = Option<String>)]
    pub leaf: Option<WireNodeId>,
}

/// A form in which a session goes out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionFormatParam {
    /// All of it, as this program takes it in again.
    #[default]
    Session,
    /// One line as a chat of SillyTavern, with the siblings of replies as swipes.
    SillyTavern,
    /// One line as Markdown, in which every text reads as it was written.
    Markdown,
    /// One line as a page of HTML that needs nothing else.
    Html,
}

/// As what everything goes out.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct ExportAllQuery {
    /// The form; `sillytavern` is the only one.
    #[param(inline)]
    pub format: ExportAllFormatParam,
}

/// A form in which everything goes out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExportAllFormatParam {
    /// A folder of data of SillyTavern, packed.
    #[default]
    SillyTavern,
}

impl SessionFormatParam {
    /// What such a file is.
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
    /// The form of the one line that is asked for, if it is one.
    ///
    /// # Errors
    /// A line's end is named, and the whole session asked for.
    pub fn export_form(&self) -> Result<Option<BranchExportFormat>, ApiError> {
        let form = match self.format {
            SessionFormatParam::Session => None,
            SessionFormatParam::SillyTavern => Some(BranchExportFormat::SillyTavern),
            SessionFormatParam::Markdown => Some(BranchExportFormat::Markdown),
            SessionFormatParam::Html => Some(BranchExportFormat::Html),
        };
        if form.is_none() && self.leaf.is_some() {
            let refusal = ApiError::invalid("leaf", "a whole session goes out, which ends in more than one place");
            return Err(refusal.hint("leave it away, or ask for another format, such as markdown"));
        }
        Ok(form)
    }
}
