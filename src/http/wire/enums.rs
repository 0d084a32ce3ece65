//! The domain's words on the wire: one closed list for each, so that a word nobody knows is refused.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use clotho_core::tree;
use clotho_engine::turn;

macro_rules! words {
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

words! {
    /// Who a message speaks as.
    Role = tree::Role { System, User, Assistant, }
    /// What a node is for.
    Kind = tree::Kind { Root, Message, Greeting, Change, Summary, Merge, }
    /// Where a node stands in its life.
    Status = tree::Status { Generating, Complete, Error, }
    /// Whether a node's delta counts.
    Effects = tree::Effects { On, Muted, }
    /// Where an author's note stands.
    NotePlace = tree::NotePlacement { AfterMain, BeforeMain, InChat, }
    /// What happens when HEAD is not where the writer saw it.
    OnStale = turn::StaleHeadPolicy { Refuse, Append, Branch, }
}

/// How a session is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionViewMode {
    /// With its branches.
    Tree,
    /// As one line.
    Linear,
}

impl SessionViewMode {
    /// The word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Linear => "linear",
        }
    }
}
