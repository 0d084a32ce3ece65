//! What errors and warnings about scripts, manifests and schemas say: every code with its arguments and its sentence.
//! To add one, add a variant, and texts for its code in both languages of the page. A test compares them.

use clotho_core::coded_messages;

use super::suggest::NameHint;

coded_messages! {
    /// What is wrong in a plugin and, if possible, how to fix it.
    pub enum ScriptErrorDetail {
        /// A text without a code of its own: from the script, the engine, or a parser.
        #[error("{text}")]
        Other { text: String } = "script_text",

        // Files.
        /// A file is missing.
        #[error("the file is missing")]
        FileMissing {} = "file_missing",
        /// A file is missing, or it is not UTF-8.
        #[error("the file is missing or not UTF-8")]
        FileUnreadable {} = "file_unreadable",
        /// A file is not UTF-8.
        #[error("the file is not UTF-8")]
        FileNotUtf8 {} = "file_not_utf8",
        /// A file is not JSON.
        #[error("not JSON: {error}")]
        FileNotJson { error: String } = "file_not_json",
        /// The scripts are too large.
        #[error("a script file may have {kib} KiB, and all of them {total_kib} KiB")]
        FileTooLarge { kib: usize, total_kib: usize } = "file_too_large",
        /// A symbolic link.
        #[error("symbolic links are skipped: put the file itself into the folder")]
        LinkSkipped {} = "link_skipped",
        /// The folder has another name than the plugin.
        #[error("the id is \"{id}\", but the name of the folder is \"{folder}\"")]
        OtherFolderName { id: String, folder: String } = "other_folder_name",
        /// A key of the schema appears twice.
        #[error("\"{key}\" appears twice: the first value is ignored")]
        KeyTwice { key: String } = "key_twice",
        /// An imported file does not exist.
        #[error("the plugin has no file \"{file}\"{hint}")]
        ImportMissing { file: String, hint: NameHint } = "import_missing",
        /// An imported file is outside of the folder.
        #[error("import \"{path}\": only files in the plugin's own folder can be imported")]
        ImportOutside { path: String } = "import_outside",

        // Hooks and tools.
        /// A function looks like a hook.
        #[error("\"{name}\" is not a hook, and is never called{hint}; the hooks are {hooks}")]
        NotAHook { name: String, hint: NameHint, hooks: String } = "not_a_hook",
        /// A hook has other parameters.
        #[error("the hook takes {}: write \"fn {name}({expected})\", not \"fn {name}({given})\"", values(*count))]
        HookParameters { name: String, count: usize, expected: String, given: String } = "hook_parameters",
        /// A tool has other parameters.
        #[error("a tool has two parameters: write \"fn {name}(ctx, args)\", not \"fn {name}({given})\"")]
        ToolParameters { name: String, given: String } = "tool_parameters",
        /// The manifest does not have a tool.
        #[error("the manifest has no tool \"{name}\"{hint}: add a [[tool]] with this name")]
        ToolNotInManifest { name: String, hint: NameHint } = "tool_not_in_manifest",
        /// The script does not have a tool.
        #[error("the manifest has the tool \"{name}\", but there is no \"fn {function}(ctx, args)\"")]
        ToolNotInScript { name: String, function: String } = "tool_not_in_script",
        /// Nothing reads the answer of a model.
        #[error("ctx.ask: the plugin has no on_answer(ctx) to read the answer")]
        NoOnAnswer {} = "no_on_answer",

        // Calls.
        /// A function does not exist.
        #[error("there is no function \"{name}\"{hint}")]
        UnknownFunction { name: String, hint: NameHint } = "unknown_function",
        /// A function does not take these arguments, but others.
        #[error("\"{name}\" cannot be called with {given}; its signature is {signatures}")]
        OtherSignature { name: String, given: String, signatures: String } = "wrong_arguments",
        /// A function does not take these arguments.
        #[error("\"{name}\" cannot be called with {given}")]
        WrongArguments { name: String, given: String } = "wrong_arguments",
        /// A function of `ctx` takes another number of arguments.
        #[error("ctx.{name} cannot be called with {}; its signature is {signatures}", number_of_values(*count))]
        WrongArity { name: String, count: usize, signatures: String } = "wrong_arity",
        /// A function of the script hides one of `ctx`.
        #[error("this calls \"fn {name}\" of this file, not ctx.{name}: rename the function")]
        HidesFunction { name: String } = "hides_function",
        /// A call needs a permission that the manifest does not request.
        #[error("{call} needs \"{permission}\" in the manifest's [permissions] request")]
        PermissionNotRequested { call: String, permission: String } = "permission_not_requested",
        /// A regular expression is invalid.
        #[error("{error}")]
        InvalidRegex { error: String } = "invalid_regex",
        /// A dice expression is invalid.
        #[error("ctx.roll: {error}")]
        InvalidDice { error: String } = "invalid_dice",
        /// The manifest does not have a setting.
        #[error("the manifest has no [config.{name}]{hint}")]
        UnknownSetting { name: String, hint: NameHint } = "unknown_setting",
        /// The prompt does not have a slot.
        #[error("ctx.inject: there is no slot \"{slot}\"{hint}; there are {slots}")]
        UnknownSlot { slot: String, hint: NameHint, slots: String } = "unknown_slot",

        // Paths of the state.
        /// The schema does not have a path.
        #[error("the schema has no \"{path}\"{hint}")]
        UnknownPath { path: String, hint: NameHint } = "unknown_path",
        /// A computed value cannot be changed.
        #[error("\"{path}\" is computed: change the values that it is computed from")]
        ComputedPath { path: String } = "computed_path",
        /// Values of others are read without permission.
        #[error(
            "\"{path}\" is outside of the plugin's own values; reading it needs \"{permission}\" in the manifest's \
             [permissions] request"
        )]
        PathNotReadable { path: String, permission: String } = "path_not_readable",
        /// Values of others are written without permission.
        #[error(
            "\"{path}\" is outside of the plugin's own values; writing it needs \"{permission}\" in the manifest's \
             [permissions] request"
        )]
        PathNotWritable { path: String, permission: String } = "path_not_writable",

        // Syntax.
        /// A variable does not exist.
        #[error(
            "there is no variable \"{name}\" here; functions and closures only see their parameters. Use \
             global::{name} for a const of the file"
        )]
        UnknownVariable { name: String } = "unknown_variable",
        /// A sign is missing.
        #[error("\"{token}\" is missing {place} (it may be missing at the end of an earlier line)")]
        MissingToken { token: String, place: String } = "missing_token",
        /// A word of the language is turned off here.
        #[error("\"{word}\" is disabled here")]
        DisabledWord { word: String } = "disabled_word",
        /// A word of the language is used as a name.
        #[error("\"{word}\" is a reserved word")]
        ReservedWord { word: String } = "reserved_word",

        // Failures at run time.
        /// The script refused the message.
        #[error("the script refused the message")]
        Refused {} = "script_refused",
        /// The script was stopped.
        #[error("the script was stopped")]
        Stopped {} = "script_stopped",
        /// The script threw nothing.
        #[error("the script threw an error")]
        ThrewError {} = "threw_error",
        /// The script threw a value.
        #[error("the script threw {value}")]
        ThrewValue { value: String } = "threw_value",
        /// A map has no such key.
        #[error("the map has no \"{name}\"{}", map_key_hint(name, hint))]
        UnknownKey { name: String, hint: NameHint } = "unknown_key",
        /// A list has no such index.
        #[error("this index does not exist")]
        UnknownIndex {} = "unknown_index",
        /// A value has no such property.
        #[error("there is no \"{name}\" here{hint}")]
        UnknownProperty { name: String, hint: NameHint } = "unknown_property",
        /// A property cannot be set.
        #[error("\"{name}\" can be read but not set")]
        ReadOnlyProperty { name: String } = "read_only_property",

        // Limits.
        /// Too many steps.
        #[error("the script took more than {most} steps; it may have an endless loop")]
        OperationLimit { most: u64 } = "operation_limit",
        /// Too much time.
        #[error("the script ran for more than {milliseconds} ms")]
        TimeLimit { milliseconds: u64 } = "time_limit",
        /// Too much memory.
        #[error("the script used more than {mib} MiB of memory")]
        MemoryLimit { mib: u64 } = "memory_limit",
        /// A value is too large.
        #[error("a string may have {kib} KiB, a list {list} and a map {map} entries")]
        SizeLimit { kib: usize, list: usize, map: usize } = "size_limit",
        /// A value of a known type is too large.
        #[error("a string may have {kib} KiB, a list {list} and a map {map} entries: {what}")]
        SizeLimitOf { kib: usize, list: usize, map: usize, what: String } = "size_limit",
        /// Calls are nested too deep.
        #[error("function calls are nested more than {most} deep")]
        CallDepthLimit { most: usize } = "call_depth_limit",
        /// Expressions are nested too deep.
        #[error("nested too deep: the limit is {most} levels at the top of a file, and {inside} inside a function")]
        ExpressionDepthLimit { most: usize, inside: usize } = "expression_depth_limit",
        /// Too many variables.
        #[error("more than {most} variables exist at once")]
        VariableLimit { most: usize } = "variable_limit",
        /// Too many imports.
        #[error("one call has more than {most} imports")]
        ImportLimit { most: usize } = "import_limit",
        /// A regular expression is too large.
        #[error("a regular expression is too large")]
        RegexLimit {} = "regex_limit",
        /// The result is too large.
        #[error("the result of the script is too large")]
        ResultLimit {} = "result_limit",
        /// Too many notes, warnings or lines of the log.
        #[error("the script prints too much")]
        OutputLimit {} = "output_limit",
    }
}

impl From<String> for ScriptErrorDetail {
    fn from(text: String) -> Self {
        Self::Other { text }
    }
}

/// Formats the number of parameters of a hook.
fn values(count: usize) -> &'static str {
    if count == 1 { "one value" } else { "two values" }
}

fn number_of_values(count: usize) -> String {
    if count == 1 { "1 value".to_owned() } else { format!("{count} values") }
}

/// Formats the hint for an unknown key of a map: what to write instead, else how to test for it.
fn map_key_hint(name: &str, hint: &NameHint) -> String {
    match hint {
        NameHint::None => format!(" (test for it with \"{name}\" in map)"),
        hint => hint.to_string(),
    }
}
