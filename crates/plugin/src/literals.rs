//! Checks of literals in scripts. They find calls of `ctx` with a wrong number of arguments, unknown settings and
//! invalid dice. They also find slots and paths that the manifest does not request, and writes to computed values.

use rhai::{AST, ASTNode, Expr, FnCallExpr, Position};

use super::dice::DiceSpec;
use super::manifest::Manifest;
use super::manifest_rules::{may_read, may_write};
use super::paths::{called_method, is_ctx};
use super::permission::Permission;
use super::plan;
use super::script_error_detail::ScriptErrorDetail;
use super::script_functions::{ScriptFunction, script_functions};
use super::suggest::name_hint;
use clotho_core::world::{Pointer, Schema};

const WRITE_FUNCTIONS: [&str; 7] = ["add", "set", "remove", "insert", "append", "take", "move"];
const READ_FUNCTIONS: [&str; 4] = ["get", "has", "keys", "before"];

/// A warning: position and what is wrong.
type LiteralWarning = (Position, ScriptErrorDetail);

/// Returns the warnings about literals in calls of `ctx` in one file.
pub(super) fn literal_warnings(ast: &AST, manifest: &Manifest, schema: Option<&Schema>) -> Vec<LiteralWarning> {
    let own = ast.iter_functions().map(|function| (function.name.to_owned(), function.params.len())).collect();
    let check = LiteralCheck { manifest, schema, own };
    let mut found = Vec::new();
    ast.walk(&mut |nodes: &[ASTNode<'_>]| {
        if let Some(ASTNode::Expr(Expr::Dot(parts, ..))) = nodes.last()
            && is_ctx(&parts.lhs)
        {
            found.extend(config_access(&parts.rhs).and_then(|(name, at)| check.check_setting(name, at)));
            if let Some((call, at)) = called_method(&parts.rhs) {
                check.check_call(call, at, &mut found);
            }
        }
        true
    });
    found
}

/// Returns the setting accessed after `ctx.`, as `config.name` or `config["name"]`.
fn config_access(behind: &Expr) -> Option<(&str, Position)> {
    let is_config = |expression: &Expr| matches!(expression, Expr::Property(name, _) if name.2 == "config");
    let named = match behind {
        Expr::Dot(parts, ..) | Expr::Index(parts, ..) if is_config(&parts.lhs) => &parts.rhs,
        _ => return None,
    };
    let first = match named {
        Expr::Dot(parts, ..) | Expr::Index(parts, ..) => &parts.lhs,
        other => other,
    };
    match first {
        Expr::Property(name, at) => Some((name.2.as_str(), *at)),
        Expr::StringConstant(name, at) => Some((name.as_str(), *at)),
        _ => None,
    }
}

struct LiteralCheck<'a> {
    manifest: &'a Manifest,
    schema: Option<&'a Schema>,
    /// The functions of the file, each with its number of parameters.
    own: Vec<(String, usize)>,
}

impl LiteralCheck<'_> {
    fn check_setting(&self, name: &str, at: Position) -> Option<LiteralWarning> {
        let known = || self.manifest.config.iter().map(|(known, _)| known.as_str());
        let hint = name_hint(name, known());
        let is_known = known().any(|known| known == name);
        (!is_known).then(|| (at, ScriptErrorDetail::UnknownSetting { name: name.to_owned(), hint }))
    }

    fn check_call(&self, call: &FnCallExpr, at: Position, found: &mut Vec<LiteralWarning>) {
        let name = call.name.as_str();
        found.extend(self.check_arity(name, call.args.len()).map(|detail| (at, detail)));
        let texts = call.args.iter().filter_map(|argument| match argument {
            Expr::StringConstant(text, at) => Some((text.as_str(), *at)),
            _ => None,
        });
        let first = matches!(call.args.first(), Some(Expr::StringConstant(..)));
        let Some((text, at)) = texts.clone().next().filter(|_| first) else { return };
        match name {
            "roll" => found.extend(
                DiceSpec::parse(text)
                    .err()
                    .map(|error| (at, ScriptErrorDetail::InvalidDice { error: error.to_string() })),
            ),
            "inject" => found.extend(self.check_slot(text).map(|detail| (at, detail))),
            "move" => found.extend(texts.take(2).filter_map(|(path, at)| Some((at, self.check_path(name, path)?)))),
            _ => found.extend(self.check_path(name, text).map(|detail| (at, detail))),
        }
    }

    /// Returns a warning if `ctx` has the function but not with this number of arguments.
    fn check_arity(&self, name: &str, given: usize) -> Option<ScriptErrorDetail> {
        let of_name = || script_functions().iter().filter(|function| function.name == name);
        let ways: Vec<&str> = of_name()
            .filter(|function| !function.signature.is_empty())
            .map(|function| function.signature.as_str())
            .collect();
        let fits = |function: &ScriptFunction| function.params == given + 1;
        let is_own = self.own.iter().any(|(own, params)| own == name && *params == given);
        if ways.is_empty() || of_name().any(fits) || is_own {
            return None;
        }
        Some(ScriptErrorDetail::WrongArity { name: name.to_owned(), count: given, signatures: ways.join(", ") })
    }

    fn check_slot(&self, slot: &str) -> Option<ScriptErrorDetail> {
        if plan::depth_of(slot).is_none() {
            let hint = name_hint(slot, plan::slots());
            let slots = plan::slots().collect::<Vec<_>>().join(", ");
            return Some(ScriptErrorDetail::UnknownSlot { slot: slot.to_owned(), hint, slots });
        }
        let asked = || {
            self.manifest.permissions.iter().filter_map(|asked| match asked {
                Permission::PromptInject(slot) => Some(slot.as_str()),
                _ => None,
            })
        };
        // If no slot is requested at all, `check.rs` has warned already.
        let is_forgotten = asked().next().is_some() && !asked().any(|asked| asked == slot);
        let call = format!("ctx.inject(\"{slot}\")");
        let detail = ScriptErrorDetail::PermissionNotRequested { call, permission: format!("prompt.inject:{slot}") };
        is_forgotten.then_some(detail)
    }

    /// Returns a warning for a path that is computed, or that needs a permission the manifest does not request.
    fn check_path(&self, function: &str, path: &str) -> Option<ScriptErrorDetail> {
        let (root, asks) = (&self.manifest.state.root, self.manifest.permissions.as_slice());
        let (writes, reads) = (WRITE_FUNCTIONS.contains(&function), READ_FUNCTIONS.contains(&function));
        if !writes && !reads {
            return None;
        }
        if !path.starts_with('/') {
            let place: Pointer = format!("/{path}").parse().ok()?;
            let is_computed = writes && self.schema.is_some_and(|schema| schema.is_computed(place.keys()));
            return is_computed.then(|| ScriptErrorDetail::ComputedPath { path: path.to_owned() });
        }
        let place: Pointer = path.parse().ok()?;
        let path = path.to_owned();
        if writes {
            let top = place.keys().first().map_or("…", String::as_str);
            let permission = format!("state.write:{top}");
            (!may_write(root, asks, &place)).then_some(ScriptErrorDetail::PathNotWritable { path, permission })
        } else {
            let permission = "state.read:*".to_owned();
            (!may_read(root, asks, &place)).then_some(ScriptErrorDetail::PathNotReadable { path, permission })
        }
    }
}
