//! The Rhai engine as Clotho configures it. There is one per call; it is cheap because the library modules and compiled
//! scripts are shared.

use rhai::Engine;

use super::limits::ScriptLimits;
use super::standard;

/// Creates an engine with the library and every limit that Rhai supports. `LimitMonitor` limits operations, time and
/// memory. Compiling and running use the same engine.
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
