//! A node: one message, the smallest atom of a session. Plain data.

use serde_json::{Map, Value};

use crate::clock::Time;
use crate::ids::{CharacterId, NodeId, PersonaId, SessionId, UserId};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal / $code:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// The word for it on the wire.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// Reads the word; `None` if nobody knows it.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }

            /// The small number the database keeps.
            pub const fn code(self) -> i16 {
                match self { $(Self::$variant => $code,)* }
            }

            /// Reads the small number; `None` if nobody knows it.
            pub const fn from_code(code: i16) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

words! {
    /// Who a message speaks as.
    Role {
        /// Narration, summaries, the root.
        System = "system" / 0,
        /// A person.
        User = "user" / 1,
        /// A model or a narrating plugin.
        Assistant = "assistant" / 2,
    }
}

words! {
    /// What a node is for.
    Kind {
        /// The one anchor of a session: empty, never sent.
        Root = "root" / 0,
        /// A message.
        Message = "message" / 1,
        /// A first message of the character.
        Greeting = "greeting" / 2,
        /// Only operations: a manual change, or rules switched on. Hidden.
        Change = "change" / 3,
        /// Stands for a run of messages.
        Summary = "summary" / 4,
        /// Carries what another branch did.
        Merge = "merge" / 5,
    }
}

words! {
    /// Where a node stands in its life.
    Status {
        /// A placeholder: a reply is on its way.
        Generating = "generating" / 0,
        /// A fact.
        Complete = "complete" / 1,
        /// The reply failed; what arrived is kept.
        Error = "error" / 2,
    }
}

words! {
    /// Whether a node's delta counts in the fold.
    Effects {
        /// It counts.
        On = "on" / 0,
        /// It is left out, and everything below folds again.
        Muted = "muted" / 1,
    }
}

/// One message with its facts and the overlay that arranges it (`domain.md` 1-2).
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its id.
    pub id: NodeId,
    /// The session it belongs to.
    pub session: SessionId,
    /// Its parent; `None` only for the root.
    pub parent: Option<NodeId>,
    /// Who it speaks as.
    pub role: Role,
    /// What it is for.
    pub kind: Kind,
    /// Where it stands in its life.
    pub status: Status,
    /// The user who wrote it or asked for it.
    pub author: Option<UserId>,
    /// The author's persona.
    pub persona: Option<PersonaId>,
    /// The character that speaks.
    pub character: Option<CharacterId>,
    /// The speaker's name as shown.
    pub name: Option<String>,
    /// The text exactly as received.
    pub content: String,
    /// The model's thinking, apart from the text.
    pub reasoning: Option<String>,
    /// Everything else that is known: model, params, finishReason, error, … (`docs/api.md`).
    pub metadata: Map<String, Value>,
    /// Overlay: whether the text is part of prompts and the chat view.
    pub is_enabled: bool,
    /// Overlay: whether the delta counts.
    pub effects: Effects,
    /// Overlay: the child last visited below it.
    pub remembered: Option<NodeId>,
    /// Overlay: stars, 1 to 5.
    pub rating: Option<u8>,
    /// Overlay: a reply that ended where nobody looked.
    pub is_unread: bool,
    /// Derived: edges from the root.
    pub depth: i32,
    /// Derived: user and narration messages from the root to here.
    pub turn: i32,
    /// Whether a keyframe of the world was cut here.
    pub is_keyframe: bool,
    /// The seed of its dice.
    pub dice_seed: u64,
    /// When it was made.
    pub created: Time,
}

impl Node {
    /// A context node: the world just before a model speaks (`domain.md` 1).
    pub fn is_context(&self) -> bool {
        self.role != Role::Assistant && self.kind != Kind::Change
    }

    /// Whether the projection (the list that people and models see) may hold it at all.
    pub fn is_in_projection(&self) -> bool {
        !matches!(self.kind, Kind::Root | Kind::Change) && self.status != Status::Generating
    }

    /// Whether its text goes into prompts: shown, enabled and not failed.
    pub fn is_in_prompt(&self) -> bool {
        self.is_in_projection() && self.is_enabled && self.status == Status::Complete
    }
}

/// Where a node stands among its siblings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiblingPosition {
    /// Position, counted from 0.
    pub index: usize,
    /// All siblings in creation order, the node itself included.
    pub ids: Vec<NodeId>,
}
