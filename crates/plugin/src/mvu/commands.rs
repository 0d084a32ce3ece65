//! Parses `_.set(path, value);//reason` and similar calls.

use serde_json::Value;

use super::value::{self, closing_quote, number};
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
        let glued =
            rest.get(..at).is_some_and(|before| before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'));
        rest = opened;
        let Some(inside) = opened.strip_prefix('(') else { continue };
        if glued || name.is_empty() {
            continue;
        }
        match arguments(inside) {
            None => parsed.push(Err(SkippedCommand::new(call, "its brackets or quotes are not closed"))),
            Some((args, after)) => {
                let (reason, after) = reason(after);
                parsed.push(
                    command(&name.to_ascii_lowercase(), &args, reason).map_err(|why| SkippedCommand::new(call, why)),
                );
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

/// Returns the arguments up to the closing parenthesis, and the rest of the text. Typographic quotes count only where a
/// value begins, and a comment ends with its line.
fn arguments(text: &str) -> Option<(Vec<&str>, &str)> {
    let mut args = Vec::new();
    let mut depth = 0_usize;
    let mut quote: Option<char> = None;
    let mut escaped = false;
    let mut start = 0;
    let mut comment_end = 0;
    // After the last line, a comment would take the closing parenthesis with it.
    let last_line = text.bytes().take(MAX_CALL_BYTES).rposition(|byte| byte == b'\n').unwrap_or(0);
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
        if at < comment_end {
            continue;
        }
        match c {
            '"' | '\'' | '`' => quote = Some(c),
            '“' | '‘' | '「' if begins_value(text.get(start..at)?) => quote = closing_quote(c),
            '/' | '#' if at < last_line && is_comment(text, at) => {
                comment_end = text.get(at..)?.find('\n').map_or(at, |end| at + end);
            }
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

/// Returns whether a value begins after this part of an argument.
fn begins_value(before: &str) -> bool {
    let before = before.trim_end();
    before.is_empty() || before.ends_with([',', ':', '[', '{'])
}

/// Returns whether a comment begins here. It ends with its line. If the call ends in that line, it is a text.
fn is_comment(text: &str, at: usize) -> bool {
    let (before, from) = text.split_at_checked(at).unwrap_or_default();
    let is_sign = from.starts_with("//") || from.starts_with("# ");
    if !is_sign || !(before.is_empty() || before.ends_with([' ', '\t', '\n', ','])) {
        return false;
    }
    let line = from.split('\n').next().unwrap_or_default();
    !line.contains(");") && !line.contains(")；")
}

/// Parses `;//reason` after a call, up to the end of the line; returns the reason and the rest.
fn reason(text: &str) -> (&str, &str) {
    let after = text.trim_start_matches([' ', '\t']);
    let after = after.strip_prefix([';', '；']).unwrap_or(after);
    let comment = after.trim_start_matches([' ', '\t']);
    if let Some((inside, rest)) = comment.strip_prefix("/*").and_then(|comment| comment.split_once("*/")) {
        return (inside.trim(), rest);
    }
    match comment.strip_prefix("//").or_else(|| comment.strip_prefix('#')) {
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
    let is_insert = matches!(name, "insert" | "assign");
    let path = match join_path(&parse_lodash_path(&path).ok_or(NO_PATH)?) {
        Some(path) => path,
        // The values at the top have no path.
        None if is_insert => String::new(),
        None => return Err(NO_PATH),
    };
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
            command.value = Some(number(&value::read(by)).ok_or("it adds a value that is not a number")?);
        }
        ("insert" | "assign", [new]) => {
            command.op = MvuOp::Insert;
            command.value = Some(value::read(new));
        }
        ("insert" | "assign", [key, new]) => {
            command.op = MvuOp::Insert;
            command.key = Some(key_of(key)).filter(|key| key != "-");
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

    /// Sums of numbers are calculated. All else that a model wrote stays a text.
    #[test]
    fn mvu_commands_sums_are_calculated_and_code_is_not_run() {
        assert_eq!(parse_one("_.set('a', process.exit(1));")["value"], json!("process.exit(1)"));
        assert_eq!(parse_one("_.set('a', hp - 5);")["value"], json!("hp - 5"));
        assert_eq!(parse_one("_.set('a', Math.max(1, 2));")["value"], json!("Math.max(1, 2)"));
        assert_eq!(parse_one("_.set('a', 2024-05-01);")["value"], json!("2024-05-01"));
        assert_eq!(parse_one("_.set('a', '1+1');")["value"], json!("1+1"));
        assert_eq!(parse_one("_.set('gold', 15, 15-3);//paid")["value"], json!(12));
        assert_eq!(parse_one("_.add('gold', -2*3);")["value"], json!(-6));
        assert_eq!(parse_one("_.add('gold', (-3));")["value"], json!(-3));
        assert_eq!(parse_one("_.add('gold', '2*(3+4)');")["value"], json!(14));
        assert_eq!(parse_one("_.set('a', {hp: 10/4});")["value"], json!({"hp": 2.5}));
    }

    #[test]
    fn mvu_commands_comments_and_quotes_of_all_kinds_are_read() {
        for text in [
            "_.set('a.b', 1);//why",
            "_.set('a.b', 1); # why",
            "_.set('a.b', 1) /* why */ and on",
            "_.SET(\"a.b\", 1); // why",
            "_.set(`a.b`, 1)；//why",
            "_.set(“a.b”, 1);//why",
            "_.set(‘a.b’, 1);//why",
            "_.set(\n  'a.b', // the path (a place)\n  1 # it's new\n);//why",
            "她笑了_.set('a.b', 1);//why",
        ] {
            assert_eq!(parse_one(text), json!({"op": "set", "path": "a/b", "value": 1, "reason": "why"}), "{text}");
        }
        assert_eq!(parse_one("_.set('a', {\n  x: “so”, // no\n  y: 2,\n});")["value"], json!({"x": "so", "y": 2}));
        assert_eq!(parse_one("_.set('a', it’s fine);")["value"], json!("it’s fine"));
        assert_eq!(parse_one("_.set('a', http://b.example/c);")["value"], json!("http://b.example/c"));
        assert_eq!(parse_one("_.set('a', this // that);\nShe goes.")["value"], json!("this // that"));
    }

    #[test]
    fn mvu_commands_paths_name_any_key() {
        let path = |text: &str| parse_one(text)["path"].as_str().unwrap_or_default().to_owned();
        assert_eq!(path("_.set('a[\"b.c\"].d', 1);"), "a/b.c/d");
        assert_eq!(path("_.set(\"a['b]c']\", 1);"), "a/b]c");
        assert_eq!(path("_.set('a[“b”][0]', 1);"), "a/b/0");
        let fresh = json!({"op": "insert", "path": "", "key": "fresh", "value": 1, "reason": ""});
        assert_eq!(parse_one("_.insert('', 'fresh', 1);"), fresh);
        assert_eq!(parse_one("_.assign('stat_data', 'fresh', 1);"), fresh);
        let end = json!({"op": "insert", "path": "list", "value": "z", "reason": ""});
        assert_eq!(parse_one("_.insert('list', '-', 'z');"), end);
    }
}
