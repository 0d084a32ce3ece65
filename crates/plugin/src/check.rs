//! Static checks of the scripts. They find:
//!
//! - calls of functions that do not exist, and functions that hide those of `ctx`
//! - misspelled hooks and missing import files
//! - uses of permissions that the manifest does not request
//! - invalid patterns, and paths that the schema excludes (`paths.rs`)
//! - literals that cannot be meant (`literals.rs`)
//!
//! The results are warnings: a plugin with a mistake in a rare branch still runs.

use std::collections::BTreeSet;

use rhai::{AST, ASTNode, Expr, FnAccess, FnCallExpr, Position, Stmt};

use super::call::Hook;
use super::error::{ScriptError, ScriptErrorKind};
use super::explain::ErrorExplainer;
use super::foreign_syntax;
use super::literals;
use super::modules::file_of;
use super::paths;
use super::patterns::literal_patterns;
use super::permission::Permission;
use super::runtime::PluginRuntime;
use super::script::ScriptAsts;
use super::script_error_detail::ScriptErrorDetail;
use super::script_functions::{ScriptFunction, script_functions};
use super::source::is_relative_path;
use super::suggest::{NameHint, name_hint};
use clotho_core::world::Schema;

/// The most warnings of one plugin.
const MAX_WARNINGS: usize = 50;

/// Checks the script files and returns the warnings.
pub(super) fn check_scripts(
    kit: &PluginRuntime,
    explain: &ErrorExplainer<'_>,
    files: &ScriptAsts,
    schema: Option<&Schema>,
) -> Vec<ScriptError> {
    let mut warnings = Vec::new();
    for (path, ast) in files {
        let file = FileCheck { kit, explainer: explain, path, ast };
        file.check(&mut warnings);
        let strays = schema.map(|schema| paths::unknown_paths(ast, schema)).unwrap_or_default();
        let slips = literals::literal_warnings(ast, &kit.manifest, schema);
        warnings.extend(strays.into_iter().chain(slips).map(|(position, detail)| file.warn(position, detail)));
    }
    warnings.truncate(MAX_WARNINGS);
    warnings
}

/// Checks that the files imported at the top level of the entry exist. This is an error, because without them no hook
/// runs.
pub(super) fn check_entry_imports(ast: &AST, explain: &ErrorExplainer<'_>) -> Result<(), Box<ScriptError>> {
    let path = &explain.manifest.entry;
    let missing = ast.statements().iter().filter_map(imported).find_map(|(name, position)| {
        let problem = import_problem(explain, name)?;
        Some(explain.error_at(ScriptErrorKind::Parse, path, position, problem))
    });
    missing.map_or(Ok(()), |error| Err(Box::new(error)))
}

/// Returns the file name of an import statement, if it is a string literal.
fn imported(statement: &Stmt) -> Option<(&str, Position)> {
    let Stmt::Import(what, _) = statement else { return None };
    let Expr::StringConstant(name, position) = &what.0 else { return None };
    Some((name.as_str(), *position))
}

/// Returns why a file cannot be imported.
fn import_problem(explain: &ErrorExplainer<'_>, name: &str) -> Option<ScriptErrorDetail> {
    let file = file_of(name);
    if !is_relative_path(&file) {
        return Some(ScriptErrorDetail::ImportOutside { path: name.to_owned() });
    }
    (!explain.scripts.contains_key(&file)).then(|| explain.missing_file(name))
}

/// The check of one script file.
struct FileCheck<'a> {
    kit: &'a PluginRuntime,
    explainer: &'a ErrorExplainer<'a>,
    path: &'a str,
    ast: &'a AST,
}

impl FileCheck<'_> {
    fn check(&self, warnings: &mut Vec<ScriptError>) {
        let own: BTreeSet<String> = self.ast.iter_functions().map(|function| function.name.to_owned()).collect();
        let mut seen = FileCalls { own_functions: own, ..FileCalls::default() };
        self.ast.walk(&mut |path: &[ASTNode<'_>]| {
            match path.last() {
                Some(ASTNode::Expr(Expr::FnCall(call, position))) => seen.call(call, *position),
                Some(ASTNode::Expr(Expr::MethodCall(call, position))) => {
                    seen.methods.push((call.name.to_string(), call.args.len(), *position));
                    seen.call(call, *position);
                }
                Some(ASTNode::Stmt(Stmt::FnCall(call, position))) => seen.call(call, *position),
                Some(ASTNode::Stmt(statement)) => {
                    seen.imports.extend(imported(statement).map(|(name, position)| (name.to_owned(), position)));
                }
                _ => {}
            }
            true
        });
        warnings.extend(self.missing_imports(&seen));
        warnings.extend(self.misspelled_hooks(&seen));
        warnings.extend(self.missing_permissions(&seen));
        warnings.extend(self.unread_answers(&seen));
        warnings.extend(self.shadowed_methods(&seen));
        warnings.extend(self.unknown_functions(&seen));
        warnings.extend(self.invalid_patterns());
    }

    fn warn(&self, position: Position, detail: ScriptErrorDetail) -> ScriptError {
        self.explainer.error_at(ScriptErrorKind::Parse, self.path, position, detail)
    }

    fn missing_imports(&self, seen: &FileCalls) -> Vec<ScriptError> {
        let say = |(name, position): &(String, Position)| {
            import_problem(self.explainer, name).map(|problem| self.warn(*position, problem))
        };
        seen.imports.iter().filter_map(say).collect()
    }

    /// Warns of functions in the entry that look like hooks but are none, and that nothing calls.
    fn misspelled_hooks(&self, seen: &FileCalls) -> Vec<ScriptError> {
        if self.path != self.kit.manifest.entry {
            return Vec::new();
        }
        let hooks = || Hook::ALL.into_iter().map(Hook::name);
        let say = |function: rhai::ScriptFnMetadata<'_>| {
            let name = function.name;
            let is_free = function.access == FnAccess::Public && !seen.called_functions.contains(name);
            if !is_free || Hook::from_name(name).is_some() {
                return None;
            }
            let hint = name_hint(name, hooks());
            let is_meant = name.starts_with("on_") || (hint != NameHint::None && function.params.len() == 1);
            let hooks = hooks().collect::<Vec<_>>().join(", ");
            let detail = ScriptErrorDetail::NotAHook { name: name.to_owned(), hint, hooks };
            is_meant.then(|| *self.explainer.error_in_function(self.path, name, detail))
        };
        self.ast.iter_functions().filter_map(say).collect()
    }

    /// Warns of functions whose permission the manifest does not request, so that nobody can grant it.
    fn missing_permissions(&self, seen: &FileCalls) -> Vec<ScriptError> {
        let asked = &self.kit.manifest.permissions;
        let say = |(name, args, position): &(String, usize, Position)| {
            let (has, permission) = match (name.as_str(), args) {
                ("note", 1) => (asked.contains(&Permission::Notes), Permission::Notes.to_string()),
                ("event", 1) => (asked.contains(&Permission::Events), Permission::Events.to_string()),
                ("ask", 2) => (asked.contains(&Permission::ModelCall), Permission::ModelCall.to_string()),
                ("propose_summary", 2 | 3) => {
                    (asked.contains(&Permission::TreeSummarise), Permission::TreeSummarise.to_string())
                }
                ("lore" | "unlore", 1) => (asked.contains(&Permission::LoreSelect), Permission::LoreSelect.to_string()),
                ("inject", 2 | 3) => {
                    let has = asked.iter().any(|asked| matches!(asked, Permission::PromptInject(_)));
                    (has, "prompt.inject:<slot>".to_owned())
                }
                _ => return None,
            };
            let detail = ScriptErrorDetail::PermissionNotRequested { call: format!("ctx.{name}"), permission };
            (!has && !seen.own_functions.contains(name)).then(|| self.warn(*position, detail))
        };
        seen.methods.iter().filter_map(say).collect()
    }

    /// Warns if the entry calls `ctx.ask` but defines no `on_answer`.
    fn unread_answers(&self, seen: &FileCalls) -> Option<ScriptError> {
        let asks = seen.methods.iter().find(|(name, args, _)| name == "ask" && *args == 2);
        let is_heard = self.path != self.kit.manifest.entry || seen.own_functions.contains(Hook::OnAnswer.name());
        let (_, _, position) = asks.filter(|_| !is_heard)?;
        Some(self.warn(*position, ScriptErrorDetail::NoOnAnswer {}))
    }

    /// Warns of functions that hide those of `ctx`. Rhai calls a script's own function as a method: with `fn add(path,
    /// n)` defined, `ctx.add(path, n)` calls that.
    fn shadowed_methods(&self, seen: &FileCalls) -> Vec<ScriptError> {
        let of_ctx = |name: &str, args: usize| {
            let same = |known: &ScriptFunction| known.name == name && known.params == args + 1;
            script_functions().iter().any(|known| same(known) && !known.signature.is_empty())
        };
        let own = |name: &str, args: usize| {
            self.ast.iter_functions().any(|function| function.name == name && function.params.len() == args)
        };
        let hidden = seen.methods.iter().filter(|(name, args, _)| of_ctx(name, *args) && own(name, *args));
        let say = |(name, _, position): &(String, usize, Position)| {
            self.warn(*position, ScriptErrorDetail::HidesFunction { name: name.clone() })
        };
        hidden.map(say).collect()
    }

    fn unknown_functions(&self, seen: &FileCalls) -> Vec<ScriptError> {
        let say = |(name, position): &(String, Position)| {
            let names = script_functions().iter().map(|function| function.name.as_str());
            let near = || name_hint(name, names.chain(seen.own_functions.iter().map(String::as_str)));
            let hint = foreign_syntax::hint_for_name(name).unwrap_or_else(near);
            self.warn(*position, ScriptErrorDetail::UnknownFunction { name: name.clone(), hint })
        };
        seen.unknown.iter().map(say).collect()
    }

    /// Warns of invalid pattern literals. Compiling them here also fills the cache for later turns.
    fn invalid_patterns(&self) -> Vec<ScriptError> {
        let PluginRuntime { manifest, regexes, .. } = self.kit;
        let say = |(pattern, position): (String, Position)| {
            let compiled = regexes.constant(&pattern)?.get_or_compile(&pattern, &manifest.limits);
            let invalid = |error: String| self.warn(position, ScriptErrorDetail::InvalidRegex { error });
            compiled.as_ref().err().map(|error| invalid(error.message.clone()))
        };
        literal_patterns(self.ast).into_iter().filter_map(say).collect()
    }
}

/// Calls and imports of one file.
#[derive(Default)]
struct FileCalls {
    /// Imports whose file name is a string literal.
    imports: Vec<(String, Position)>,
    /// The name of every called function.
    called_functions: BTreeSet<String>,
    /// Names of called functions that neither the file nor the host defines.
    unknown: Vec<(String, Position)>,
    /// Method calls with their number of arguments.
    methods: Vec<(String, usize, Position)>,
    own_functions: BTreeSet<String>,
}

impl FileCalls {
    fn call(&mut self, call: &FnCallExpr, position: Position) {
        let name = call.name.as_str();
        if call.is_qualified() || call.op_token.is_some() {
            return;
        }
        self.called_functions.insert(name.to_owned());
        let is_known =
            script_functions().iter().any(|function| function.name == name) || self.own_functions.contains(name);
        let word = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if !is_known && word {
            self.unknown.push((name.to_owned(), position));
        }
    }
}
