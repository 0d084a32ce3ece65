//! Ids as newtypes: mixing up two kinds is a type error, and debug output names the kind.
//!
//! Every id is a UUID. [`crate::clock::IdGenerator`] creates new ones time-ordered (version 7), so that rows written
//! together are stored together on disk. To add a kind of id, add one line to the macro call below.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// The error for a text that is not a lower-case hyphenated UUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an id: expected a lower-case UUID")]
pub struct MalformedId;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps an existing UUID.
            pub const fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Returns the inner UUID.
            pub const fn uuid(self) -> Uuid {
                self.0
            }

            /// Returns the sixteen bytes, as stored in the database.
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// Converts sixteen bytes; `None` for any other length.
            pub fn from_slice(bytes: &[u8]) -> Option<Self> {
                Uuid::from_slice(bytes).ok().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }

        impl FromStr for $name {
            type Err = MalformedId;

            fn from_str(text: &str) -> Result<Self, MalformedId> {
                parse(text).map(Self)
            }
        }
    )*};
}

ids! {
    /// A user of this server.
    UserId;
    /// A character that sessions are played with.
    CharacterId;
    /// A persona that the user plays.
    PersonaId;
    /// A lorebook: facts of a world, found by keys.
    LorebookId;
    /// A preset: prompt settings imported from another program.
    PresetId;
    /// A connection profile: a named set of model settings.
    ConnectionProfileId;
    /// A document: a text used in prompts.
    DocumentId;
    /// A paired device.
    DeviceId;
    /// A summary of a run of messages.
    SummaryId;
    /// A text that a model writes and that becomes no node.
    DraftId;
    /// A session: one story with its tree.
    SessionId;
    /// A node: one message of a tree.
    NodeId;
    /// A job: a long-running task that a client waits for.
    JobId;
    /// A fragment: a pruned part of a tree.
    FragmentId;
    /// An item of the trash, of any kind.
    TrashId;
}

/// Accepts only the canonical form: other spellings of a UUID would give one thing two names.
fn parse(text: &str) -> Result<Uuid, MalformedId> {
    let canonical = text.len() == 36 && !text.bytes().any(|b| b.is_ascii_uppercase());
    match Uuid::try_parse(text) {
        Ok(uuid) if canonical => Ok(uuid),
        _ => Err(MalformedId),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C21: only the canonical spelling is an id.
    #[test]
    fn id_parse_non_canonical_returns_error() {
        let good = "018f3e2a-0000-7000-8000-0000000000aa";
        assert_eq!(good.parse::<NodeId>().unwrap().to_string(), good);
        for bad in ["", "x", "018F3E2A-0000-7000-8000-0000000000AA", "018f3e2a0000700080000000000000aa", "{018f3e2a}"] {
            assert_eq!(bad.parse::<NodeId>(), Err(MalformedId), "{bad}");
        }
    }

    #[test]
    fn id_debug_shows_type_name() {
        let id: SessionId = "018f3e2a-0000-7000-8000-0000000000aa".parse().unwrap();
        assert!(format!("{id:?}").starts_with("SessionId("));
    }
}
