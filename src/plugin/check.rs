//! What can be known to be wrong without running a hook: calls of functions that nobody defines, functions that hide
//! those of `ctx`, patterns that do not compile. They are warnings: a plugin with a mistake in one rare branch still plays.

use std::collections::BTreeSet;

use rhai::{AST, ASTNode, Dynamic, Engine, Expr, FnCallExpr, Position, Stmt};

use super::engine;
use super::error::{ErrorKind, ScriptError};
use super::loaded::Loaded;
use super::regexes::Lookup;
use super::standard;
use super::suggest::did_you_mean;

/// The most warnings of one plugin.
const MOST: usize = 50;

/// Looks through every script file.
pub(super) fn look(loaded: &Loaded, engine: &Engine) -> Vec<ScriptError> {
    let mut warnings = Vec::new();
    for (path, script) in loaded.scripts() {
        if let Ok(ast) = engine::compile(engine, path, script) {
            File { loaded, path, ast: &ast }.look(&mut warnings);
        }
    }
    warnings.truncate(MOST);
    warnings
}

/// One script file.
struct File<'a> {
    loaded: &'a Loaded,
    path: &'a str,
    ast: &'a AST,
}

impl File<'_> {
    fn look(&self, warnings: &mut Vec<ScriptError>) {
        let own: BTreeSet<String> = self.ast.iter_functions().map(|function| function.name.to_owned()).collect();
        let mut seen = Seen { patterns: Vec::new(), unknown: Vec::new(), methods: Vec::new(), own };
        self.ast.walk(&mut |path: &[ASTNode<'_>]| {
            match path.last() {
                Some(ASTNode::Expr(Expr::FnCall(call, position))) => seen.call(call, *position),
                Some(ASTNode::Expr(Expr::MethodCall(call, position))) => {
                    seen.methods.push((call.name.to_string(), call.args.len(), *position));
                    seen.call(call, *position);
                }
                Some(ASTNode::Stmt(Stmt::FnCall(call, position))) => seen.call(call, *position),
                _ => {}
            }
            true
        });
        warnings.extend(self.hiding(&seen));
        warnings.extend(self.unknown(&seen));
        warnings.extend(self.patterns(&seen));
    }

    fn warn(&self, position: Position, message: String) -> ScriptError {
        self.loaded.explain().at_place(ErrorKind::Parse, self.path, position, message)
    }

    /// The language lets a script's own function be called as a method: `fn add(path, n)` is what `ctx.add(path, n)` calls.
    fn hiding(&self, seen: &Seen) -> Vec<ScriptError> {
        let of_ctx = |name: &str, args: usize| {
            let same = |known: &standard::Known| known.name == name && known.params == args + 1;
            standard::known().iter().any(|known| same(known) && !known.signature.is_empty())
        };
        let own = |name: &str, args: usize| {
            self.ast.iter_functions().any(|function| function.name == name && function.params.len() == args)
        };
        let hidden = seen.methods.iter().filter(|(name, args, _)| of_ctx(name, *args) && own(name, *args));
        let say = |(name, _, position): &(String, usize, Position)| {
            self.warn(
                *position,
                format!("this calls the file's own \"fn {name}\", not ctx.{name}: give it another name"),
            )
        };
        hidden.map(say).collect()
    }

    fn unknown(&self, seen: &Seen) -> Vec<ScriptError> {
        let say = |(name, position): &(String, Position)| {
            let known = standard::known().iter().map(|known| known.name.as_str());
            let hint = did_you_mean(name, known.chain(seen.own.iter().map(String::as_str)));
            self.warn(*position, format!("there is no function \"{name}\"{hint}"))
        };
        seen.unknown.iter().map(say).collect()
    }

    /// Compiles the constant patterns, so that the first turn does not pay for them.
    fn patterns(&self, seen: &Seen) -> Vec<ScriptError> {
        let constants: Vec<(String, Dynamic)> =
            self.ast.iter_literal_variables(true, false).map(|(name, _, value)| (name.to_owned(), value)).collect();
        let text = |pattern: &Pattern| match pattern {
            Pattern::Text(text) => Some(text.clone()),
            Pattern::Global(name) => {
                let value = constants.iter().find(|(known, _)| known == name).map(|(_, value)| value)?;
                value.as_immutable_string_ref().ok().map(|text| text.to_string())
            }
        };
        let say = |(pattern, position): &(Pattern, Position)| {
            let text = text(pattern)?;
            let compiled = match self.loaded.regexes().get(&text) {
                Lookup::Known(known) => known,
                Lookup::New(compile) => compile.run(&self.loaded.manifest().limits),
            };
            compiled.err().map(|error| self.warn(*position, error.message))
        };
        seen.patterns.iter().filter_map(say).collect()
    }
}

/// What one file calls.
struct Seen {
    /// Names of functions that neither the file nor the host defines.
    unknown: Vec<(String, Position)>,
    /// Methods with the number of their arguments.
    methods: Vec<(String, usize, Position)>,
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
}
