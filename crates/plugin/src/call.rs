//! One call of one hook of one plugin: what goes in, what comes out. Both are plain data, so that a script may run on
//! another thread or in another process.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::dice::{DiceSeeds, Roll};
use super::error::ScriptError;
use super::model_call::{ModelCallAnswer, PluginModelCall};
use super::mvu::InitVarText;
use super::permission::Permission;
use super::plan::PluginPromptPlan;
use super::summary::SummaryProposal;
use clotho_core::clock::Time;
use clotho_core::world::{Pointer, Problem, SchemaSet, StateOperation, World};

/// A place in a turn where a plugin may speak. To add one: a variant here, what it may return in `answer.rs`, who calls
/// it in `turn`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hook {
    /// Once, where the plugin is switched on: writes the first state.
    Init,
    /// Where a version begins whose values have another shape than those that are there: carries them over.
    Migrate,
    /// Before the user's text is committed: may rewrite, answer, stop or refuse it.
    OnInput,
    /// Whenever a prompt is made, also one that nobody sends: puts texts into it, lore in or out. Read only.
    Plan,
    /// Once for each new reply, after streaming.
    OnReply,
    /// In place of `on_reply`, on the new version of a reply that was edited.
    OnEdit,
    /// When a model that was asked with `ctx.ask` has answered, or could not.
    OnAnswer,
    /// Once for each greeting of a story, when it begins.
    OnGreeting,
    /// Instead of a model (`plugin:<id>`): writes the reply itself.
    Narrate,
    /// When the tip is shown: offers replies. Read only.
    QuickReplies,
    /// When a reply is shown: says how. Read only.
    OnDisplay,
    /// When a model calls a tool while it writes. Its functions have names of their own, see [`TOOL_PREFIX`].
    Tool,
}

impl Hook {
    /// All of them that have a function of their own.
    pub const ALL: [Self; 11] = [
        Self::Init,
        Self::Migrate,
        Self::OnInput,
        Self::Plan,
        Self::OnReply,
        Self::OnEdit,
        Self::OnAnswer,
        Self::OnGreeting,
        Self::Narrate,
        Self::QuickReplies,
        Self::OnDisplay,
    ];

    /// The function that a script defines for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Migrate => "migrate",
            Self::OnInput => "on_input",
            Self::Plan => "plan",
            Self::OnReply => "on_reply",
            Self::OnEdit => "on_edit",
            Self::OnAnswer => "on_answer",
            Self::OnGreeting => "on_greeting",
            Self::Narrate => "narrate",
            Self::QuickReplies => "quick_replies",
            Self::OnDisplay => "on_display",
            Self::Tool => "tool",
        }
    }

    /// What it is called with.
    pub const fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Migrate => &["ctx", "from"],
            Self::Tool => &["ctx", "args"],
            _ => &["ctx"],
        }
    }

    /// When it runs and what for, for people.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Init => "once, where the plugin is switched on: writes the first values",
            Self::Migrate => "once, where a version begins whose values have another shape: carries them over",
            Self::OnInput => "before a person's message is written: may rewrite, answer, stop or refuse it",
            Self::Plan => "whenever a prompt is made: puts texts into it, and entries of lorebooks in or out",
            Self::OnReply => "once for each new reply, after its last word",
            Self::OnEdit => "in place of on_reply, on the new version of a reply that was edited",
            Self::OnAnswer => "when a model that was asked with ctx.ask has answered, or could not",
            Self::OnGreeting => "once for each greeting of a story, when it begins",
            Self::Narrate => "instead of a model: writes the reply itself",
            Self::QuickReplies => "when the last message is shown: offers replies",
            Self::OnDisplay => "when a reply is shown: says how",
            Self::Tool => "when a model calls a tool while it writes",
        }
    }

    /// The hook of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }

    /// Whether it may write and roll.
    pub fn may_write(self) -> bool {
        !matches!(self, Self::Plan | Self::QuickReplies | Self::OnDisplay)
    }

    /// The name under which its dice fall and are recorded: who reads an edited reply throws what was thrown for the one
    /// before, and the one after that does so again, whichever hook read it.
    pub fn roll_name(self) -> &'static str {
        match self {
            Self::OnEdit => Self::OnReply.name(),
            _ => self.name(),
        }
    }
}

/// What the function of a tool begins with; the tool's name follows.
pub const TOOL_PREFIX: &str = "tool_";

/// A tool that a model calls.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolInvocation {
    /// Its name in the manifest.
    pub name: String,
    /// What it is called with, as the tool's schema has it.
    pub arguments: Value,
    /// How often the same reply has called it before: each call has dice of its own.
    pub before: u32,
}

/// One message before the node, as `ctx.recent(n)` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentMessage {
    /// `user`, `assistant` or `system`.
    pub role: String,
    /// Who spoke.
    pub name: String,
    /// The text.
    pub text: String,
}

/// The facts of the node at which a hook runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookNodeInfo {
    /// The node's id; empty while there is none yet.
    pub id: String,
    /// Nodes from the root to it.
    pub depth: u64,
    /// User messages on its path.
    pub turn: u64,
    /// Its stored time. Scripts have no other clock.
    pub time: Option<Time>,
}

/// What one call gets. Make one with [`HookCall::new`] and set what the hook needs.
#[derive(Debug, Clone)]
pub struct HookCall {
    /// Which hook.
    pub hook: Hook,
    /// With [`Hook::Tool`], which one.
    pub tool: Option<ToolInvocation>,
    /// With [`Hook::OnAnswer`], what came of the call.
    pub answer: Option<ModelCallAnswer>,
    /// The world as the hook finds it, with what earlier plugins of this node proposed. The call takes it along and brings it
    /// back in its outcome: one that nobody else holds is written in place, and a write costs the same in a large world as in a
    /// small one.
    pub world: Arc<World>,
    /// The parent's world, for `ctx.before`.
    pub before: Arc<World>,
    /// The schemas in force.
    pub rules: Arc<SchemaSet>,
    /// The plugin's settings in this session, defaults filled in ([`super::Manifest::settings`]).
    pub config: Arc<Map<String, Value>>,
    /// What the plugin may do beyond its own root.
    pub grants: Arc<[Permission]>,
    /// Where the values of the other plugins are that play: commands for those are theirs.
    pub foreign_roots: Arc<[Pointer]>,
    /// Who gets the command that was typed, where this plugin has it too and runs later.
    pub command_plugin: Option<String>,
    /// The text the hook is about: the user's, the reply, the tip's.
    pub text: Arc<str>,
    /// The role of that text's author.
    pub role: String,
    /// The name of the user's persona.
    pub user: String,
    /// The name of the character that speaks.
    pub character: String,
    /// The node.
    pub node: HookNodeInfo,
    /// The messages before it, oldest first; a script sees the newest fifty at most.
    pub recent: Arc<[RecentMessage]>,
    /// Where dice come from.
    pub seeds: DiceSeeds,
    /// Rolls of an earlier run of the same node: reused by (plugin, hook, n, spec).
    pub recorded_rolls: Arc<[Roll]>,
    /// `init`: what lorebooks say that values begin with.
    pub starts: Arc<[InitVarText]>,
    /// `migrate`: the version of the values that are there.
    pub from: u32,
    /// The reader's language, a tag like `en` or `zh-CN`.
    pub language: String,
}

impl HookCall {
    /// A call of `hook` on `world` under `rules`, everything else empty.
    pub fn new(hook: Hook, world: Arc<World>, rules: Arc<SchemaSet>) -> Self {
        Self {
            hook,
            tool: None,
            answer: None,
            before: Arc::clone(&world),
            world,
            rules,
            config: Arc::default(),
            grants: Arc::from([]),
            foreign_roots: Arc::from([]),
            command_plugin: None,
            text: Arc::from(""),
            role: String::new(),
            user: String::new(),
            character: String::new(),
            node: HookNodeInfo::default(),
            recent: Arc::from([]),
            seeds: DiceSeeds::default(),
            recorded_rolls: Arc::from([]),
            starts: Arc::from([]),
            from: 1,
            language: "en".to_owned(),
        }
    }
}

impl HookCall {
    /// The function of the script that it runs.
    pub fn function(&self) -> Cow<'static, str> {
        match &self.tool {
            Some(tool) => format!("{TOOL_PREFIX}{}", tool.name).into(),
            None => self.hook.name().into(),
        }
    }

    /// The name under which its dice fall and are recorded.
    pub fn roll_name(&self) -> Cow<'static, str> {
        match &self.tool {
            Some(tool) if tool.before > 0 => {
                format!("{TOOL_PREFIX}{} {}", tool.name, u64::from(tool.before) + 1).into()
            }
            Some(_) => self.function(),
            None => self.hook.roll_name().into(),
        }
    }
}

/// One offered reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginQuickReply {
    /// What the button says.
    pub label: String,
    /// What is sent.
    pub send: String,
}

/// What a hook answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HookAnswer {
    /// Nothing to say; also every hook that a script does not define.
    #[default]
    Nothing,
    /// `on_input`: what happens to the user's text.
    Input {
        /// The text instead of the user's.
        text: Option<String>,
        /// The reply; no model is asked.
        reply: Option<String>,
        /// The user's node is written and nothing is generated.
        stop: bool,
    },
    /// `ctx.fail`: the input is refused with this message; nothing may be written.
    Refused(String),
    /// `narrate`: the reply in the pieces in which it streams.
    Narration(Vec<String>),
    /// `quick_replies`.
    QuickReplies(Vec<PluginQuickReply>),
    /// `on_display`: the text as it is shown.
    Display(String),
    /// A tool: what the model is told.
    Value(Value),
}

/// What one call cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HookUsage {
    /// Steps of the interpreter.
    pub operations: u64,
    /// Microseconds of CPU.
    pub micros: u64,
    /// The most bytes of memory held at once.
    pub heap_peak: u64,
}

/// What one call proposes. With an [`HookOutcome::error`] or a refusal it proposes nothing.
#[derive(Debug, Clone)]
pub struct HookOutcome {
    /// The operations in order.
    pub operations: Vec<StateOperation>,
    /// What the fold said about them (clamped, rounded, refused), by position in `operations`. The turn's own fold says
    /// the same again: these are for `try` and tests.
    pub problems: Vec<Problem>,
    /// The world with the operations folded in: what the next plugin finds. `None` where it proposes nothing because it failed or
    /// refused: it may have written in the only copy.
    pub world: Option<Arc<World>>,
    /// Every roll in order. Facts also when the call failed.
    pub rolls: Vec<Roll>,
    /// Visible lines under the node.
    pub notes: Vec<String>,
    /// Lines for the trace.
    pub warnings: Vec<String>,
    /// What `print` and `debug` said.
    pub log: Vec<String>,
    /// What `plan` wants of the prompt.
    pub plan: PluginPromptPlan,
    /// Models that are to be asked when the turn is written.
    pub asks: Vec<PluginModelCall>,
    /// What it would have told of turns that were played.
    pub summary: Option<SummaryProposal>,
    /// What the hook answered.
    pub answer: HookAnswer,
    /// What it cost.
    pub usage: HookUsage,
    /// Why it failed. Its operations are dropped ([`ScriptError::ops_dropped`]), the prose stays, other plugins go on.
    pub error: Option<ScriptError>,
}

impl HookOutcome {
    /// The outcome of a hook that is not there: nothing, at no cost.
    pub fn empty(world: Arc<World>) -> Self {
        Self {
            operations: Vec::new(),
            problems: Vec::new(),
            world: Some(world),
            rolls: Vec::new(),
            notes: Vec::new(),
            warnings: Vec::new(),
            log: Vec::new(),
            plan: PluginPromptPlan::default(),
            asks: Vec::new(),
            summary: None,
            answer: HookAnswer::Nothing,
            usage: HookUsage::default(),
            error: None,
        }
    }

    /// Whether the call ended by a limit; [`super::LimitViolations`] counts these.
    pub fn hit_limit(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.kind == super::ScriptErrorKind::Limit)
    }
}
