//! What one sends to make a tree grow or to change its arrangement, and what that began.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::checks::{check_content, expected_version};
use super::enums::{Effects, OnStale, Role};
use super::ids::{WireCharacterId, WireNodeId, WirePersonaId};
use super::node::ChatMessageNode;
use super::sessions::model;
use super::tree_edits::NodeWorldChangeResponse;
use super::{deserialize_nullable_option, deserialize_objects};
use crate::http::error::ApiError;
use crate::http::response::RedactForReplay;
use clotho_core::ids::NodeId;
use clotho_core::tree::limits::check_speaker;
use clotho_engine::turn;

/// The most replies at once.
pub const MAX_REPLIES: u32 = 16;
/// The most nodes whose state changes at once.
const MAX_STATE_UPDATES: usize = 2_000;

/// Replies to generate, or whether to.
#[derive(Debug, Clone)]
pub enum GenerateField {
    /// `true` or `false`.
    Plain(bool),
    /// How.
    Detailed(GenerateRequest),
}

/// Replies to generate.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schema(as = Generate)]
pub struct GenerateRequest {
    /// How many, 1 to 16; 1 unless said.
    #[schema(minimum = 1, maximum = 16)]
    pub n: Option<u32>,
    /// Another model than the session's.
    pub model: Option<String>,
    /// Parameters over the session's.
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
    /// Another character than the first.
    pub character_id: Option<WireCharacterId>,
}

/// A message to send.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewMessage)]
pub struct CreateMessageRequest {
    /// Below which node.
    pub parent_id: WireNodeId,
    /// The text.
    pub content: String,
    /// As whom; `user` unless said.
    #[serde(default)]
    pub role: Option<Role>,
    /// The speaker's name, if not the persona's.
    #[serde(default)]
    pub name: Option<String>,
    /// The persona, if not the session's.
    #[serde(default)]
    pub persona_id: Option<WirePersonaId>,
    /// `true`, or how to generate; nothing is generated unless asked.
    #[serde(default)]
    pub generate: Option<GenerateField>,
    /// Whether HEAD follows; true unless said.
    #[serde(default)]
    pub move_head: Option<bool>,
    /// Where the writer saw HEAD.
    #[serde(default)]
    pub expected_leaf_id: Option<WireNodeId>,
    /// Instead: the newest operation that the writer saw.
    #[serde(default)]
    pub expected_op: Option<i64>,
    /// What if it is not there; `refuse` unless said.
    #[serde(default)]
    pub on_stale: Option<OnStale>,
}

/// Other replies to ask for.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schema(as = Reroll)]
pub struct RerollRequest {
    /// How many, 1 to 16; 1 unless said.
    #[schema(minimum = 1, maximum = 16)]
    pub n: Option<u32>,
    /// Another model than the session's.
    pub model: Option<String>,
    /// Parameters over the session's.
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
    /// Another character than the first.
    pub character_id: Option<WireCharacterId>,
    /// Whether HEAD follows; true unless said.
    pub move_head: Option<bool>,
    /// Where the writer saw HEAD.
    pub expected_leaf_id: Option<WireNodeId>,
    /// Instead: the newest operation that the writer saw.
    pub expected_op: Option<i64>,
}

/// A reply to go on from.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ContinueRequest {
    /// Another model than it was asked of.
    pub model: Option<String>,
    /// Parameters over those it was asked with.
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
    /// Whether HEAD follows; true unless said.
    pub move_head: Option<bool>,
    /// Where the caller saw HEAD.
    pub expected_leaf_id: Option<WireNodeId>,
    /// Instead: the newest operation that the caller saw.
    pub expected_op: Option<i64>,
}

/// A new version of a message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Edit)]
pub struct EditMessageRequest {
    /// The new text.
    pub content: String,
    /// Whether what follows the old version moves below the new one.
    #[serde(default)]
    pub carry: bool,
    /// `true`, `false`, or how to generate; for a user's text without `carry` one reply unless said.
    #[serde(default)]
    pub generate: Option<GenerateField>,
    /// Whether HEAD follows; true unless said.
    #[serde(default)]
    pub move_head: Option<bool>,
    /// Where the writer saw HEAD.
    #[serde(default)]
    pub expected_leaf_id: Option<WireNodeId>,
    /// Instead: the newest operation that the writer saw.
    #[serde(default)]
    pub expected_op: Option<i64>,
}

/// What a request began.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Started)]
pub struct TurnStartResponse {
    /// The node that was written, if one was.
    pub node: Option<ChatMessageNode>,
    /// The placeholders of the replies.
    pub generations: Vec<ChatMessageNode>,
    /// The operation.
    pub op: i64,
}

/// Where HEAD should go.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Checkout)]
pub struct CheckoutRequest {
    /// The node.
    #[serde(default)]
    pub node_id: Option<WireNodeId>,
    /// Instead: its name.
    #[serde(default)]
    pub label: Option<String>,
    /// Exactly there, and not to the leaf last visited below it.
    #[serde(default)]
    pub exact: bool,
    /// Where the writer saw HEAD.
    #[serde(default)]
    pub expected_leaf_id: Option<WireNodeId>,
    /// Instead: the newest operation that the writer saw.
    #[serde(default)]
    pub expected_op: Option<i64>,
}

/// Where HEAD is.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeadResponse {
    /// HEAD.
    pub leaf_id: WireNodeId,
    /// The nearest context node at or above it.
    pub context_node_id: Option<WireNodeId>,
    /// The newest operation.
    pub op: i64,
}

/// What becomes of one node.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schema(as = NodeState)]
pub struct UpdateNodeStateRequest {
    /// Whether its text counts.
    pub is_enabled: Option<bool>,
    /// Whether what it does to the world counts.
    pub effects: Option<Effects>,
    /// Stars, 1 to 5; null takes them away.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<u8>, minimum = 1, maximum = 5)]
    pub rating: Option<Option<u8>>,
    /// Whether it shall count as a reply that nobody has seen.
    pub is_unread: Option<bool>,
}

/// What becomes of many nodes, in one operation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateNodeStatesRequest {
    /// One entry for each node.
    #[serde(deserialize_with = "deserialize_objects")]
    pub updates: Vec<UpdateNodeStateItem>,
}

/// What becomes of one of many nodes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateNodeStateItem {
    /// The node.
    pub node_id: WireNodeId,
    /// Whether its text counts.
    #[serde(default)]
    pub is_enabled: Option<bool>,
    /// Whether what it does to the world counts.
    #[serde(default)]
    pub effects: Option<Effects>,
}

/// How nodes stand after a change.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatesResponse {
    /// The newest operation.
    pub op: i64,
    /// The nodes.
    pub nodes: Vec<NodeStateResponse>,
    /// How the world changed at HEAD and at labels by deltas that count or do not count now; at most 200 lines.
    pub world_changes: Vec<NodeWorldChangeResponse>,
    /// Whether there was more to tell.
    pub is_cut_short: bool,
}

impl RedactForReplay for NodeStatesResponse {
    fn redact_for_replay(mut self) -> Self {
        self.is_cut_short |= !self.world_changes.is_empty();
        self.world_changes.clear();
        self
    }
}

/// How a node stands.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeStateResponse {
    /// The node.
    pub id: WireNodeId,
    /// Whether its text counts.
    pub is_enabled: bool,
    /// Whether what it does to the world counts.
    pub effects: Effects,
    /// Stars.
    pub rating: Option<u8>,
    /// Whether it is a reply that nobody has seen.
    pub is_unread: bool,
}

/// A reply was asked to stop; its end is an event.
#[derive(Debug, Serialize, ToSchema)]
pub struct CancelReplyResponse {
    /// The node.
    pub id: WireNodeId,
}

impl GenerateField {
    /// What to generate; `None` = nothing.
    ///
    /// # Errors
    /// Names the field.
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
                format!("1 to {MAX_REPLIES} replies are expected, got {n}"),
            ));
        }
        model(self.model.as_deref()).map_err(|error| error.detail("field", format!("{inside}model")))?;
        Ok(turn::GenerationSpec {
            n,
            model: self.model,
            params: self.params,
            character: self.character_id.map(|id| id.0),
        })
    }
}

impl RerollRequest {
    /// The replies for the turn.
    ///
    /// # Errors
    /// Names the field.
    pub fn read(self, node: NodeId) -> Result<turn::RerollSpec, ApiError> {
        let generate =
            GenerateRequest { n: self.n, model: self.model, params: self.params, character_id: self.character_id };
        Ok(turn::RerollSpec {
            node,
            generate: generate.read("")?,
            move_head: self.move_head.unwrap_or(true),
            expected_leaf: expected_version(self.expected_leaf_id, self.expected_op)?,
        })
    }
}

impl ContinueRequest {
    /// The continuation for the turn.
    ///
    /// # Errors
    /// Names the field.
    pub fn read(self, node: NodeId) -> Result<turn::ContinueSpec, ApiError> {
        model(self.model.as_deref())?;
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
    /// The message for the turn.
    ///
    /// # Errors
    /// Names the field.
    pub fn read(self, limit: usize) -> Result<turn::MessageSpec, ApiError> {
        check_content(&self.content, limit)?;
        self.name.as_deref().map_or(Ok(()), check_speaker)?;
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
        })
    }
}

impl EditMessageRequest {
    /// The edit for the turn.
    ///
    /// # Errors
    /// Names the field.
    pub fn read(self, limit: usize) -> Result<turn::EditSpec, ApiError> {
        check_content(&self.content, limit)?;
        Ok(turn::EditSpec {
            content: self.content,
            move_children: self.carry,
            generate: self.generate.map(GenerateField::read).transpose()?,
            move_head: self.move_head.unwrap_or(true),
            expected_leaf: expected_version(self.expected_leaf_id, self.expected_op)?,
        })
    }
}

impl UpdateNodeStatesRequest {
    /// Checks what can be checked without looking anything up.
    ///
    /// # Errors
    /// Names the field.
    pub fn check(&self) -> Result<(), ApiError> {
        if self.updates.is_empty() || self.updates.len() > MAX_STATE_UPDATES {
            return Err(ApiError::invalid("updates", format!("1 to {MAX_STATE_UPDATES} updates are expected")));
        }
        let ids: Vec<WireNodeId> = self.updates.iter().map(|update| update.node_id).collect();
        let mut seen = std::collections::HashSet::new();
        match ids.iter().position(|id| !seen.insert(*id)) {
            Some(twice) => Err(ApiError::invalid(&format!("updates[{twice}].nodeId"), "the message is named twice")),
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

    fn read(rest: &str) -> Result<turn::MessageSpec, ApiError> {
        let text = format!(r#"{{"parentId": "{PARENT}"{rest}}}"#);
        parse::<CreateMessageRequest>(text.as_bytes(), 64)?.read(10)
    }

    #[test]
    fn create_message_minimal_body_uses_defaults() {
        let message = read(r#", "content": "Hi""#).unwrap();
        assert_eq!((message.role.word(), message.move_head, message.generate), ("user", true, None));
        let generate = |rest: &str| read(&format!(r#", "content": "Hi", "generate": {rest}"#)).unwrap().generate;
        assert_eq!(generate("false"), None);
        assert_eq!(generate("true").map(|generate| generate.n), Some(1));
        assert_eq!(generate(r#"{"n": 3, "params": {"temperature": 0.7}}"#).map(|generate| generate.n), Some(3));
    }

    #[test]
    fn create_message_fault_names_the_field() {
        let check = |rest: &str, code: ApiErrorCode, field: &str| {
            let error = read(rest).unwrap_err();
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
