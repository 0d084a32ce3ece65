//! Requests that add messages or change node states, and their answers.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::checks::{check_content, check_time_zone, expected_version};
use super::enums::{Effects, OnStale, Role};
use super::ids::{WireCharacterId, WireNodeId, WirePersonaId};
use super::node::ChatMessageNode;
use super::sessions::check_model;
use super::tree_edits::NodeWorldChangeResponse;
use super::{deserialize_nullable_option, deserialize_objects, deserialize_params};
use crate::http::error::ApiError;
use crate::http::json_schema::JsonMap;
use crate::http::response::RedactForReplay;
use clotho_core::ids::NodeId;
use clotho_core::tree::limits::check_speaker;
use clotho_engine::turn;

/// Maximum number of replies per request.
pub const MAX_REPLIES: u32 = 16;
/// Maximum number of nodes whose state changes per request.
const MAX_STATE_UPDATES: usize = 2_000;

/// Whether and how to generate replies.
#[derive(Debug, Clone)]
pub enum GenerateField {
    /// `true` for one reply, `false` for none.
    Plain(bool),
    /// Options of the generation.
    Detailed(GenerateRequest),
}

/// Options of a generation.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schema(as = Generate)]
pub struct GenerateRequest {
    /// Number of replies, 1 to 16; default 1.
    #[schema(minimum = 1, maximum = 16)]
    pub n: Option<u32>,
    /// Overrides the session's model.
    pub model: Option<String>,
    /// Overrides single parameters of the session.
    #[serde(deserialize_with = "deserialize_params")]
    #[schema(value_type = JsonMap)]
    pub params: Map<String, Value>,
    /// The character that speaks; default: the first of the session.
    pub character_id: Option<WireCharacterId>,
}

/// A message to send.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewMessage)]
pub struct CreateMessageRequest {
    /// Parent node.
    pub parent_id: WireNodeId,
    /// The text of the message.
    pub content: String,
    /// Role; default `user`.
    #[serde(default)]
    pub role: Option<Role>,
    /// Name of the speaker; default: the name of the persona.
    #[serde(default)]
    pub name: Option<String>,
    /// The persona that speaks; default: the session's persona.
    #[serde(default)]
    pub persona_id: Option<WirePersonaId>,
    /// `true`, or generation options; default: no reply.
    #[serde(default)]
    pub generate: Option<GenerateField>,
    /// Whether HEAD moves to the new node; default true.
    #[serde(default)]
    pub move_head: Option<bool>,
    /// Precondition: HEAD as the client last saw it. Otherwise see `onStale`.
    #[serde(default)]
    pub expected_leaf_id: Option<WireNodeId>,
    /// Alternative precondition: the newest operation that the client saw.
    #[serde(default)]
    pub expected_op: Option<i64>,
    /// What to do if the precondition fails; default `refuse`.
    #[serde(default)]
    pub on_stale: Option<OnStale>,
    /// Time zone of the person who writes, for dates in prompts: an IANA name, or an offset such as `+02:00`. It is
    /// kept with the message. Default: that of the server.
    #[serde(default)]
    pub time_zone: Option<String>,
}

/// A request for alternative replies.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schema(as = Reroll)]
pub struct RerollRequest {
    /// Number of replies, 1 to 16; default 1.
    #[schema(minimum = 1, maximum = 16)]
    pub n: Option<u32>,
    /// Overrides the session's model.
    pub model: Option<String>,
    /// Overrides single parameters of the session.
    #[serde(deserialize_with = "deserialize_params")]
    #[schema(value_type = JsonMap)]
    pub params: Map<String, Value>,
    /// The character that speaks; default: the first of the session.
    pub character_id: Option<WireCharacterId>,
    /// Whether HEAD moves to the new reply; default true.
    pub move_head: Option<bool>,
    /// Precondition: HEAD as the client last saw it; otherwise `409 head_moved`.
    pub expected_leaf_id: Option<WireNodeId>,
    /// Alternative precondition: the newest operation that the client saw.
    pub expected_op: Option<i64>,
}

/// A request to continue a reply.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ContinueRequest {
    /// Overrides the model of the original reply.
    pub model: Option<String>,
    /// Overrides single parameters of the original reply.
    #[serde(deserialize_with = "deserialize_params")]
    #[schema(value_type = JsonMap)]
    pub params: Map<String, Value>,
    /// Whether HEAD moves to the new reply; default true.
    pub move_head: Option<bool>,
    /// Precondition: HEAD as the client last saw it; otherwise `409 head_moved`.
    pub expected_leaf_id: Option<WireNodeId>,
    /// Alternative precondition: the newest operation that the client saw.
    pub expected_op: Option<i64>,
}

/// A new version of a message, written as a sibling.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Edit)]
pub struct EditMessageRequest {
    /// The new text.
    pub content: String,
    /// Whether the children of the old version move below the new one; default false.
    #[serde(default)]
    pub carry: bool,
    /// Time zone of the person who writes, for dates in prompts: an IANA name, or an offset such as `+02:00`. It is
    /// kept with the message. Default: that of the old version.
    #[serde(default)]
    pub time_zone: Option<String>,
    /// `true`, `false` or generation options. Default: one reply for a user message without `carry`, otherwise none.
    #[serde(default)]
    pub generate: Option<GenerateField>,
    /// Whether HEAD moves to the new version; default true.
    #[serde(default)]
    pub move_head: Option<bool>,
    /// Precondition: HEAD as the client last saw it; otherwise `409 head_moved`.
    #[serde(default)]
    pub expected_leaf_id: Option<WireNodeId>,
    /// Alternative precondition: the newest operation that the client saw.
    #[serde(default)]
    pub expected_op: Option<i64>,
}

/// What a request wrote and started.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Started)]
pub struct TurnStartResponse {
    /// The written node; null if none was written.
    #[schema(required)]
    pub node: Option<ChatMessageNode>,
    /// Placeholders of the replies.
    pub generations: Vec<ChatMessageNode>,
    /// Number of the operation.
    pub op: i64,
}

/// A request to move HEAD.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Checkout)]
pub struct CheckoutRequest {
    /// The target node.
    #[serde(default)]
    pub node_id: Option<WireNodeId>,
    /// Alternatively, the label of the target node.
    #[serde(default)]
    pub label: Option<String>,
    /// `true`: exactly this node. `false` (default): the leaf last visited below it.
    #[serde(default)]
    pub exact: bool,
    /// Precondition: HEAD as the client last saw it; otherwise `409 head_moved`.
    #[serde(default)]
    pub expected_leaf_id: Option<WireNodeId>,
    /// Alternative precondition: the newest operation that the client saw.
    #[serde(default)]
    pub expected_op: Option<i64>,
}

/// The position of HEAD.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeadResponse {
    /// The node at HEAD.
    pub leaf_id: WireNodeId,
    /// The nearest context node at or above HEAD.
    #[schema(required)]
    pub context_node_id: Option<WireNodeId>,
    /// Number of the newest operation of the session.
    pub op: i64,
}

/// Changes to the state of one node; absent fields stay.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schema(as = NodeState)]
pub struct UpdateNodeStateRequest {
    /// Whether the text is part of prompts and of the chat view.
    pub is_enabled: Option<bool>,
    /// `on`: the delta is applied to the state; `muted`: it is ignored.
    pub effects: Option<Effects>,
    /// Rating, 1 to 5 stars; null removes it.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<u8>, minimum = 1, maximum = 5)]
    pub rating: Option<Option<u8>>,
    /// Whether the node is marked as a reply that nobody has seen.
    pub is_unread: Option<bool>,
}

/// Changes to the state of many nodes, as one operation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateNodeStatesRequest {
    /// One item per node, at most 2000.
    #[serde(deserialize_with = "deserialize_objects")]
    pub updates: Vec<UpdateNodeStateItem>,
}

/// Changes to the state of one of many nodes; absent fields stay.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateNodeStateItem {
    /// Id of the node.
    pub node_id: WireNodeId,
    /// Whether the text is part of prompts and of the chat view.
    #[serde(default)]
    pub is_enabled: Option<bool>,
    /// `on`: the delta is applied to the state; `muted`: it is ignored.
    #[serde(default)]
    pub effects: Option<Effects>,
}

/// The state of nodes after a change.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatesResponse {
    /// Number of the newest operation of the session.
    pub op: i64,
    /// The nodes of the request.
    pub nodes: Vec<NodeStateResponse>,
    /// Changes of the state at HEAD and at labels, because deltas now count or no longer count; at most 200.
    pub world_changes: Vec<NodeWorldChangeResponse>,
    /// Whether `worldChanges` is incomplete.
    pub is_cut_short: bool,
}

impl RedactForReplay for NodeStatesResponse {
    fn redact_for_replay(mut self) -> Self {
        self.is_cut_short |= !self.world_changes.is_empty();
        self.world_changes.clear();
        self
    }
}

/// The state of one node.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeStateResponse {
    /// Id of the node.
    pub id: WireNodeId,
    /// Whether the text is part of prompts and of the chat view.
    pub is_enabled: bool,
    /// `on`: the delta is applied to the state; `muted`: it is ignored.
    pub effects: Effects,
    /// Rating, 1 to 5 stars; null if unrated.
    #[schema(required)]
    pub rating: Option<u8>,
    /// Whether this is a reply that nobody has seen.
    pub is_unread: bool,
}

/// The answer to a cancellation; the end of the reply follows as an event.
#[derive(Debug, Serialize, ToSchema)]
pub struct CancelReplyResponse {
    /// Node of the reply.
    pub id: WireNodeId,
}

impl GenerateField {
    /// Returns the generation to start; `None` for no reply.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn read(self) -> Result<Option<turn::GenerationSpec>, ApiError> {
        match self {
            Self::Plain(false) => Ok(None),
            Self::Plain(true) => GenerateRequest::default().read("generate.").map(Some),
            Self::Detailed(generate) => generate.read("generate.").map(Some),
        }
    }
}

impl GenerateRequest {
    fn read(self, inside: &str) -> Result<turn::GenerationSpec, ApiError> {
        let n = self.n.unwrap_or(1);
        if !(1..=MAX_REPLIES).contains(&n) {
            return Err(ApiError::invalid(
                &format!("{inside}n"),
                format!("expected 1 to {MAX_REPLIES} replies, got {n}"),
            ));
        }
        check_model(self.model.as_deref()).map_err(|error| error.detail("field", format!("{inside}model")))?;
        Ok(turn::GenerationSpec {
            n,
            model: self.model,
            params: self.params,
            character: self.character_id.map(|id| id.0),
        })
    }
}

impl RerollRequest {
    /// Validates the reroll for the turn engine.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn read(self, node: NodeId) -> Result<turn::RegenerateSpec, ApiError> {
        let generate =
            GenerateRequest { n: self.n, model: self.model, params: self.params, character_id: self.character_id };
        Ok(turn::RegenerateSpec {
            node,
            generate: generate.read("")?,
            move_head: self.move_head.unwrap_or(true),
            expected_leaf: expected_version(self.expected_leaf_id, self.expected_op)?,
        })
    }
}

impl ContinueRequest {
    /// Validates the continuation for the turn engine.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn read(self, node: NodeId) -> Result<turn::ContinueSpec, ApiError> {
        check_model(self.model.as_deref())?;
        Ok(turn::ContinueSpec {
            node,
            model: self.model,
            params: self.params,
            move_head: self.move_head.unwrap_or(true),
            expected_leaf: expected_version(self.expected_leaf_id, self.expected_op)?,
        })
    }
}

impl CreateMessageRequest {
    /// Validates the message for the turn engine; `limit` is its maximum size in bytes.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn read(self, limit: usize) -> Result<turn::MessageSpec, ApiError> {
        check_content(&self.content, limit)?;
        self.name.as_deref().map_or(Ok(()), check_speaker)?;
        check_time_zone(self.time_zone.as_deref())?;
        Ok(turn::MessageSpec {
            parent: self.parent_id.0,
            content: self.content,
            role: self.role.unwrap_or(Role::User).into(),
            name: self.name,
            persona: self.persona_id.map(|id| id.0),
            generate: self.generate.map_or(Ok(None), GenerateField::read)?,
            move_head: self.move_head.unwrap_or(true),
            expected_leaf: expected_version(self.expected_leaf_id, self.expected_op)?,
            on_stale: self.on_stale.unwrap_or(OnStale::Refuse).into(),
            time_zone: self.time_zone,
        })
    }
}

impl EditMessageRequest {
    /// Validates the edit for the turn engine; `limit` is the maximum size of the text in bytes.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn read(self, limit: usize) -> Result<turn::EditSpec, ApiError> {
        check_content(&self.content, limit)?;
        check_time_zone(self.time_zone.as_deref())?;
        Ok(turn::EditSpec {
            content: self.content,
            time_zone: self.time_zone,
            move_children: self.carry,
            generate: self.generate.map(GenerateField::read).transpose()?,
            move_head: self.move_head.unwrap_or(true),
            expected_leaf: expected_version(self.expected_leaf_id, self.expected_op)?,
        })
    }
}

impl UpdateNodeStatesRequest {
    /// Checks the fields without any lookup.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn check(&self) -> Result<(), ApiError> {
        if self.updates.is_empty() || self.updates.len() > MAX_STATE_UPDATES {
            return Err(ApiError::invalid("updates", format!("expected 1 to {MAX_STATE_UPDATES} updates")));
        }
        let ids: Vec<WireNodeId> = self.updates.iter().map(|update| update.node_id).collect();
        let mut seen = std::collections::HashSet::new();
        match ids.iter().position(|id| !seen.insert(*id)) {
            Some(twice) => Err(ApiError::invalid(&format!("updates[{twice}].nodeId"), "the message appears twice")),
            None => Ok(()),
        }
    }
}

impl<'de> Deserialize<'de> for GenerateField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct GenerateFieldVisitor;

        impl<'de> Visitor<'de> for GenerateFieldVisitor {
            type Value = GenerateField;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or an object")
            }

            fn visit_bool<E>(self, wanted: bool) -> Result<GenerateField, E> {
                Ok(GenerateField::Plain(wanted))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<GenerateField, A::Error> {
                GenerateRequest::deserialize(MapAccessDeserializer::new(map)).map(GenerateField::Detailed)
            }
        }

        from.deserialize_any(GenerateFieldVisitor)
    }
}

impl PartialSchema for GenerateField {
    fn schema() -> RefOr<Schema> {
        OneOfBuilder::new()
            .item(ObjectBuilder::new().schema_type(Type::Boolean))
            .item(Ref::from_schema_name(GenerateRequest::name()))
            .into()
    }
}

impl ToSchema for GenerateField {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((GenerateRequest::name().into_owned(), GenerateRequest::schema()));
        GenerateRequest::schemas(schemas);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::body::parse;
    use crate::http::error::ApiErrorCode;

    const PARENT: &str = "018f3e2a-0000-7000-8000-0000000000aa";

    fn parse_message(rest: &str) -> Result<turn::MessageSpec, ApiError> {
        let text = format!(r#"{{"parentId": "{PARENT}"{rest}}}"#);
        parse::<CreateMessageRequest>(text.as_bytes(), 64)?.read(10)
    }

    #[test]
    fn create_message_minimal_body_uses_defaults() {
        let message = parse_message(r#", "content": "Hi""#).unwrap();
        assert_eq!((message.role.as_str(), message.move_head, message.generate), ("user", true, None));
        let generate =
            |rest: &str| parse_message(&format!(r#", "content": "Hi", "generate": {rest}"#)).unwrap().generate;
        assert_eq!(generate("false"), None);
        assert_eq!(generate("true").map(|generate| generate.n), Some(1));
        assert_eq!(generate(r#"{"n": 3, "params": {"temperature": 0.7}}"#).map(|generate| generate.n), Some(3));
    }

    #[test]
    fn create_message_fault_names_the_field() {
        let check = |rest: &str, code: ApiErrorCode, field: &str| {
            let error = parse_message(rest).unwrap_err();
            assert_eq!((error.code, error.details["field"].as_str()), (code, Some(field)), "{rest}: {error}");
        };
        check("", ApiErrorCode::Invalid, "content");
        check(r#", "content": " \n""#, ApiErrorCode::Invalid, "content");
        check(r#", "content": "12345678901""#, ApiErrorCode::TooLarge, "content");
        check(r#", "content": "x", "role": "narrator""#, ApiErrorCode::Invalid, "role");
        check(r#", "content": "x", "generate": 1"#, ApiErrorCode::Invalid, "generate");
        check(r#", "content": "x", "generate": {"n": 0}"#, ApiErrorCode::Invalid, "generate.n");
        check(r#", "content": "x", "generate": {"N": 1}"#, ApiErrorCode::Invalid, "generate.N");
        check(r#", "content": "x", "generate": {"n": "1"}"#, ApiErrorCode::Invalid, "generate.n");
        check(r#", "content": "x", "personaId": "abc""#, ApiErrorCode::Invalid, "personaId");
        check(r#", "content": "x", "history": []"#, ApiErrorCode::Invalid, "history");
        check(r#", "content": "x", "onStale": "maybe""#, ApiErrorCode::Invalid, "onStale");
    }
}
