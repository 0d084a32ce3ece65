//! The enums of the domain as closed lists on the wire; an unknown value is refused.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use clotho_core::tree;
use clotho_engine::turn;

macro_rules! wire_enums {
    ($($(#[$doc:meta])* $name:ident = $domain:path { $($variant:ident,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "camelCase")]
        pub enum $name { $(
            #[doc = stringify!($variant)]
            $variant,
        )* }

        impl From<$domain> for $name {
            fn from(value: $domain) -> Self {
                use $domain as Domain;
                match value { $(Domain::$variant => Self::$variant,)* }
            }
        }

        impl From<$name> for $domain {
            fn from(value: $name) -> Self {
                use $domain as Domain;
                match value { $($name::$variant => Domain::$variant,)* }
            }
        }
    )*};
}

wire_enums! {
    /// Role of a message.
    Role = tree::Role { System, User, Assistant, }
    /// Which characters are parts of words: letters of any script, or ASCII ones as in SillyTavern.
    WordCharacters = clotho_compat::prompt::lore::WordCharacters { Unicode, Ascii, }
    /// Kind of a node.
    Kind = tree::Kind { Root, Message, Greeting, Change, Summary, Merge, }
    /// Status of a node: a reply starts as `generating` and ends as `complete` or `error`.
    Status = tree::Status { Generating, Complete, Error, }
    /// Whether a node's delta is applied to the state (`on`) or ignored (`muted`).
    Effects = tree::Effects { On, Muted, }
    /// Position of an author's note: after or before the main prompt, or between the last messages.
    NotePlace = tree::NotePlacement { AfterMain, BeforeMain, InChat, }
    /// What to do if HEAD has moved: `refuse` answers `409 head_moved`, `append` writes below the current HEAD,
    /// `branch` writes a sibling at the requested place.
    OnStale = turn::StaleHeadPolicy { Refuse, Append, Branch, }
}

/// View of a session on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionViewMode {
    /// With branches.
    Tree,
    /// As one linear branch.
    Linear,
}

impl SessionViewMode {
    /// Returns the name used on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Linear => "linear",
        }
    }
}
