//! Parses `<JSONPatch>`: RFC 6902 as models write it, plus MVU's `delta` and `insert`.

use serde_json::{Map, Value};

use super::value::{self, number};
use super::{MvuCommand, MvuOp, ParsedCommands, SkippedCommand, join_path, parse_lodash_path};

/// Parses each object of a patch separately, so that an invalid one or a missing bracket affects no other.
pub(super) fn parse_patch(text: &str, most: usize, parsed: &mut ParsedCommands) {
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        if parsed.len() >= most {
            return;
        }
        let object = rest.get(at..).unwrap_or_default();
        match value::read_object(object) {
            Some((map, after)) => {
                parsed.push(command(&map).map_err(|why| SkippedCommand::new(object, why)));
                rest = after;
            }
            None => {
                parsed.push(Err(SkippedCommand::new(object, "it is not an object")));
                rest = object.get(1..).unwrap_or_default();
            }
        }
    }
}

/// Finds a patch without a tag: a list of operations, or a single one, at the start of a line.
pub(super) fn find_bare_patch(text: &str) -> Option<usize> {
    let mut at = 0;
    let mut depth = 0_i64;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let start = at + (line.len() - trimmed.len());
        if depth <= 0 && trimmed.starts_with(['[', '{']) && is_patch(text.get(start..).unwrap_or_default()) {
            return Some(start);
        }
        // Text inside a call is its argument.
        depth += line.chars().map(|c| i64::from(c == '(') - i64::from(c == ')')).sum::<i64>();
        at += line.len();
    }
    None
}

fn is_patch(text: &str) -> bool {
    let text = text.strip_prefix('[').unwrap_or(text).trim_start();
    text.starts_with('{') && value::read_object(text).is_some_and(|(map, _)| is_operation(&map))
}

fn is_operation(map: &Map<String, Value>) -> bool {
    map.contains_key("op") && map.contains_key("path")
}

/// Parses the operations at the start of a text, and returns the rest.
pub(super) fn parse_bare_patch<'t>(text: &'t str, most: usize, parsed: &mut ParsedCommands) -> &'t str {
    let mut rest = text.strip_prefix('[').unwrap_or(text);
    while parsed.len() < most {
        let next = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        let Some((map, after)) = value::read_object(next).filter(|(map, _)| is_operation(map)) else { break };
        let object = next.get(..next.len() - after.len()).unwrap_or_default();
        parsed.push(command(&map).map_err(|why| SkippedCommand::new(object, why)));
        rest = after;
    }
    rest
}

fn command(map: &Map<String, Value>) -> Result<MvuCommand, &'static str> {
    let text = |key: &str| map.get(key).and_then(Value::as_str);
    // MVU names the target of a move `to`.
    let is_move = text("op").is_some_and(|op| op.eq_ignore_ascii_case("move"));
    let path = text("path").or_else(|| text("to").filter(|_| is_move));
    let mut keys = path.and_then(pointer).ok_or("it has no path")?;
    let value = map.get("value").cloned();
    let mut command = MvuCommand {
        op: MvuOp::Set,
        path: String::new(),
        key: None,
        value: None,
        from: None,
        reason: text("reason").unwrap_or_default().chars().take(200).collect(),
    };
    match text("op").unwrap_or_default().to_ascii_lowercase().as_str() {
        "replace" | "set" => command.value = Some(value.ok_or("it has no value")?),
        "delta" => {
            command.op = MvuOp::Add;
            command.value = Some(value.as_ref().and_then(number).ok_or("it adds a value that is not a number")?);
        }
        "add" | "insert" => {
            command.op = MvuOp::Insert;
            command.value = Some(value.ok_or("it has no value")?);
            command.key = keys.pop().filter(|key| key != "-");
        }
        "remove" => command.op = MvuOp::Remove,
        "move" => {
            command.op = MvuOp::Move;
            let from = text("from").and_then(pointer).and_then(|keys| join_path(&keys));
            command.from = Some(from.ok_or("it has no \"from\"")?);
        }
        _ => return Err("this operation is unknown"),
    }
    match (join_path(&keys), command.op) {
        (Some(path), _) => command.path = path,
        (None, MvuOp::Insert) if command.key.is_some() => {}
        (None, _) => return Err("it has no path"),
    }
    Ok(command)
}

/// Splits `/a/b`, `a/b` or `a.b` into keys.
fn pointer(path: &str) -> Option<Vec<String>> {
    let path = path.trim();
    if !path.contains('/') {
        return parse_lodash_path(path);
    }
    let keys: Vec<String> =
        path.trim_start_matches('/').split('/').map(|key| key.replace("~1", "/").replace("~0", "~")).collect();
    let named = keys.iter().all(|key| !key.is_empty() && !key.contains('\0'));
    (named && keys.len() <= 31).then_some(keys)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mvu_patch_operations_become_commands() {
        let mut parsed = ParsedCommands::default();
        let text = r#"```json
            [{"op": "replace", "path": "/rin/mood", "value": "glad"},
             {"op": "delta", "path": "rin/affinity", "value": "+2"},
             {op: 'insert', path: '/bag/rope', value: {count: 1}},
             {"op": "add", "path": "/list/-", "value": 5},
             {"op": "remove", "path": "stat_data.bag.torch"},
             {"op": "move", "from": "/a/b", "path": "/c"},
             {"op": "move", "from": "/a/b", "to": "/d"},
             {"op": "delta", "path": "/gold", "value": 2*3},
             {"op": "add", "path": "/top", "value": 1},
             {"op": "test", "path": "/a", "value": 1},
             {"op": "replace", "path": "/a"},
             {"op": "replace", "path": "/z", "value": 1 oops},
             {"op": "replace", "path": "/last", "value": 9,}
            ```"#;
        parse_patch(text, 50, &mut parsed);
        let command: Vec<Value> = parsed.commands.iter().map(MvuCommand::to_json).collect();
        assert_eq!(
            command,
            [
                json!({"op": "set", "path": "rin/mood", "value": "glad", "reason": ""}),
                json!({"op": "add", "path": "rin/affinity", "value": 2, "reason": ""}),
                json!({"op": "insert", "path": "bag", "value": {"count": 1}, "reason": "", "key": "rope"}),
                json!({"op": "insert", "path": "list", "value": 5, "reason": ""}),
                json!({"op": "remove", "path": "bag/torch", "value": null, "reason": ""}),
                json!({"op": "move", "path": "c", "value": null, "reason": "", "from": "a/b"}),
                json!({"op": "move", "path": "d", "value": null, "reason": "", "from": "a/b"}),
                json!({"op": "add", "path": "gold", "value": 6, "reason": ""}),
                json!({"op": "insert", "path": "", "value": 1, "reason": "", "key": "top"}),
                json!({"op": "set", "path": "last", "value": 9, "reason": ""}),
            ]
        );
        let why: Vec<&str> = parsed.skipped.iter().map(|skipped| skipped.why).collect();
        assert_eq!(why, ["this operation is unknown", "it has no value", "it is not an object"]);
    }
}
