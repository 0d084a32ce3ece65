//! Ids and times on the wire.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::ids::{
    CharacterId, DeviceId, DocumentId, DraftId, JobId, LorebookId, MalformedId, NodeId, PersonaId, PresetId, SessionId,
    SummaryId, TrashId, UserId,
};

/// An id on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Id<T>(pub T);

/// The id of a node.
pub type NodeRef = Id<NodeId>;
/// The id of a session.
pub type SessionRef = Id<SessionId>;
/// The id of a character.
pub type CharacterRef = Id<CharacterId>;
/// The id of a persona.
pub type PersonaRef = Id<PersonaId>;
/// The id of a lorebook.
pub type LorebookRef = Id<LorebookId>;
/// The id of a preset.
pub type PresetRef = Id<PresetId>;
/// The id of a document.
pub type DocumentRef = Id<DocumentId>;
/// The id of a paired device.
pub type DeviceRef = Id<DeviceId>;
/// The id of something in the trash.
pub type TrashRef = Id<TrashId>;
/// The id of a job.
pub type JobRef = Id<JobId>;
/// The id of a summary.
pub type SummaryRef = Id<SummaryId>;
/// The id of a draft.
pub type DraftRef = Id<DraftId>;
/// The id of a user.
pub type UserRef = Id<UserId>;

impl<T: fmt::Display> Serialize for Id<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err = MalformedId>> Deserialize<'de> for Id<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader<T>(std::marker::PhantomData<T>);

        impl<T: FromStr<Err = MalformedId>> Visitor<'_> for Reader<T> {
            type Value = Id<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an id, which is a lower-case UUID")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Id<T>, E> {
                text.parse().map(Id).map_err(E::custom)
            }
        }

        from.deserialize_str(Reader(std::marker::PhantomData))
    }
}

impl<T> PartialSchema for Id<T> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::Custom("uuid".to_owned())))
            .description(Some("A lower-case UUID"))
            .into()
    }
}

impl<T> ToSchema for Id<T> {
    fn name() -> Cow<'static, str> {
        "Id".into()
    }
}

/// Many ids.
pub fn refs<T: Copy>(ids: &[T]) -> Vec<Id<T>> {
    ids.iter().copied().map(Id).collect()
}
