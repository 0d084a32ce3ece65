//! The script engine as this program sets it up: one per call, cheap because the library modules and the compiled
//! scripts are shared.

use rhai::Engine;

use super::limits::ScriptLimits;
use super::standard;

/// An engine with the library and every limit that the engine itself knows; operations, time and memory are the watch's.
/// Compiling and running use the same one.
pub(super) fn base(limits: &ScriptLimits) -> Engine {
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
