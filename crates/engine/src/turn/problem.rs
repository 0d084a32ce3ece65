//! Problems of nodes that come from plugins, their settings and the values model. The fold has its own
//! (`clotho_core::world::ProblemDetail`), and so have the rules of manifests (`clotho_plugin::manifest_rules`).

use clotho_core::coded_messages;
use clotho_core::tree::NodeProblem;

coded_messages! {
    /// What went wrong while a node was made. It never costs the text of the node.
    pub enum TurnProblem {
        /// The settings of a plugin do not fit its manifest.
        #[error("{plugin}: {error}")]
        PluginSettings { plugin: String, error: String } = "plugin_settings",
        /// A plugin of the session is not installed.
        #[error("{plugin}: it is not installed")]
        PluginMissing { plugin: String } = "plugin_missing",
        /// A plugin of the session is installed and cannot run.
        #[error("{plugin}: it cannot run: {error}")]
        PluginBroken { plugin: String, error: String } = "plugin_broken",
        /// The root of a plugin is already used by another one.
        #[error("{plugin}: {error}")]
        PluginConflict { plugin: String, error: String } = "plugin_conflict",
        /// The values of a plugin were written by a newer version.
        #[error("{plugin}: its values have version {values}, and its code only knows version {known}")]
        PluginOlder { plugin: String, values: u32, known: u32 } = "plugin_older",
        /// The code of a plugin differs from the code that the branch records.
        #[error("{plugin}: this branch uses version {recorded}, but version {ran} ran")]
        PluginChanged { plugin: String, recorded: String, ran: String } = "plugin_changed",
        /// A plugin is turned off in this session.
        #[error("turned off in this session, because it exceeded its limits too often")]
        PluginOff {} = "plugin_off",
        /// Two plugins of a session define the same command.
        #[error("/{command}: {first} runs it, {later} does not receive it")]
        CommandTaken { command: String, first: String, later: String } = "command_taken",
        /// A plugin asks a model and cannot read the answer.
        #[error("it asks a model and has no on_answer(ctx) to read the answer, so no model was asked")]
        PluginAsk {} = "plugin_ask",
        /// The plugins of one message ask too many models.
        #[error("the plugins of one message may ask {most} times; calls left out: {surplus}")]
        PluginAsksLeftOut { most: usize, surplus: usize } = "plugin_asks_left_out",
        /// The plugins of one message propose too many summaries.
        #[error("the plugins of one message may propose {most} summaries; this one was left out")]
        PluginSummary { most: usize } = "plugin_summary",
        /// The initial values of a card or lorebook cannot be read.
        #[error("{error}")]
        StartUnread { error: String } = "start_unread",
        /// The values model gave no usable answer.
        #[error("{model} did not update the values: {error}")]
        ValuesFailed { model: String, error: String } = "values_failed",
        /// Changes of the values model do not fit the values.
        #[error("{count} changes by {model} were left out: {changes}")]
        ValuesLeftOut { count: usize, model: String, changes: String } = "values_left_out",
        /// A script has a syntax error.
        #[error("{error}")]
        PluginParse { error: String } = "plugin_parse",
        /// A script failed.
        #[error("{error}")]
        PluginRuntime { error: String } = "plugin_runtime",
        /// A script exceeded a limit.
        #[error("{error}")]
        PluginLimit { error: String } = "plugin_limit",
        /// A script lacks a permission.
        #[error("{error}")]
        PluginPermission { error: String } = "plugin_permission",
        /// The schema of a plugin is invalid.
        #[error("{error}")]
        PluginSchema { error: String } = "plugin_schema",
        /// The server failed while it ran a script.
        #[error("{error}")]
        PluginHost { error: String } = "plugin_host",
    }
}

coded_messages! {
    /// Why a tool call of a model was refused. The model gets the sentence, and the trace also has code and arguments.
    pub enum ToolRefusal {
        /// The reply has made too many calls.
        #[error("one reply may call {most} tools; write it now with what you know")]
        TooManyCalls { most: usize } = "too_many_tool_calls",
        /// No tool has this name.
        #[error("there is no tool \"{tool}\"; there are: {tools}")]
        UnknownTool { tool: String, tools: String } = "unknown_tool",
        /// The arguments are not JSON.
        #[error("the arguments are no JSON: {error}")]
        ArgumentsNotJson { error: String } = "arguments_not_json",
        /// The arguments do not fit the schema of the tool.
        #[error("the arguments do not fit: {error}")]
        InvalidArguments { error: String } = "invalid_arguments",
        /// The plugin is turned off in this session.
        #[error("this tool is turned off")]
        ToolOff {} = "tool_off",
        /// The script failed.
        #[error("{error}")]
        ToolFailed { error: String } = "tool_failed",
        /// The script refused the call, in words of its author.
        #[error("{words}")]
        RefusedByTool { words: String } = "refused_by_tool",
    }
}

coded_messages! {
    /// Why a model call that is no reply gave nothing, apart from failures of model servers.
    pub enum ModelCallProblem {
        /// No model is left to ask.
        #[error("no model is available")]
        NoModel {} = "no_model",
        /// It was cancelled.
        #[error("the model call was stopped")]
        Stopped {} = "call_stopped",
        /// The session has too many calls.
        #[error("this session already has {most} waiting calls")]
        TooManyCalls { most: usize } = "too_many_calls",
        /// The messages exceed the context.
        #[error("the messages need about {needed} tokens, and the model has room for {budget}")]
        CallTooLarge { needed: usize, budget: usize } = "call_too_large",
        /// The answer has no text.
        #[error("the model answered without text")]
        EmptyAnswer {} = "empty_answer",
        /// The answer has only text that readers may not see.
        #[error("the model's answer contains only hidden text")]
        HiddenAnswer {} = "hidden_answer",
        /// The name is that of a plugin.
        #[error("\"{name}\" is a plugin that only writes replies: choose a model")]
        NotAModel { name: String } = "not_a_model",
        /// No plugin has values that the model could keep.
        #[error("no plugin here has values that a model could update, and none reads commands, so no model was asked")]
        NoValues {} = "no_values",
        /// The answer of the values model has no command.
        #[error("the answer contains no command: \"{words}\"")]
        NoCommand { words: String } = "no_command",
        /// The embedding model gave vectors of another size.
        #[error("the vectors of {name} have a new size")]
        VectorsResized { name: String } = "vectors_resized",
        /// The embedding model gave no vector.
        #[error("the model sent no vector")]
        NoVector {} = "no_vector",
        /// The embedding model was too slow.
        #[error("{name} sent no vector within {milliseconds} ms")]
        VectorsLate { name: String, milliseconds: u64 } = "vectors_late",
    }
}

impl TurnProblem {
    /// Returns the problem of a node that concerns a plugin.
    pub fn for_plugin(self, plugin: &str) -> NodeProblem {
        NodeProblem::new(&self, Some(plugin.to_owned()))
    }
}
