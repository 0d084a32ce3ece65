//! Input and output of one hook call. Both are plain data, so that a script may run on another thread or in another
//! process.

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

/// A point of a turn at which a plugin runs. To add one: a variant here, its return type in `answer.rs`, and its call
/// in `turn`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hook {
    /// Runs once, when the plugin is enabled: writes the first state.
    Init,
    /// Runs where a new version of the plugin uses another shape of values: converts the stored ones.
    Migrate,
    /// Runs before the user's text is committed: may rewrite, answer, stop or refuse it.
    OnInput,
    /// Runs for each prompt, also for one that is only shown: injects texts and selects lore. Read-only.
    Plan,
    /// Runs once for each new reply, after streaming.
    OnReply,
    /// Replaces `on_reply` for the new version of an edited reply.
    OnEdit,
    /// Runs when a model called with `ctx.ask` has answered or failed.
    OnAnswer,
    /// Runs once for each greeting of a session, when it begins.
    OnGreeting,
    /// Writes the reply itself, in place of a model (`plugin:<id>`).
    Narrate,
    /// Runs when the leaf is shown: offers quick replies. Read-only.
    QuickReplies,
    /// Runs when a reply is shown: may change how it is displayed. Read-only.
    OnDisplay,
    /// Runs when a model calls a tool during a reply. Each tool has its own function, see [`TOOL_PREFIX`].
    Tool,
}

impl Hook {
    /// All hooks with a function of their own, so all but [`Hook::Tool`].
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

    /// Returns the name of the script function that defines the hook.
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

    /// Returns the parameter names of the hook's function.
    pub const fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Migrate => &["ctx", "from"],
            Self::Tool => &["ctx", "args"],
            _ => &["ctx"],
        }
    }

    /// Describes for users when the hook runs and what it is for.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Init => "once, when the plugin is turned on: writes the first values",
            Self::Migrate => "once, when a new version changes the shape of the values: converts them",
            Self::OnInput => "before a user's message is written: may rewrite, answer, stop or refuse it",
            Self::Plan => "each time a prompt is made: adds texts, and includes or excludes lorebook entries",
            Self::OnReply => "once for each new reply, after its end",
            Self::OnEdit => "instead of on_reply, for the new version of an edited reply",
            Self::OnAnswer => "when a model call of ctx.ask has an answer, or has failed",
            Self::OnGreeting => "once for each greeting, when a session begins",
            Self::Narrate => "instead of a model: writes the reply",
            Self::QuickReplies => "when the last message is shown: offers quick replies",
            Self::OnDisplay => "when a reply is shown: changes its display",
            Self::Tool => "when a model calls a tool during a reply",
        }
    }

    /// Returns the hook of a function name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }

    /// Returns whether the hook may write and roll.
    pub fn may_write(self) -> bool {
        !matches!(self, Self::Plan | Self::QuickReplies | Self::OnDisplay)
    }

    /// Returns the hook name under which rolls are seeded and recorded. `on_edit` uses that of `on_reply`, so an edited
    /// reply gets the same rolls as the reply before it.
    pub fn roll_name(self) -> &'static str {
        match self {
            Self::OnEdit => Self::OnReply.name(),
            _ => self.name(),
        }
    }
}

/// Prefix of a tool's function; the tool's name follows.
pub const TOOL_PREFIX: &str = "tool_";

/// One call of a tool by a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolInvocation {
    /// The tool's name in the manifest.
    pub name: String,
    /// The arguments, as the tool's schema describes them.
    pub arguments: Value,
    /// Number of earlier calls in the same reply. Each call has its own dice.
    pub earlier_calls: u32,
}

/// One message before the node, as `ctx.recent(n)` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentMessage {
    /// `user`, `assistant` or `system`.
    pub role: String,
    /// Name of the speaker.
    pub name: String,
    pub text: String,
}

/// The facts of the node at which a hook runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookNodeInfo {
    /// Id of the node; empty if it does not exist yet.
    pub id: String,
    /// Number of nodes from the root to this node.
    pub depth: u64,
    /// Number of user messages on the path.
    pub turn: u64,
    /// Stored time of the node. Scripts have no other clock.
    pub time: Option<Time>,
}

/// The input of one call. Create it with [`HookCall::new`] and set the fields that the hook needs.
#[derive(Debug, Clone)]
pub struct HookCall {
    pub hook: Hook,
    /// The called tool; only with [`Hook::Tool`].
    pub tool: Option<ToolInvocation>,
    /// The result of the model call; only with [`Hook::OnAnswer`].
    pub answer: Option<ModelCallAnswer>,
    /// The state before the hook, including what earlier plugins of this node proposed. The call takes it and returns
    /// it in its outcome. Without other references it is changed in place, so a write costs the same for a large state
    /// as for a small one.
    pub world: Arc<World>,
    /// The parent's state, for `ctx.before`.
    pub world_before: Arc<World>,
    /// The active schemas.
    pub rules: Arc<SchemaSet>,
    /// The plugin's settings in this session, defaults filled in ([`super::Manifest::check_settings`]).
    pub config: Arc<Map<String, Value>>,
    /// The permissions that the session grants beyond the plugin's own root.
    pub grants: Arc<[Permission]>,
    /// The roots of the other active plugins. Commands for their values are not this plugin's.
    pub foreign_roots: Arc<[Pointer]>,
    /// The plugin that gets the typed slash command, if this plugin also has the command but runs later.
    pub command_plugin: Option<String>,
    /// The text that the hook is about: of the user, of the reply, or of the leaf.
    pub text: Arc<str>,
    /// The role of the text's author.
    pub role: String,
    /// The name of the user's persona.
    pub user: String,
    /// The name of the speaking character.
    pub character: String,
    pub node: HookNodeInfo,
    /// The messages before the node, oldest first. A script sees only the newest fifty.
    pub recent: Arc<[RecentMessage]>,
    /// The seeds for dice.
    pub seeds: DiceSeeds,
    /// Rolls of an earlier run of the same node. They are reused by (plugin, hook, n, spec).
    pub recorded_rolls: Arc<[Roll]>,
    /// `init`: the initial values that lorebooks state.
    pub initial_values: Arc<[InitVarText]>,
    /// `migrate`: the version of the stored values.
    pub from_version: u32,
    /// The reader's language as a tag, for example `en` or `zh-CN`.
    pub language: String,
}

impl HookCall {
    /// Creates a call of `hook` on `world` under `rules`, with everything else empty.
    pub fn new(hook: Hook, world: Arc<World>, rules: Arc<SchemaSet>) -> Self {
        Self {
            hook,
            tool: None,
            answer: None,
            world_before: Arc::clone(&world),
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
            initial_values: Arc::from([]),
            from_version: 1,
            language: "en".to_owned(),
        }
    }
}

impl HookCall {
    /// Returns the name of the script function that the call runs.
    pub fn function(&self) -> Cow<'static, str> {
        match &self.tool {
            Some(tool) => format!("{TOOL_PREFIX}{}", tool.name).into(),
            None => self.hook.name().into(),
        }
    }

    /// Returns the name under which the call's rolls are seeded and recorded.
    pub fn roll_name(&self) -> Cow<'static, str> {
        match &self.tool {
            Some(tool) if tool.earlier_calls > 0 => {
                format!("{TOOL_PREFIX}{} {}", tool.name, u64::from(tool.earlier_calls) + 1).into()
            }
            Some(_) => self.function(),
            None => self.hook.roll_name().into(),
        }
    }
}

/// One quick reply that a plugin offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginQuickReply {
    /// Text of the button.
    pub label: String,
    /// Text that is sent.
    pub send: String,
}

/// The return value of a hook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HookAnswer {
    /// No value; also for every hook that a script does not define.
    #[default]
    Nothing,
    /// `on_input`: what to do with the user's text.
    Input {
        /// Replaces the user's text.
        text: Option<String>,
        /// The reply; no model is called.
        reply: Option<String>,
        /// Writes the user's node and generates nothing.
        stop: bool,
    },
    /// `ctx.fail`: refuses the input with this message; nothing may be written.
    Refused(String),
    /// `narrate`: the reply, in the pieces in which it streams.
    Narration(Vec<String>),
    QuickReplies(Vec<PluginQuickReply>),
    /// `on_display`: the text to show.
    Display(String),
    /// Tool: the result for the model.
    Value(Value),
}

/// The cost of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HookUsage {
    /// Steps of the interpreter.
    pub operations: u64,
    /// CPU time in microseconds.
    pub micros: u64,
    /// Peak memory in bytes.
    pub heap_peak: u64,
}

/// What one call proposes. It proposes nothing if [`HookOutcome::error`] is set or the call refused.
#[derive(Debug, Clone)]
pub struct HookOutcome {
    /// The operations, in order.
    pub operations: Vec<StateOperation>,
    /// What the fold reported about them (clamped, rounded, refused), by position in `operations`. The turn folds again
    /// and reports the same; these are for `try` and tests.
    pub problems: Vec<Problem>,
    /// The state with the operations folded in, for the next plugin. `None` if the call failed or refused, because it
    /// may have changed the only copy.
    pub world: Option<Arc<World>>,
    /// Every roll, in order. They are recorded also if the call failed.
    pub rolls: Vec<Roll>,
    /// Visible lines under the node.
    pub notes: Vec<String>,
    /// Lines for the trace.
    pub warnings: Vec<String>,
    /// Output of `print` and `debug`.
    pub log: Vec<String>,
    /// Changes to the prompt that `plan` wants.
    pub plan: PluginPromptPlan,
    /// Model calls to make after the message is written.
    pub model_calls: Vec<PluginModelCall>,
    /// The proposed summary of played turns.
    pub summary: Option<SummaryProposal>,
    pub answer: HookAnswer,
    pub usage: HookUsage,
    /// Why the call failed. Its operations are dropped ([`ScriptError::ops_dropped`]), the reply text stays, and other
    /// plugins still run.
    pub error: Option<ScriptError>,
}

impl HookOutcome {
    /// Returns the outcome of a hook that the plugin does not define: nothing, at no cost.
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
            model_calls: Vec::new(),
            summary: None,
            answer: HookAnswer::Nothing,
            usage: HookUsage::default(),
            error: None,
        }
    }

    /// Returns whether a limit ended the call; [`super::LimitViolations`] counts these.
    pub fn hit_limit(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.kind == super::ScriptErrorKind::Limit)
    }
}
