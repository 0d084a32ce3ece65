// English texts for errors and warnings about plugins, by the server's code. `.full` has more arguments.

export default {
  "fault.hint": " (did you mean “{hint}”?)",
  "fault.script_text": "{text}",
  "fault.file_missing": "the file is missing",
  "fault.file_unreadable": "the file is missing or not UTF-8",
  "fault.file_not_utf8": "the file is not UTF-8",
  "fault.file_not_json": "it is not JSON: {error}",
  "fault.file_too_large": "a script file may have {kib} KiB, and all of them {total_kib} KiB",
  "fault.link_skipped": "symbolic links are skipped. Put the file itself into the folder",
  "fault.other_folder_name": "the id is “{id}”, but the name of the folder is “{folder}”",
  "fault.key_twice": "“{key}” appears twice. The first value is ignored",
  "fault.import_missing": "the plugin has no file “{file}”{hint}",
  "fault.import_outside": "import “{path}”: only files in the plugin’s own folder can be imported",
  "fault.not_a_hook": "“{name}” is not a hook, and is never called{hint}. The hooks are {hooks}",
  "fault.hook_parameters":
    "the hook takes {count} value. Write “fn {name}({expected})”, not “fn {name}({given})”|" +
    "the hook takes {count} values. Write “fn {name}({expected})”, not “fn {name}({given})”",
  "fault.tool_parameters": "a tool has two parameters. Write “fn {name}(ctx, args)”, not “fn {name}({given})”",
  "fault.tool_not_in_manifest": "the manifest has no tool “{name}”{hint}. Add a [[tool]] with this name",
  "fault.tool_not_in_script": "the manifest has the tool “{name}”, but there is no “fn {function}(ctx, args)”",
  "fault.no_on_answer": "ctx.ask: the plugin has no on_answer(ctx) to read the answer",
  "fault.unknown_function": "there is no function “{name}”{hint}",
  "fault.wrong_arguments": "“{name}” cannot be called with {given}",
  "fault.wrong_arguments.full": "“{name}” cannot be called with {given}. Its signature is {signatures}",
  "fault.wrong_arity":
    "ctx.{name} cannot be called with {count} value. Its signature is {signatures}|" +
    "ctx.{name} cannot be called with {count} values. Its signature is {signatures}",
  "fault.hides_function": "this calls “fn {name}” of this file, not ctx.{name}. Rename the function",
  "fault.permission_not_requested": "{call} needs “{permission}” in the manifest’s [permissions] request",
  "fault.invalid_regex": "{error}",
  "fault.invalid_dice": "ctx.roll: {error}",
  "fault.unknown_setting": "the manifest has no [config.{name}]{hint}",
  "fault.unknown_slot": "ctx.inject: there is no slot “{slot}”{hint}. There are {slots}",
  "fault.unknown_path": "the schema has no “{path}”{hint}",
  "fault.computed_path": "“{path}” is computed. Change the values that it is computed from",
  "fault.path_not_readable":
    "“{path}” is outside of the plugin’s own values. Reading it needs “{permission}” in the manifest’s " +
    "[permissions] request",
  "fault.path_not_writable":
    "“{path}” is outside of the plugin’s own values. Writing it needs “{permission}” in the manifest’s " +
    "[permissions] request",
  "fault.unknown_variable":
    "there is no variable “{name}” here. Functions and closures only see their parameters. Use global::{name} " +
    "for a const of the file",
  "fault.missing_token": "“{token}” is missing {place} (it may be missing at the end of an earlier line)",
  "fault.disabled_word": "“{word}” is disabled here",
  "fault.reserved_word": "“{word}” is a reserved word",
  "fault.script_refused": "the script refused the message",
  "fault.script_stopped": "the script was stopped",
  "fault.threw_error": "the script threw an error",
  "fault.threw_value": "the script threw {value}",
  "fault.unknown_key": "the map has no “{name}”{hint}",
  "fault.unknown_index": "this index does not exist",
  "fault.unknown_property": "there is no “{name}” here{hint}",
  "fault.read_only_property": "“{name}” can be read but not set",
  "fault.operation_limit":
    "the script took more than {most} step. It may have an endless loop|" +
    "the script took more than {most} steps. It may have an endless loop",
  "fault.time_limit": "the script ran for more than {milliseconds} ms",
  "fault.memory_limit": "the script used more than {mib} MiB of memory",
  "fault.size_limit": "a string may have {kib} KiB, a list {list} and a map {map} entries",
  "fault.size_limit.full": "a string may have {kib} KiB, a list {list} and a map {map} entries: {what}",
  "fault.call_depth_limit": "function calls are nested more than {most} deep",
  "fault.expression_depth_limit":
    "nested too deep. The limit is {most} level at the top of a file, and {inside} inside a function|" +
    "nested too deep. The limit is {most} levels at the top of a file, and {inside} inside a function",
  "fault.variable_limit": "more than {most} variable exists at once|more than {most} variables exist at once",
  "fault.import_limit": "one call has more than {most} import|one call has more than {most} imports",
  "fault.regex_limit": "a regular expression is too large",
  "fault.result_limit": "the result of the script is too large",
  "fault.output_limit": "the script prints too much",
};
