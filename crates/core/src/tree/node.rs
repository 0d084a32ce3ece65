//! A node: one message, the smallest unit of a session. Plain data.

use super::reply_facts::NodeMetadata;
use crate::clock::Time;
use crate::ids::{CharacterId, NodeId, PersonaId, SessionId, UserId};

macro_rules! string_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal / $code:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Returns the word used on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// Parses the wire word; `None` if it is unknown.
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }

            /// Returns the number stored in the database.
            pub const fn code(self) -> i16 {
                match self { $(Self::$variant => $code,)* }
            }

            /// Parses the stored number; `None` if it is unknown.
            pub const fn from_code(code: i16) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

string_enum! {
    /// The role of a message.
    Role {
        /// Narration, summaries and the root.
        System = "system" / 0,
        /// A person.
        User = "user" / 1,
        /// A model or a narrating plugin.
        Assistant = "assistant" / 2,
    }
}

string_enum! {
    /// The kind of a node.
    Kind {
        /// The first node of a session: empty and never sent.
        Root = "root" / 0,
        /// A message.
        Message = "message" / 1,
        /// A first message of the character.
        Greeting = "greeting" / 2,
        /// Only operations: a manual change, or a change of the active rules. Hidden.
        Change = "change" / 3,
        /// Replaces a run of messages.
        Summary = "summary" / 4,
        /// Carries the operations of another branch.
        Merge = "merge" / 5,
    }
}

string_enum! {
    /// The generation status of a node.
    Status {
        /// A placeholder: the reply is still being generated.
        Generating = "generating" / 0,
        /// Immutable from now on.
        Complete = "complete" / 1,
        /// The reply failed; the part that arrived is kept.
        Error = "error" / 2,
    }
}

string_enum! {
    /// Whether the fold applies a node's delta.
    Effects {
        /// The delta is applied.
        On = "on" / 0,
        /// The delta is skipped, and all nodes below are folded again.
        Muted = "muted" / 1,
    }
}

/// One message with its immutable facts and its mutable arrangement (`domain.md` 1-2).
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub id: NodeId,
    pub session: SessionId,
    /// `None` only for the root.
    pub parent: Option<NodeId>,
    pub role: Role,
    pub kind: Kind,
    pub status: Status,
    /// The user who wrote or requested it.
    pub author: Option<UserId>,
    /// The author's persona.
    pub persona: Option<PersonaId>,
    /// The character that speaks.
    pub character: Option<CharacterId>,
    /// The speaker's display name.
    pub name: Option<String>,
    /// The text exactly as received.
    pub content: String,
    /// The model's reasoning, kept apart from the text.
    pub reasoning: Option<String>,
    /// All other data (`docs/api.md`).
    pub metadata: Box<NodeMetadata>,
    /// Arrangement: whether the text is part of prompts and the chat view.
    pub is_enabled: bool,
    /// Arrangement: whether the delta is folded.
    pub effects: Effects,
    /// Arrangement: the child last visited.
    pub remembered: Option<NodeId>,
    /// Arrangement: 1 to 5 stars.
    pub rating: Option<u8>,
    /// Arrangement: the reply ended while nobody was viewing it.
    pub is_unread: bool,
    /// Derived: edges from the root.
    pub depth: i32,
    /// Derived: user and narration messages on the path from the root, this node included.
    pub turn: i32,
    /// Whether a keyframe of the world is stored here.
    pub is_keyframe: bool,
    pub dice_seed: u64,
    pub created: Time,
}

impl Node {
    /// Returns whether this is a context node, which holds the world just before a model speaks (`domain.md` 1).
    pub fn is_context(&self) -> bool {
        self.role != Role::Assistant && self.kind != Kind::Change
    }

    /// Returns whether the projection, the list that people and models see, may contain the node.
    pub fn is_in_projection(&self) -> bool {
        !matches!(self.kind, Kind::Root | Kind::Change) && self.status != Status::Generating
    }

    /// Returns whether the text goes into prompts: in the projection, enabled and complete.
    pub fn is_in_prompt(&self) -> bool {
        self.is_in_projection() && self.is_enabled && self.status == Status::Complete
    }
}

/// The position of a node among its siblings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiblingPosition {
    /// Counted from 0.
    pub index: usize,
    /// All siblings in creation order, including the node itself.
    pub ids: Vec<NodeId>,
}
