//! Resolves `import "lib/dice" as dice;`. Only files of the plugin's own folder can be imported. They are evaluated
//! once, when the plugin is loaded. A running script compiles nothing and reads no disk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rhai::{AST, Engine, EvalAltResult, Module, ModuleResolver, Position, Scope, Shared};

use super::error::ScriptErrorKind;
use super::host_fault::{RhaiThrow, throw};
use super::script::ScriptAsts;
use super::script_error_detail::ScriptErrorDetail;
use super::source::is_relative_path;

/// The modules of one plugin, by path.
#[derive(Clone)]
pub(super) struct ModuleCache(Arc<Mutex<BTreeMap<String, ModuleState>>>);

enum ModuleState {
    /// Not imported yet.
    Source(AST),
    /// Being evaluated; importing it now would be a cycle.
    Loading,
    Ready(Shared<Module>),
}

impl ModuleCache {
    /// Creates the modules from the compiled files of a plugin.
    pub(super) fn new(files: &ScriptAsts) -> Self {
        let states = files.iter().map(|(path, ast)| (path.clone(), ModuleState::Source(ast.clone())));
        Self(Arc::new(Mutex::new(states.collect())))
    }

    /// Evaluates every file except `but`, also those that no script imports by a literal name.
    pub(super) fn load_all(&self, engine: &Engine, but: &str) -> Result<(), (String, RhaiThrow)> {
        let paths: Vec<String> = self.states().keys().filter(|path| *path != but).cloned().collect();
        for path in paths {
            self.find(engine, &path).map_err(|error| (path, error))?;
        }
        Ok(())
    }

    fn states(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, ModuleState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, engine: &Engine, path: &str) -> Result<Shared<Module>, RhaiThrow> {
        let ast = {
            let mut states = self.states();
            let ast = match states.get(path) {
                None => return Err(EvalAltResult::ErrorModuleNotFound(path.to_owned(), Position::NONE).into()),
                Some(ModuleState::Ready(module)) => return Ok(Shared::clone(module)),
                Some(ModuleState::Loading) => return Err(circular_import(path)),
                Some(ModuleState::Source(ast)) => ast.clone(),
            };
            states.insert(path.to_owned(), ModuleState::Loading);
            ast
        };
        let made = Module::eval_ast_as_new(Scope::new(), &ast, engine).map(Shared::from);
        let state = match &made {
            Ok(module) => ModuleState::Ready(Shared::clone(module)),
            Err(_) => ModuleState::Source(ast),
        };
        self.states().insert(path.to_owned(), state);
        made
    }
}

impl ModuleResolver for ModuleCache {
    fn resolve(
        &self,
        engine: &Engine,
        _: Option<&str>,
        path: &str,
        position: Position,
    ) -> Result<Shared<Module>, RhaiThrow> {
        let file = file_of(path);
        let inside = is_relative_path(&file);
        let found = if inside { self.find(engine, &file) } else { Err(outside_import(path)) };
        found.map_err(|error| match *error {
            EvalAltResult::ErrorModuleNotFound(_, Position::NONE) => {
                EvalAltResult::ErrorModuleNotFound(path.to_owned(), position).into()
            }
            other => EvalAltResult::ErrorInModule(file, other.into(), position).into(),
        })
    }
}

/// Returns the file name of an `import`.
pub(super) fn file_of(path: &str) -> String {
    if path.ends_with(".rhai") { path.to_owned() } else { format!("{path}.rhai") }
}

fn circular_import(path: &str) -> RhaiThrow {
    throw(ScriptErrorKind::Runtime, format!("import \"{path}\": the files import each other in a cycle"))
}

fn outside_import(path: &str) -> RhaiThrow {
    throw(ScriptErrorKind::Permission, ScriptErrorDetail::ImportOutside { path: path.to_owned() }.to_string())
}
