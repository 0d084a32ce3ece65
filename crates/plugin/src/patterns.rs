//! Finds the pattern literals of a script: arguments of `find` and `find_all`, written directly or as a constant of the
//! file.

use rhai::{AST, ASTNode, Expr, FnCallExpr, Position, Stmt};

/// Returns the patterns of one file with their positions, in order.
pub(super) fn literal_patterns(ast: &AST) -> Vec<(String, Position)> {
    let mut found = Vec::new();
    ast.walk(&mut |path: &[ASTNode<'_>]| {
        let call = match path.last() {
            Some(ASTNode::Expr(Expr::FnCall(call, _) | Expr::MethodCall(call, _)))
            | Some(ASTNode::Stmt(Stmt::FnCall(call, _))) => call,
            _ => return true,
        };
        found.extend(pattern_argument(ast, call));
        true
    });
    found
}

fn pattern_argument(ast: &AST, call: &FnCallExpr) -> Option<(String, Position)> {
    let is_look = !call.is_qualified() && call.op_token.is_none() && matches!(call.name.as_str(), "find" | "find_all");
    match call.args.first().filter(|_| is_look)? {
        Expr::StringConstant(text, at) => Some((text.to_string(), *at)),
        Expr::Variable(variable, _, at) => {
            let name = variable.1.as_str();
            let (_, _, value) = ast.iter_literal_variables(true, false).find(|(known, _, _)| *known == name)?;
            Some((value.into_immutable_string().ok()?.to_string(), *at))
        }
        _ => None,
    }
}
