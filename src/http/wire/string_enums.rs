//! The string enums of the API document: fields that the server writes as strings with a closed set of values. No value
//! of these types is ever created. A field names its enum with `value_type`.

use utoipa::ToSchema;

macro_rules! string_enums {
    ($($(#[$doc:meta])* $name:ident as $schema:ident { $($variant:ident = $word:tt,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, ToSchema)]
        #[schema(as = $schema)]
        pub enum $name { $(
            #[doc = $word]
            #[serde(rename = $word)]
            $variant,
        )* }
    )*};
}

string_enums! {
    /// The phase of a draft.
    DraftStatusEnum as DraftStatus {
        Queued = "queued", Waiting = "waiting", Thinking = "thinking", Streaming = "streaming", Done = "done",
        Error = "error",
    }
    /// The state of a job; `interrupted`: the server stopped before the end.
    JobStateEnum as JobState {
        Queued = "queued", Running = "running", Done = "done", Failed = "failed", Cancelled = "cancelled",
        Interrupted = "interrupted",
    }
    /// What became of an imported part; `kept`: it is exported again, but has no effect here.
    ImportFateEnum as ImportFate { Works = "works", Translated = "translated", Kept = "kept", Skipped = "skipped", }
    /// Where a regex script belongs: to the caller, a preset or a character card.
    ScriptScopeEnum as ScriptScope { Global = "global", Preset = "preset", Card = "card", }
    /// Macros in a pattern: not expanded, expanded as part of the pattern, or expanded literally.
    ScriptMacrosEnum as ScriptMacros { Plain = "plain", Raw = "raw", Escaped = "escaped", }
    /// The embedded plugin of a card, compared with the installed one.
    EmbeddedPluginStateEnum as EmbeddedPluginState {
        None = "none", Broken = "broken", New = "new", Same = "same", Newer = "newer", Older = "older",
        Other = "other", Bundled = "bundled",
    }
    /// Where a version of a card came from: as the character first came, an edit, an imported file, or an older version.
    CardVersionOriginEnum as CardVersionOrigin {
        Created = "created", Edit = "edit", Import = "import", Restore = "restore",
    }
    /// How a file differs.
    FileChangeEnum as FileChange { Same = "same", Added = "added", Changed = "changed", Removed = "removed", }
    /// Where a plugin comes from.
    PluginOriginEnum as PluginOrigin { Bundled = "bundled", Folder = "folder", }
    /// Where a provider comes from.
    ProviderOriginEnum as ProviderOrigin { Config = "config", Connected = "connected", }
    /// The type of a setting of a plugin.
    SettingKindEnum as PluginConfigType {
        Integer = "integer", Number = "number", Boolean = "boolean", Text = "text", List = "list",
    }
    /// How tools are offered to a model.
    ToolModeEnum as ToolMode { Native = "native", Words = "words", None = "none", }
    /// A hint about a search query.
    SearchNoteEnum as SearchNoteCode {
        NoWord = "no_word", Cut = "cut", NoSession = "no_session", NoCharacter = "no_character",
    }
    /// What selected the preset of a prompt: the session, the model, or neither.
    PresetReasonEnum as PresetReason { Session = "session", Model = "model", Own = "own", }
}
