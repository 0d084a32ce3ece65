//! What can be known to be wrong without running a hook: calls of functions that nobody defines, patterns that do not
//! compile. They are warnings: a plugin with a mistake in one rare branch still plays.

use std::collections::BTreeSet;

use rhai::{ASTNode, Dynamic, Expr, FnCallExpr, Position, Stmt};

use super::error::{ErrorKind, ScriptError};
use super::loaded::Loaded;
use super::regexes::Lookup;
use super::standard;
use super::suggest::did_you_mean;

/// The most warnings of one plugin.
const MOST: usize = 50;

/// Looks through the entry script.
pub(super) fn look(loaded: &Loaded) -> Vec<ScriptError> {
    let own: BTreeSet<String> = loaded.ast().iter_functions().map(|function| function.name.to_owned()).collect();
    let mut seen = Seen { patterns: Vec::new(), unknown: Vec::new(), own };
    loaded.ast().walk(&mut |path: &[ASTNode<'_>]| {
        match path.last() {
            Some(ASTNode::Expr(Expr::FnCall(call, position) | Expr::MethodCall(call, position))) => {
                seen.call(call, *position);
            }
            Some(ASTNode::Stmt(Stmt::FnCall(call, position))) => seen.call(call, *position),
            _ => {}
        }
        true
    });
    let mut warnings = seen.unknown(loaded);
    warnings.extend(seen.patterns(loaded));
    warnings.truncate(MOST);
    warnings
}

struct Seen {
    /// Names of functions that neither the script nor the host defines.
    unknown: Vec<(String, Position)>,
    /// The first arguments of `find` and `find_all`, where they are constant.
    patterns: Vec<(Pattern, Position)>,
    own: BTreeSet<String>,
}

enum Pattern {
    Text(String),
    Global(String),
}

impl Seen {
    fn call(&mut self, call: &FnCallExpr, position: Position) {
        let name = call.name.as_str();
        if call.is_qualified() || call.op_token.is_some() {
            return;
        }
        let known = standard::known().iter().any(|known| known.name == name) || self.own.contains(name);
        let word = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if !known && word {
            self.unknown.push((name.to_owned(), position));
        }
        if matches!(name, "find" | "find_all") {
            match call.args.first() {
                Some(Expr::StringConstant(text, at)) => self.patterns.push((Pattern::Text(text.to_string()), *at)),
                Some(Expr::Variable(variable, _, at)) => {
                    self.patterns.push((Pattern::Global(variable.1.to_string()), *at));
                }
                _ => {}
            }
        }
    }

    fn unknown(&self, loaded: &Loaded) -> Vec<ScriptError> {
        let explain = loaded.explain();
        let say = |(name, position): &(String, Position)| {
            let known = standard::known().iter().map(|known| known.name.as_str());
            let hint = did_you_mean(name, known.chain(self.own.iter().map(String::as_str)));
            let message = format!("there is no function \"{name}\"{hint}");
            explain.at_place(ErrorKind::Parse, &loaded.manifest().entry, *position, message)
        };
        self.unknown.iter().map(say).collect()
    }

    /// Compiles the constant patterns, so that the first turn does not pay for them.
    fn patterns(&self, loaded: &Loaded) -> Vec<ScriptError> {
        let constants: Vec<(String, Dynamic)> =
            loaded.ast().iter_literal_variables(true, false).map(|(name, _, value)| (name.to_owned(), value)).collect();
        let explain = loaded.explain();
        let text = |pattern: &Pattern| match pattern {
            Pattern::Text(text) => Some(text.clone()),
            Pattern::Global(name) => {
                let value = constants.iter().find(|(known, _)| known == name).map(|(_, value)| value)?;
                value.as_immutable_string_ref().ok().map(|text| text.to_string())
            }
        };
        let say = |(pattern, position): &(Pattern, Position)| {
            let text = text(pattern)?;
            let compiled = match loaded.regexes().get(&text) {
                Lookup::Known(known) => known,
                Lookup::New(compile) => compile.run(&loaded.manifest().limits),
            };
            let error = compiled.err()?;
            Some(explain.at_place(ErrorKind::Parse, &loaded.manifest().entry, *position, error.message))
        };
        self.patterns.iter().filter_map(say).collect()
    }
}
