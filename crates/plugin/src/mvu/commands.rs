//! Parses `_.set(path, value);//reason` and similar calls.

use serde_json::Value;

use super::value::{self, relaxed_number};
use super::{MvuCommand, MvuOp, ParsedCommands, SkippedCommand, join_path, parse_lodash_path};

/// The most bytes of one command.
const MAX_CALL_BYTES: usize = 16 << 10;

/// Parses every call in a text, up to `most` commands.
pub(super) fn parse_calls(text: &str, most: usize, parsed: &mut ParsedCommands) {
    let mut rest = text;
    while let Some(at) = rest.find("_.") {
        if parsed.len() >= most {
            return;
        }
        let call = rest.get(at..).unwrap_or_default();
        let after = rest.get(at + 2..).unwrap_or_default();
        let name_end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (name, opened) = after.split_at(name_end);
        let glued = rest.get(..at).is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
        rest = opened;
        let Some(inside) = opened.strip_prefix('(') else { continue };
        if glued || name.is_empty() {
            continue;
        }
        match arguments(inside) {
            None => parsed.push(Err(SkippedCommand::new(call, "its brackets or quotes are not closed"))),
            Some((args, after)) => {
                let (reason, after) = reason(after);
                parsed.push(command(name, &args, reason).map_err(|why| SkippedCommand::new(call, why)));
                rest = after;
            }
        }
    }
}

/// Returns the text without its calls.
pub(super) fn remove_calls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("_.") {
        let (before, call) = rest.split_at(at);
        out.push_str(before);
        let after = call.get(2..).unwrap_or_default();
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (name, opened) = after.split_at(end);
        let read = opened.strip_prefix('(').filter(|_| !name.is_empty()).and_then(arguments);
        rest = match read {
            Some((_, after)) => reason(after).1,
            None => {
                out.push_str("_.");
                after
            }
        };
    }
    out.push_str(rest);
    out
}

/// Returns the arguments up to the closing parenthesis, and the rest of the text.
fn arguments(text: &str) -> Option<(Vec<&str>, &str)> {
    let mut args = Vec::new();
    let mut depth = 0_usize;
    let mut quote: Option<char> = None;
    let mut escaped = false;
    let mut start = 0;
    for (at, c) in text.char_indices().take_while(|(at, _)| *at < MAX_CALL_BYTES) {
        if let Some(closing) = quote {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if c == closing => quote = None,
                _ => {}
            }
            continue;
        }
        match c {
            '"' | '\'' | '`' => quote = Some(c),
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => {
                let last = text.get(start..at)?.trim();
                if !last.is_empty() || !args.is_empty() {
                    args.push(last);
                }
                return Some((args, text.get(at + 1..)?));
            }
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                args.push(text.get(start..at)?.trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// Parses `;//reason` after a call, up to the end of the line; returns the reason and the rest.
fn reason(text: &str) -> (&str, &str) {
    let after = text.trim_start_matches([' ', '\t']);
    let after = after.strip_prefix([';', '；']).unwrap_or(after);
    match after.trim_start_matches([' ', '\t']).strip_prefix("//") {
        None => ("", after),
        Some(comment) => {
            // The enclosing tag may close on the same line.
            let end = ["\n", "</"].iter().filter_map(|sign| comment.find(sign)).min().unwrap_or(comment.len());
            let (reason, rest) = comment.split_at(end);
            (reason.trim(), rest)
        }
    }
}

fn command(name: &str, args: &[&str], reason: &str) -> Result<MvuCommand, &'static str> {
    const NO_PATH: &str = "it has no path";
    let (first, values) = args.split_first().ok_or(NO_PATH)?;
    let Value::String(path) = value::read(first) else { return Err(NO_PATH) };
    let path = parse_lodash_path(&path).and_then(|keys| join_path(&keys)).ok_or(NO_PATH)?;
    let mut command = MvuCommand {
        op: MvuOp::Set,
        path,
        key: None,
        value: None,
        from: None,
        reason: reason.chars().take(200).collect(),
    };
    match (name, values) {
        ("set", [new] | [_, new]) => command.value = Some(value::read(new)),
        ("add", [by]) => {
            command.op = MvuOp::Add;
            command.value = Some(number(by).ok_or("it adds a value that is not a number")?);
        }
        ("insert" | "assign", [new]) => {
            command.op = MvuOp::Insert;
            command.value = Some(value::read(new));
        }
        ("insert" | "assign", [key, new]) => {
            command.op = MvuOp::Insert;
            command.key = Some(key_of(key));
            command.value = Some(value::read(new));
        }
        ("delete" | "remove" | "unset", []) => command.op = MvuOp::Remove,
        ("delete" | "remove" | "unset", [what]) => {
            command.op = MvuOp::Remove;
            command.value = Some(value::read(what));
        }
        ("set" | "add" | "insert" | "assign" | "delete" | "remove" | "unset", _) => {
            return Err("it has the wrong number of arguments");
        }
        _ => return Err("this command is unknown"),
    }
    Ok(command)
}

fn number(text: &str) -> Option<Value> {
    match value::read(text) {
        Value::Number(number) => Some(Value::Number(number)),
        Value::String(text) => relaxed_number(text.trim()).map(Value::Number),
        _ => None,
    }
}

fn key_of(text: &str) -> String {
    match value::read(text) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse_one(text: &str) -> Value {
        let mut parsed = ParsedCommands::default();
        parse_calls(text, 10, &mut parsed);
        assert_eq!((parsed.commands.len(), parsed.skipped.len()), (1, 0), "{parsed:?}");
        parsed.commands[0].to_json()
    }

    #[test]
    fn mvu_commands_all_spellings_are_parsed() {
        assert_eq!(parse_one("_.set('a', 1)"), json!({"op": "set", "path": "a", "value": 1, "reason": ""}));
        assert_eq!(parse_one("_.add('a.b', -2.5);"), json!({"op": "add", "path": "a/b", "value": -2.5, "reason": ""}));
        assert_eq!(parse_one("_.add('a', '+3');")["value"], json!(3));
        assert_eq!(
            parse_one("_.insert('bag', 'rope');//found"),
            json!({"op": "insert", "path": "bag", "value": "rope", "reason": "found"})
        );
        assert_eq!(
            parse_one("_.assign('bag', 'rope', {count: 2,});"),
            json!({"op": "insert", "path": "bag", "key": "rope", "value": {"count": 2}, "reason": ""})
        );
        assert_eq!(parse_one("_.unset('a.b');"), json!({"op": "remove", "path": "a/b", "value": null, "reason": ""}));
        assert_eq!(parse_one("_.remove('bag', 'rope');")["value"], json!("rope"));
        assert_eq!(parse_one("_.set('q', \"a, (b) 'c'\");")["value"], json!("a, (b) 'c'"));
        assert_eq!(parse_one("_.set('a', 1);//why</UpdateVariable>")["reason"], json!("why"));
        assert_eq!(parse_one("_.set('x', [1, [2, 3]], [4]);//r\nrest")["value"], json!([4]));
    }

    #[test]
    fn mvu_commands_invalid_command_skips_only_itself() {
        let mut parsed = ParsedCommands::default();
        parse_calls(
            "_.set('a', 'open); _.jump('a');\n_.add('a', 'x'); _.set(); a_.set('b', 1); _.set('c', 1);",
            10,
            &mut parsed,
        );
        let skipped: Vec<String> = parsed.skipped.iter().map(ToString::to_string).collect();
        assert_eq!(parsed.commands.len(), 1, "{parsed:?}");
        assert_eq!(parsed.commands[0].path, "c");
        assert!(skipped.iter().any(|line| line.contains("this command is unknown") || line.contains("are not closed")));
        assert!(skipped.iter().any(|line| line.ends_with("it has no path")), "{skipped:?}");
    }

    /// Model output is never evaluated: an expression stays a text.
    #[test]
    fn mvu_commands_expressions_are_not_evaluated() {
        assert_eq!(parse_one("_.set('a', process.exit(1));")["value"], json!("process.exit(1)"));
        assert_eq!(parse_one("_.set('a', 1+1);")["value"], json!("1+1"));
    }
}
