//! The operation log: its entries, and the inverse of each effect.
//!
//! Every commit appends one [`Operation`] to its session, numbered without gaps (`domain.md` 4). An entry says what
//! changed in the *arrangement*: which nodes were added, where HEAD went, what was enabled. Texts and deltas are
//! facts on nodes and are not repeated here.
//!
//! To add an effect: a variant of [`Effect`], its inverse, its JSON, and an arm wherever the compiler then asks for
//! one (`tree/reference_tree.rs`, `store/effects.rs`, `log_follower.rs`).

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::clock::Time;
use crate::ids::{FragmentId, NodeId, UserId};

/// One entry of a session's operation log.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// The number in the session, dense from 1.
    pub op: i64,
    pub kind: OperationKind,
    /// The user who did it; `None` for the server itself.
    pub actor: Option<UserId>,
    pub at: Time,
    /// The first operation of the request that this one completes, else its own number. Undo works by steps.
    pub step: i64,
    /// In order of application.
    pub effects: Vec<Effect>,
}

macro_rules! operation_kinds {
    ($($(#[$doc:meta])* $variant:ident = $word:literal,)*) => {
        /// The kind of an operation, for display and for undo.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum OperationKind { $($(#[$doc])* $variant,)* }

        impl OperationKind {
            /// Returns the word used on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// Parses the wire word; `None` if it is unknown.
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

operation_kinds! {
    /// A session was created: its root and greetings.
    Begin = "begin",
    /// A message was written, with placeholders for its replies.
    Message = "message",
    /// More generations were requested.
    Reroll = "reroll",
    /// A message was edited.
    Edit = "edit",
    /// A reply ended, successfully or not.
    Reply = "reply",
    /// HEAD was moved.
    Checkout = "checkout",
    /// Nodes were enabled, disabled, muted or rated.
    State = "state",
    /// The world was changed manually.
    Change = "change",
    /// A plugin processed the answer to its model call.
    Answer = "answer",
    /// Plugins were enabled, disabled or configured.
    Rules = "rules",
    /// The title or settings of the session changed.
    Session = "session",
    /// A part of the tree was moved into the stash.
    Prune = "prune",
    /// A part of the tree or of the stash was moved or copied.
    Graft = "graft",
    /// A part of the tree or of the stash was deleted permanently.
    Purge = "purge",
    /// A fragment was renamed.
    Rename = "rename",
    /// A label was set or removed.
    Label = "label",
    /// A run of messages was replaced by a summary.
    Summarise = "summarise",
    /// The operations of another branch were merged.
    Merge = "merge",
    /// Messages were imported.
    Import = "import",
    /// A replay of a plugin along a branch was accepted.
    Replay = "replay",
    /// Edits of different kinds in one request.
    Arrange = "arrange",
    /// A step was undone.
    Undo = "undo",
    /// A step was redone.
    Redo = "redo",
}

/// One change of the arrangement.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// A node was added.
    Added {
        /// The new node.
        node: NodeId,
        /// `None` for the root.
        parent: Option<NodeId>,
    },
    /// A placeholder became a complete or failed node.
    Completed {
        node: NodeId,
    },
    /// A node left or rejoined the tree without being lost (undo and redo of `Added`).
    Shown {
        node: NodeId,
        /// Whether the node is in the tree now.
        to: bool,
    },
    /// A node was moved below another parent.
    Moved {
        node: NodeId,
        from: NodeId,
        to: NodeId,
    },
    /// A node left the tree with everything below it, as a fragment. It keeps its parent, which tells where it was.
    Detached {
        /// The top of the fragment.
        node: NodeId,
        /// The new fragment.
        fragment: FragmentInfo,
    },
    /// A fragment rejoined the tree below the parent of its top.
    Attached {
        /// The top of the fragment.
        node: NodeId,
        /// The former fragment.
        fragment: FragmentInfo,
    },
    /// A node was deleted permanently with everything below it, except what is a fragment of its own in the stash.
    Purged {
        node: NodeId,
        parent: NodeId,
        /// All deleted nodes below `node`.
        below: Vec<NodeId>,
    },
    /// A fragment was renamed.
    Renamed {
        fragment: FragmentId,
        from: Option<String>,
        to: Option<String>,
    },
    /// A label was set, moved or removed.
    Labelled {
        name: String,
        from: Option<LabelTarget>,
        to: Option<LabelTarget>,
    },
    Head {
        /// `None` when the session begins.
        from: Option<NodeId>,
        to: NodeId,
    },
    Remembered {
        node: NodeId,
        from: Option<NodeId>,
        to: Option<NodeId>,
    },
    /// A node's text was enabled or disabled.
    Enabled {
        node: NodeId,
        /// Whether it is enabled now.
        to: bool,
    },
    /// A node's delta was muted or unmuted.
    Muted {
        node: NodeId,
        /// Whether it is muted now.
        to: bool,
    },
    /// Another revision of a node's delta applies.
    Revised {
        node: NodeId,
        /// 0: none.
        from: i32,
        to: i32,
    },
    /// A reply ended while nobody was viewing it, or has been viewed since.
    Unread {
        node: NodeId,
        /// Whether it is unread now.
        to: bool,
    },
    /// A node was rated.
    Rated {
        node: NodeId,
        /// 1 to 5 stars.
        from: Option<u8>,
        /// 1 to 5 stars.
        to: Option<u8>,
    },
    /// A setting of the session changed.
    Setting {
        /// Its name on the wire.
        name: String,
        from: Value,
        to: Value,
    },
}

/// A fragment as recorded in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FragmentInfo {
    pub fragment: FragmentId,
    pub name: Option<String>,
    /// When it was pruned.
    pub since: Time,
}

impl FragmentInfo {
    fn serialize_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("fragment", &self.fragment)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("since", &self.since.0)
    }

    fn from_json(value: &Value) -> Option<Self> {
        let name = value.get("name").and_then(Value::as_str).map(str::to_owned);
        let fragment = value.get("fragment")?.as_str()?.parse().ok()?;
        Some(Self { fragment, name, since: Time(value.get("since")?.as_i64()?) })
    }
}

/// The node that a label points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct LabelTarget {
    pub node: NodeId,
    /// Whether the label moves to appended nodes.
    pub following: bool,
}

impl LabelTarget {
    fn from_json(value: &Value) -> Option<Option<Self>> {
        let Some(map) = value.as_object() else { return value.is_null().then_some(None) };
        let node = map.get("node")?.as_str()?.parse().ok()?;
        Some(Some(Self { node, following: map.get("following")?.as_bool()? }))
    }
}

impl Effect {
    /// Returns the effect that undoes this one. `None` if it cannot be undone: a completed reply, a purge, or the
    /// first HEAD.
    pub fn inverse(&self) -> Option<Self> {
        Some(match self.clone() {
            Self::Added { node, .. } => Self::Shown { node, to: false },
            Self::Shown { node, to } => Self::Shown { node, to: !to },
            Self::Completed { .. } | Self::Purged { .. } | Self::Head { from: None, .. } => return None,
            Self::Moved { node, from, to } => Self::Moved { node, from: to, to: from },
            Self::Detached { node, fragment } => Self::Attached { node, fragment },
            Self::Attached { node, fragment } => Self::Detached { node, fragment },
            Self::Renamed { fragment, from, to } => Self::Renamed { fragment, from: to, to: from },
            Self::Labelled { name, from, to } => Self::Labelled { name, from: to, to: from },
            Self::Head { from: Some(from), to } => Self::Head { from: Some(to), to: from },
            Self::Remembered { node, from, to } => Self::Remembered { node, from: to, to: from },
            Self::Enabled { node, to } => Self::Enabled { node, to: !to },
            Self::Muted { node, to } => Self::Muted { node, to: !to },
            Self::Revised { node, from, to } => Self::Revised { node, from: to, to: from },
            Self::Unread { node, to } => Self::Unread { node, to: !to },
            Self::Rated { node, from, to } => Self::Rated { node, from: to, to: from },
            Self::Setting { name, from, to } => Self::Setting { name, from: to, to: from },
        })
    }

    /// Returns whether nodes change their place or label, so that a view of the tree must be reloaded.
    pub const fn changes_layout(&self) -> bool {
        matches!(
            self,
            Self::Moved { .. }
                | Self::Shown { .. }
                | Self::Detached { .. }
                | Self::Attached { .. }
                | Self::Purged { .. }
                | Self::Renamed { .. }
                | Self::Labelled { .. }
        )
    }

    /// Returns the wire and log form as a JSON value.
    pub fn to_json(&self) -> Value {
        // This cannot fail: all keys are strings and all numbers are JSON numbers.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Parses the log form; `None` if it is malformed.
    pub fn from_json(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        let text = |key: &str| map.get(key).and_then(Value::as_str);
        let node = |key: &str| text(key).and_then(|t| t.parse::<NodeId>().ok());
        let name = |key: &str| text(key).map(str::to_owned);
        let (first, _) = map.iter().next()?;
        Some(match first.as_str() {
            "added" => Self::Added { node: node("added")?, parent: node("parent") },
            "completed" => Self::Completed { node: node("completed")? },
            "shown" => Self::Shown { node: node("shown")?, to: map.get("to")?.as_bool()? },
            "moved" => Self::Moved { node: node("moved")?, from: node("from")?, to: node("to")? },
            "detached" => Self::Detached { node: node("detached")?, fragment: FragmentInfo::from_json(value)? },
            "attached" => Self::Attached { node: node("attached")?, fragment: FragmentInfo::from_json(value)? },
            "purged" => {
                let below = map.get("below")?.as_array()?.iter().map(|id| id.as_str()?.parse().ok());
                Self::Purged { node: node("purged")?, parent: node("parent")?, below: below.collect::<Option<_>>()? }
            }
            "renamed" => Self::Renamed { fragment: text("renamed")?.parse().ok()?, from: name("from"), to: name("to") },
            "labelled" => Self::Labelled {
                name: text("labelled")?.to_owned(),
                from: LabelTarget::from_json(map.get("from")?)?,
                to: LabelTarget::from_json(map.get("to")?)?,
            },
            "head" => Self::Head { from: node("from"), to: node("head")? },
            "remembered" => Self::Remembered { node: node("remembered")?, from: node("from"), to: node("to") },
            "enabled" => Self::Enabled { node: node("enabled")?, to: map.get("to")?.as_bool()? },
            "muted" => Self::Muted { node: node("muted")?, to: map.get("to")?.as_bool()? },
            "revised" => {
                let number = |key: &str| map.get(key)?.as_i64().and_then(|n| i32::try_from(n).ok());
                Self::Revised { node: node("revised")?, from: number("from")?, to: number("to")? }
            }
            "unread" => Self::Unread { node: node("unread")?, to: map.get("to")?.as_bool()? },
            "rated" => Self::Rated {
                node: node("rated")?,
                from: parse_rating(map.get("from")?),
                to: parse_rating(map.get("to")?),
            },
            "setting" => Self::Setting {
                name: text("setting")?.to_owned(),
                from: map.get("from")?.clone(),
                to: map.get("to")?.clone(),
            },
            _ => return None,
        })
    }
}

/// The wire and log form: the first key names the effect.
impl Serialize for Effect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Added { node, parent } => {
                map.serialize_entry("added", node)?;
                map.serialize_entry("parent", parent)?;
            }
            Self::Completed { node } => map.serialize_entry("completed", node)?,
            Self::Shown { node, to } => {
                map.serialize_entry("shown", node)?;
                map.serialize_entry("to", to)?;
            }
            Self::Moved { node, from, to } => {
                map.serialize_entry("moved", node)?;
                map.serialize_entry("from", from)?;
                map.serialize_entry("to", to)?;
            }
            Self::Detached { node, fragment } => {
                map.serialize_entry("detached", node)?;
                fragment.serialize_into(&mut map)?;
            }
            Self::Attached { node, fragment } => {
                map.serialize_entry("attached", node)?;
                fragment.serialize_into(&mut map)?;
            }
            Self::Purged { node, parent, below } => {
                map.serialize_entry("purged", node)?;
                map.serialize_entry("parent", parent)?;
                map.serialize_entry("below", below)?;
            }
            Self::Renamed { fragment, from, to } => {
                map.serialize_entry("renamed", fragment)?;
                map.serialize_entry("from", from)?;
                map.serialize_entry("to", to)?;
            }
            Self::Labelled { name, from, to } => {
                map.serialize_entry("labelled", name)?;
                map.serialize_entry("from", from)?;
                map.serialize_entry("to", to)?;
            }
            Self::Head { from, to } => {
                map.serialize_entry("head", to)?;
                map.serialize_entry("from", from)?;
            }
            Self::Remembered { node, from, to } => {
                map.serialize_entry("remembered", node)?;
                map.serialize_entry("from", from)?;
                map.serialize_entry("to", to)?;
            }
            Self::Enabled { node, to } => {
                map.serialize_entry("enabled", node)?;
                map.serialize_entry("to", to)?;
            }
            Self::Muted { node, to } => {
                map.serialize_entry("muted", node)?;
                map.serialize_entry("to", to)?;
            }
            Self::Revised { node, from, to } => {
                map.serialize_entry("revised", node)?;
                map.serialize_entry("from", from)?;
                map.serialize_entry("to", to)?;
            }
            Self::Unread { node, to } => {
                map.serialize_entry("unread", node)?;
                map.serialize_entry("to", to)?;
            }
            Self::Rated { node, from, to } => {
                map.serialize_entry("rated", node)?;
                map.serialize_entry("from", from)?;
                map.serialize_entry("to", to)?;
            }
            Self::Setting { name, from, to } => {
                map.serialize_entry("setting", name)?;
                map.serialize_entry("from", from)?;
                map.serialize_entry("to", to)?;
            }
        }
        map.end()
    }
}

fn parse_rating(value: &Value) -> Option<u8> {
    value.as_u64().and_then(|n| u8::try_from(n).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn node_id(n: u128) -> NodeId {
        NodeId::new(uuid::Uuid::from_u128(n))
    }

    #[test]
    fn effect_json_round_trips_and_double_inverse_is_identity() {
        let (a, b, c) = (node_id(1), node_id(2), node_id(3));
        let fragment = FragmentId::new(uuid::Uuid::from_u128(9));
        for effect in [
            Effect::Added { node: a, parent: Some(b) },
            Effect::Added { node: a, parent: None },
            Effect::Completed { node: a },
            Effect::Shown { node: a, to: true },
            Effect::Moved { node: a, from: b, to: c },
            Effect::Detached { node: a, fragment: FragmentInfo { fragment, name: None, since: Time(7) } },
            Effect::Attached { node: a, fragment: FragmentInfo { fragment, name: Some("x".into()), since: Time(7) } },
            Effect::Purged { node: a, parent: b, below: vec![c] },
            Effect::Renamed { fragment, from: None, to: Some("y".into()) },
            Effect::Labelled { name: "best".into(), from: None, to: Some(LabelTarget { node: a, following: true }) },
            Effect::Labelled { name: "best".into(), from: Some(LabelTarget { node: a, following: false }), to: None },
            Effect::Head { from: Some(a), to: b },
            Effect::Head { from: None, to: b },
            Effect::Remembered { node: a, from: None, to: Some(b) },
            Effect::Enabled { node: a, to: false },
            Effect::Muted { node: a, to: true },
            Effect::Revised { node: a, from: 0, to: 2 },
            Effect::Unread { node: a, to: true },
            Effect::Rated { node: a, from: None, to: Some(4) },
            Effect::Setting { name: "title".into(), from: json!("x"), to: json!(null) },
        ] {
            assert_eq!(Effect::from_json(&effect.to_json()).as_ref(), Some(&effect));
            assert_eq!(serde_json::to_string(&effect).unwrap(), effect.to_json().to_string());
            if let Some(twice) = effect.inverse().and_then(|inverse| inverse.inverse())
                && !matches!(effect, Effect::Added { .. })
            {
                assert_eq!(twice, effect);
            }
        }
    }
}
