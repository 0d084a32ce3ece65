//! Ids and times on the wire.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

use clotho_core::ids::{
    CharacterId, ConnectionProfileId, DeviceId, DocumentId, DraftId, JobId, LorebookId, MalformedId, NodeId, PersonaId,
    PresetId, SessionId, SummaryId, TrashId, UserId,
};

/// An id as a lower-case UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WireId<T>(pub T);

/// Id of a node.
pub type WireNodeId = WireId<NodeId>;
/// Id of a session.
pub type WireSessionId = WireId<SessionId>;
/// Id of a character.
pub type WireCharacterId = WireId<CharacterId>;
/// Id of a persona.
pub type WirePersonaId = WireId<PersonaId>;
/// Id of a lorebook.
pub type WireLorebookId = WireId<LorebookId>;
/// Id of a preset.
pub type WirePresetId = WireId<PresetId>;
/// Id of a connection profile.
pub type WireConnectionProfileId = WireId<ConnectionProfileId>;
/// Id of a document.
pub type WireDocumentId = WireId<DocumentId>;
/// Id of a paired device.
pub type WireDeviceId = WireId<DeviceId>;
/// Id of an item in the trash.
pub type WireTrashId = WireId<TrashId>;
/// Id of a job.
pub type WireJobId = WireId<JobId>;
/// Id of a summary.
pub type WireSummaryId = WireId<SummaryId>;
/// Id of a draft.
pub type WireDraftId = WireId<DraftId>;
/// Id of a user.
pub type WireUserId = WireId<UserId>;

impl<T: fmt::Display> Serialize for WireId<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err = MalformedId>> Deserialize<'de> for WireId<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct WireIdVisitor<T>(std::marker::PhantomData<T>);

        impl<T: FromStr<Err = MalformedId>> Visitor<'_> for WireIdVisitor<T> {
            type Value = WireId<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an id, which is a lower-case UUID")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<WireId<T>, E> {
                text.parse().map(WireId).map_err(E::custom)
            }
        }

        from.deserialize_str(WireIdVisitor(std::marker::PhantomData))
    }
}

impl<T> PartialSchema for WireId<T> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::Custom("uuid".to_owned())))
            .description(Some("A lower-case UUID"))
            .into()
    }
}

impl<T> ToSchema for WireId<T> {
    fn name() -> Cow<'static, str> {
        "Id".into()
    }
}

/// Wraps ids for the wire.
pub fn wire_ids<T: Copy>(ids: &[T]) -> Vec<WireId<T>> {
    ids.iter().copied().map(WireId).collect()
}
