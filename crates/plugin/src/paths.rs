//! Checks path literals of scripts against the schema. `ctx.add("glod", 1)` would be refused on every message, so the
//! warning comes at load time.

use rhai::{AST, ASTNode, Expr, FnCallExpr, Position};

use super::script_error_detail::ScriptErrorDetail;
use super::suggest::name_hint;
use clotho_core::world::{Pointer, Schema};

/// Functions of `ctx` whose first argument is a path; `move` has two.
const PATH_FUNCTIONS: [&str; 11] =
    ["get", "has", "keys", "before", "add", "set", "remove", "insert", "append", "take", "move"];

/// Returns every path literal that the schema excludes, with a suggestion.
pub(super) fn unknown_paths(ast: &AST, schema: &Schema) -> Vec<(Position, ScriptErrorDetail)> {
    let mut found = Vec::new();
    ast.walk(&mut |nodes: &[ASTNode<'_>]| {
        if let Some(ASTNode::Expr(Expr::Dot(parts, ..))) = nodes.last()
            && is_ctx(&parts.lhs)
            && let Some((call, _)) = called_method(&parts.rhs)
            && PATH_FUNCTIONS.contains(&call.name.as_str())
        {
            let paths = if call.name == "move" { 2 } else { 1 };
            found.extend(call.args.iter().take(paths).filter_map(|path| unknown_path(path, schema)));
        }
        true
    });
    found
}

/// Returns whether an expression is the context, by its usual name.
pub(super) fn is_ctx(expression: &Expr) -> bool {
    matches!(expression, Expr::Variable(variable, ..) if variable.1 == "ctx")
}

/// Returns the first method called after the dot: `ctx.get("a").len()` calls `get`.
pub(super) fn called_method(expression: &Expr) -> Option<(&FnCallExpr, Position)> {
    match expression {
        Expr::MethodCall(call, at) => Some((call, *at)),
        Expr::Dot(parts, ..) | Expr::Index(parts, ..) => called_method(&parts.lhs),
        _ => None,
    }
}

/// Returns a warning for a path in the plugin's own values that the schema excludes.
fn unknown_path(path: &Expr, schema: &Schema) -> Option<(Position, ScriptErrorDetail)> {
    let Expr::StringConstant(text, position) = path else { return None };
    if text.is_empty() || text.starts_with('/') {
        return None;
    }
    let path: Pointer = format!("/{text}").parse().ok()?;
    let (depth, node) = schema.root_node().first_undeclared(path.keys())?;
    let hint = name_hint(path.keys().get(depth)?, node.properties().map(|(name, _)| name));
    node.is_closed().then(|| (*position, ScriptErrorDetail::UnknownPath { path: text.to_string(), hint }))
}
