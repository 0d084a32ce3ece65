//! Checks of literals in scripts. They find calls of `ctx` with a wrong number of arguments, unknown settings and
//! invalid dice. They also find slots and paths that the manifest does not request, and writes to computed values.

use rhai::{AST, ASTNode, Expr, FnCallExpr, Position};

use super::dice::DiceSpec;
use super::manifest::Manifest;
use super::manifest_rules::{may_read, may_write};
use super::paths::{called_method, is_ctx};
use super::permission::Permission;
use super::plan;
use super::script_functions::{ScriptFunction, script_functions};
use super::suggest::did_you_mean;
use clotho_core::world::{Pointer, Schema};

const WRITE_FUNCTIONS: [&str; 7] = ["add", "set", "remove", "insert", "append", "take", "move"];
const READ_FUNCTIONS: [&str; 4] = ["get", "has", "keys", "before"];

/// A warning: position and message.
type LiteralWarning = (Position, String);

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
        let hint = did_you_mean(name, known());
        let is_known = known().any(|known| known == name);
        (!is_known).then(|| (at, format!("the manifest has no [config.{name}]{hint}")))
    }

    fn check_call(&self, call: &FnCallExpr, at: Position, found: &mut Vec<LiteralWarning>) {
        let name = call.name.as_str();
        found.extend(self.check_arity(name, call.args.len()).map(|message| (at, message)));
        let texts = call.args.iter().filter_map(|argument| match argument {
            Expr::StringConstant(text, at) => Some((text.as_str(), *at)),
            _ => None,
        });
        let first = matches!(call.args.first(), Some(Expr::StringConstant(..)));
        let Some((text, at)) = texts.clone().next().filter(|_| first) else { return };
        match name {
            "roll" => found.extend(DiceSpec::parse(text).err().map(|error| (at, format!("ctx.roll: {error}")))),
            "inject" => found.extend(self.check_slot(text).map(|message| (at, message))),
            "move" => found.extend(texts.take(2).filter_map(|(path, at)| Some((at, self.check_path(name, path)?)))),
            _ => found.extend(self.check_path(name, text).map(|message| (at, message))),
        }
    }

    /// Returns a warning if `ctx` has the function but not with this number of arguments.
    fn check_arity(&self, name: &str, given: usize) -> Option<String> {
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
        let values = if given == 1 { "1 value".to_owned() } else { format!("{given} values") };
        Some(format!("ctx.{name} cannot be called with {values}; its signature is {}", ways.join(", ")))
    }

    fn check_slot(&self, slot: &str) -> Option<String> {
        if plan::depth_of(slot).is_none() {
            let hint = did_you_mean(slot, plan::slots());
            let all = plan::slots().collect::<Vec<_>>().join(", ");
            return Some(format!("ctx.inject: there is no slot \"{slot}\"{hint}; there are {all}"));
        }
        let asked = || {
            self.manifest.permissions.iter().filter_map(|asked| match asked {
                Permission::PromptInject(slot) => Some(slot.as_str()),
                _ => None,
            })
        };
        // If no slot is requested at all, `check.rs` has warned already.
        let is_forgotten = asked().next().is_some() && !asked().any(|asked| asked == slot);
        let needs = "needs \"prompt.inject:";
        is_forgotten.then(|| format!("ctx.inject(\"{slot}\") {needs}{slot}\" in the manifest's [permissions] request"))
    }

    /// Returns a warning for a path that is computed, or that needs a permission the manifest does not request.
    fn check_path(&self, function: &str, path: &str) -> Option<String> {
        let (root, asks) = (&self.manifest.state.root, self.manifest.permissions.as_slice());
        let (writes, reads) = (WRITE_FUNCTIONS.contains(&function), READ_FUNCTIONS.contains(&function));
        if !writes && !reads {
            return None;
        }
        if !path.starts_with('/') {
            let place: Pointer = format!("/{path}").parse().ok()?;
            let is_computed = writes && self.schema.is_some_and(|schema| schema.is_computed(place.keys()));
            return is_computed.then(|| format!("\"{path}\" is computed: change the values that it is computed from"));
        }
        let place: Pointer = path.parse().ok()?;
        let (what, needs) = if writes {
            let top = place.keys().first().map_or("…", String::as_str);
            ("writing it", (!may_write(root, asks, &place)).then(|| format!("state.write:{top}"))?)
        } else {
            ("reading it", (!may_read(root, asks, &place)).then(|| "state.read:*".to_owned())?)
        };
        let outside = "is outside of the plugin's own values";
        Some(format!("\"{path}\" {outside}; {what} needs \"{needs}\" in the manifest's [permissions] request"))
    }
}
