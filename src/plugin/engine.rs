//! The script engine as this program sets it up: one per call, cheap because the library modules and the compiled
//! scripts are shared.

use std::collections::BTreeMap;
use std::sync::Arc;

use rhai::{AST, Dynamic, Engine, ParseError, ParseErrorType, Position};

use super::ctx::Running;
use super::interpolate::{self, Widened};
use super::limits::Limits;
use super::modules::Modules;
use super::standard;

/// An engine with the library and every limit that the engine itself knows; operations, time and memory are the watch's.
/// Compiling and running use the same one.
pub(super) fn base(limits: &Limits) -> Engine {
    let mut engine = Engine::new_raw();
    for module in standard::modules() {
        engine.register_global_module(module);
    }
    engine.disable_symbol("eval").disable_symbol("curry");
    engine
        .set_strict_variables(true)
        .set_fail_on_invalid_map_property(true)
        .set_max_strings_interned(0)
        .set_max_call_levels(limits.call_levels)
        .set_max_expr_depths(limits.expr_depth, limits.function_expr_depth)
        .set_max_string_size(limits.string)
        .set_max_array_size(limits.array)
        .set_max_map_size(limits.map)
        .set_max_variables(limits.variables)
        .set_max_functions(limits.functions)
        .set_max_modules(limits.modules);
    engine
}

/// An engine for one call: with its watch, its log, and the plugin's own modules.
pub(super) fn for_call(running: &Arc<Running>, modules: Modules) -> Engine {
    let mut engine = base(running.limits());
    engine.set_module_resolver(modules);
    let watched = Arc::clone(running);
    engine.on_progress(move |operations| watched.watch.progress(operations).map(Dynamic::from));
    let printing = Arc::clone(running);
    engine.on_print(move |line| printing.log(line));
    let debugging = Arc::clone(running);
    engine.on_debug(move |line, file, position| {
        let file = file.unwrap_or(&debugging.plugin.manifest().entry);
        let (at, _) = debugging.plugin.explain().author_place(file, position);
        debugging.log(&format!("{file}:{} {line}", at.unwrap_or_default()));
    });
    engine
}

/// Compiles one file of a plugin.
pub(super) fn compile(engine: &Engine, path: &str, script: &Script) -> Result<AST, ParseError> {
    let mut ast = engine.compile(&script.widened.text)?;
    ast.set_source(path);
    let taken = ast.iter_functions().any(|function| function.name == interpolate::FUNCTION);
    if taken {
        return Err(ParseError(ParseErrorType::Reserved(interpolate::FUNCTION.to_owned()).into(), Position::NONE));
    }
    Ok(ast)
}

/// The script files of a plugin by path.
pub(super) type Scripts = BTreeMap<String, Arc<Script>>;

/// One script file: as its author wrote it and as it is compiled.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) text: String,
    pub(super) widened: Widened,
}

impl Script {
    pub(super) fn new(engine: &Engine, text: &str) -> Self {
        Self { text: text.to_owned(), widened: interpolate::widen(engine, text) }
    }
}
