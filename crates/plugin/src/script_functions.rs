//! The functions that scripts can call, by name, for "did you mean" and for `check`.

use std::sync::LazyLock;

use super::engine;
use super::limits::ScriptLimits;

/// A function that scripts can call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ScriptFunction {
    pub(super) name: String,
    /// Number of parameters, including the one before the dot.
    pub(super) params: usize,
    /// How it is called; empty if the registration does not say.
    pub(super) signature: String,
}

/// Returns every function that scripts can call, for "did you mean" and for `check`.
pub(super) fn script_functions() -> &'static [ScriptFunction] {
    static FUNCTIONS: LazyLock<Vec<ScriptFunction>> = LazyLock::new(|| {
        let describe = |info: rhai::FuncInfo<'_>| {
            let (name, params) = (info.metadata.name.to_string(), info.metadata.num_params);
            let described = info.metadata.params_info.first().is_some_and(|first| first.starts_with("ctx:"));
            let inner = info.metadata.params_info.iter().skip(1).map(|p| p.as_str()).collect::<Vec<_>>().join(", ");
            let signature = if described { format!("ctx.{name}({inner})") } else { String::new() };
            Some(ScriptFunction { name, params, signature })
        };
        let mut functions = engine::base(&ScriptLimits::default()).collect_fn_metadata(None, describe, true);
        for (name, params) in [("print", 1), ("debug", 1), ("type_of", 1), ("call", 1), ("Fn", 1), ("is_def_fn", 2)] {
            functions.push(ScriptFunction { name: name.to_owned(), params, signature: String::new() });
        }
        functions.sort();
        functions.dedup();
        functions
    });
    &FUNCTIONS
}
