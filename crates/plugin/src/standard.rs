//! Rhai's standard library as scripts see it, without functions that wait, tell the time, or do unbounded work in one
//! native call. Bounded versions replace those, or versions that explain why they are missing.
//!
//! `m[key] = value` is the only way past Rhai's size checks. Such a map has unboundedly many entries, and its texts are
//! shared, so that printing it as *one* text could take gigabytes. Therefore every function here that prints a
//! container writes into a bounded text.

use std::fmt::Write;
use std::sync::LazyLock;

use rhai::packages::{Package, StandardPackage};
use rhai::{
    Array, Dynamic, EvalAltResult, FuncRegistration, ImmutableString, Map, Module, NativeCallContext, Position, Shared,
};
use serde_json::Value;

use super::convert::{self, ByteBudget};
use super::ctx;
use super::error::ScriptErrorKind;
use super::host_fault::{HostFault, RhaiThrow, throw};
use super::interpolate::FUNCTION;
use super::limits::ScriptLimits;

/// Returns the shared modules, in the order of registration: later ones take precedence.
pub(super) fn modules() -> [Shared<Module>; 3] {
    static ALL: LazyLock<[Shared<Module>; 3]> =
        LazyLock::new(|| [StandardPackage::new().as_shared_module(), bounded().into(), ctx::module()]);
    ALL.clone()
}

fn bounded() -> Module {
    let mut module = Module::new();
    disable_sleep(&mut module);
    texts(&mut module);
    containers(&mut module);
    json(&mut module);
    module.build_index();
    module
}

macro_rules! register {
    ($module:expr, $name:expr, $function:expr) => {
        FuncRegistration::new($name).in_global_namespace().set_into_module($module, $function);
    };
}

fn disable_sleep(module: &mut Module) {
    let cannot_wait = || throw(ScriptErrorKind::Runtime, "sleep: a script cannot wait");
    register!(module, "sleep", move |_: i64| -> Result<(), RhaiThrow> { Err(cannot_wait()) });
    register!(module, "sleep", move |_: f64| -> Result<(), RhaiThrow> { Err(cannot_wait()) });
    register!(module, "timestamp", || -> Result<Dynamic, RhaiThrow> {
        Err(throw(
            ScriptErrorKind::Runtime,
            "timestamp: a script has no clock; use ctx.node.time, the stored time of the node",
        ))
    });
}

fn texts(module: &mut Module) {
    register!(module, "pad", |ctx: NativeCallContext, text: &mut ImmutableString, length: i64, with: char| {
        pad(&ctx, text, length, &with.to_string())
    });
    register!(module, "pad", |ctx: NativeCallContext, text: &mut ImmutableString, length: i64, with: &str| {
        pad(&ctx, text, length, with)
    });
    register!(module, "replace", |ctx: NativeCallContext, text: &mut ImmutableString, find: &str, with: &str| {
        replace(&ctx, text, find, with)
    });
    register!(module, "replace", |ctx: NativeCallContext, text: &mut ImmutableString, find: char, with: &str| {
        replace(&ctx, text, &find.to_string(), with)
    });
    register!(module, "replace", |ctx: NativeCallContext, text: &mut ImmutableString, find: &str, with: char| {
        replace(&ctx, text, find, &with.to_string())
    });
}

/// Pads a text to a number of characters, in linear time unlike Rhai's own version.
fn pad(ctx: &NativeCallContext<'_>, text: &mut ImmutableString, length: i64, with: &str) -> Result<(), RhaiThrow> {
    let wanted = usize::try_from(length).unwrap_or(0);
    let most = ctx.engine().max_string_size();
    let have = text.chars().count();
    if with.is_empty() || wanted <= have {
        return Ok(());
    }
    if wanted > most || with.len() > most {
        return Err(too_large("Length of string"));
    }
    let (lack, each) = (wanted - have, with.chars().count());
    let mut out = text.to_string();
    out.push_str(&with.repeat(lack / each));
    out.extend(with.chars().take(lack % each));
    store_bounded(text, out, most)
}

fn replace(ctx: &NativeCallContext<'_>, text: &mut ImmutableString, find: &str, with: &str) -> Result<(), RhaiThrow> {
    let most = ctx.engine().max_string_size();
    let times = text.matches(find).count();
    if with.len().saturating_mul(times) > most.saturating_mul(2) {
        return Err(too_large("Length of string"));
    }
    let out = text.replace(find, with);
    store_bounded(text, out, most)
}

fn store_bounded(text: &mut ImmutableString, out: String, most: usize) -> Result<(), RhaiThrow> {
    if out.len() > most {
        return Err(too_large("Length of string"));
    }
    *text = out.into();
    Ok(())
}

fn too_large(what: &str) -> RhaiThrow {
    EvalAltResult::ErrorDataTooLarge(what.to_owned(), Position::NONE).into()
}

fn containers(module: &mut Module) {
    for name in ["print", "to_string", "debug", "to_debug"] {
        register!(module, name, |ctx: NativeCallContext, map: &mut Map| print_value(&ctx, &map.clone().into()));
        register!(module, name, |ctx: NativeCallContext, list: &mut Array| print_value(&ctx, &list.clone().into()));
    }
    register!(module, FUNCTION, |ctx: NativeCallContext, value: Dynamic| print_value(&ctx, &value));
    for name in ["+", "+=", "append"] {
        register!(module, name, |ctx: NativeCallContext, text: &mut ImmutableString, map: Map| {
            append_value(&ctx, name, text, &map.into())
        });
        register!(module, name, |ctx: NativeCallContext, text: &mut ImmutableString, list: Array| {
            append_value(&ctx, name, text, &list.into())
        });
    }
    register!(module, "+", |ctx: NativeCallContext, map: Map, text: &str| prepend_value(&ctx, &map.into(), text));
    register!(module, "+", |ctx: NativeCallContext, list: Array, text: &str| prepend_value(&ctx, &list.into(), text));
    register!(module, "==", |ctx: NativeCallContext, a: &mut Map, b: Map| equal_maps(&ctx, a, &b));
    register!(module, "!=", |ctx: NativeCallContext, a: &mut Map, b: Map| equal_maps(&ctx, a, &b).map(|equal| !equal));
}

/// Converts a value to text, never with Rhai's own unbounded printing of containers.
fn print_value(ctx: &NativeCallContext<'_>, value: &Dynamic) -> Result<ImmutableString, RhaiThrow> {
    let most = ctx.engine().max_string_size();
    if let Ok(text) = value.as_immutable_string_ref() {
        return Ok(text.clone());
    }
    if value.is_map() || value.is_array() {
        return BoundedPrinter::write(most, |out| out.value(value, 64));
    }
    if value.is_unit() {
        return Ok(ImmutableString::new());
    }
    let text = ctx.call_native_fn_raw("to_string", false, &mut [&mut value.clone()])?;
    text.into_immutable_string().map_err(|_| too_large("Length of string"))
}

/// Implements `text + value` and `text += value`; the latter changes `text`.
fn append_value(
    ctx: &NativeCallContext<'_>,
    name: &str,
    text: &mut ImmutableString,
    value: &Dynamic,
) -> Result<Dynamic, RhaiThrow> {
    let sum: ImmutableString = format!("{text}{}", print_value(ctx, value)?).into();
    if name == "+" {
        return Ok(sum.into());
    }
    *text = sum;
    Ok(Dynamic::UNIT)
}

fn prepend_value(ctx: &NativeCallContext<'_>, value: &Dynamic, text: &str) -> Result<ImmutableString, RhaiThrow> {
    Ok(format!("{}{text}", print_value(ctx, value)?).into())
}

/// Compares two maps, within the size that maps may have.
fn equal_maps(ctx: &NativeCallContext<'_>, a: &Map, b: &Map) -> Result<bool, RhaiThrow> {
    let mut budget = ctx.engine().max_map_size().saturating_mul(2);
    let equal = equal_entries(a, b, &mut budget, 64);
    equal.ok_or_else(|| too_large("Size of object map"))
}

/// Compares all entries; `None` if the budget of comparisons runs out.
fn equal_entries(a: &Map, b: &Map, budget: &mut usize, depth: usize) -> Option<bool> {
    if a.len() != b.len() {
        return Some(false);
    }
    for ((key, x), (other, y)) in a.iter().zip(b) {
        if key != other || !equal_values(x, y, budget, depth)? {
            return Some(false);
        }
    }
    Some(true)
}

fn equal_values(x: &Dynamic, y: &Dynamic, budget: &mut usize, depth: usize) -> Option<bool> {
    *budget = budget.checked_sub(1)?;
    let depth = depth.checked_sub(1)?;
    if let (Ok(x), Ok(y)) = (x.as_map_ref(), y.as_map_ref()) {
        return equal_entries(&x, &y, budget, depth);
    }
    if let (Ok(x), Ok(y)) = (x.as_array_ref(), y.as_array_ref()) {
        if x.len() != y.len() {
            return Some(false);
        }
        for (x, y) in x.iter().zip(y.iter()) {
            if !equal_values(x, y, budget, depth)? {
                return Some(false);
            }
        }
        return Some(true);
    }
    if let (Ok(x), Ok(y)) = (x.as_immutable_string_ref(), y.as_immutable_string_ref()) {
        // 1024 bytes of text count as one comparison.
        *budget = budget.checked_sub(x.len().min(y.len()) / 1_024)?;
        return Some(*x == *y);
    }
    Some(equal_plain(x, y))
}

fn equal_plain(x: &Dynamic, y: &Dynamic) -> bool {
    let numbers = |value: &Dynamic| convert::number_from_script(value).ok().flatten();
    match (numbers(x), numbers(y)) {
        (Some(x), Some(y)) => x == y || x.as_f64().zip(y.as_f64()).is_some_and(|(x, y)| x == y),
        _ => {
            (x.is_unit() && y.is_unit())
                || (x.is_bool() && y.is_bool() && x.as_bool() == y.as_bool())
                || (x.is_char() && y.is_char() && x.as_char() == y.as_char())
        }
    }
}

/// Prints values like Rhai, but never beyond a maximum length.
struct BoundedPrinter {
    text: String,
    max: usize,
}

impl BoundedPrinter {
    fn write(most: usize, fill: impl FnOnce(&mut Self) -> std::fmt::Result) -> Result<ImmutableString, RhaiThrow> {
        let mut out = Self { text: String::new(), max: most };
        fill(&mut out).map(|()| out.text.into()).map_err(|_| too_large("Length of string"))
    }

    fn map(&mut self, map: &Map, depth: usize) -> std::fmt::Result {
        self.write_str("#{")?;
        for (at, (key, value)) in map.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(self, "{comma}{key:?}: ")?;
            self.value(value, depth)?;
        }
        self.write_str("}")
    }

    fn list(&mut self, list: &Array, depth: usize) -> std::fmt::Result {
        self.write_str("[")?;
        for (at, value) in list.iter().enumerate() {
            if at > 0 {
                self.write_str(", ")?;
            }
            self.value(value, depth)?;
        }
        self.write_str("]")
    }

    fn value(&mut self, value: &Dynamic, depth: usize) -> std::fmt::Result {
        let depth = depth.checked_sub(1).ok_or(std::fmt::Error)?;
        if let Ok(map) = value.as_map_ref() {
            self.map(&map, depth)
        } else if let Ok(list) = value.as_array_ref() {
            self.list(&list, depth)
        } else if let Ok(text) = value.as_immutable_string_ref() {
            // Written piece by piece, it stops at the limit, even if one text is shared many times.
            write!(self, "{:?}", text.as_str())
        } else if let Some(exact) = value.read_lock::<convert::Exact>() {
            self.write_str(exact.0.as_str())
        } else {
            write!(self, "{value:?}")
        }
    }
}

impl Write for BoundedPrinter {
    fn write_str(&mut self, piece: &str) -> std::fmt::Result {
        if self.text.len() + piece.len() > self.max {
            return Err(std::fmt::Error);
        }
        self.text.push_str(piece);
        Ok(())
    }
}

fn json(module: &mut Module) {
    register!(module, "to_json", |ctx: NativeCallContext, map: &mut Map| to_json(&ctx, map.clone().into()));
    register!(module, "to_json", |ctx: NativeCallContext, list: &mut Array| to_json(&ctx, list.clone().into()));
    register!(module, "parse_json", |_: NativeCallContext, text: &str| parse_json(text));
    module.set_custom_type::<convert::Exact>("number");
    for name in ["print", "to_string", "debug", "to_debug"] {
        register!(module, name, |exact: &mut convert::Exact| ImmutableString::from(exact.0.as_str()));
    }
    register!(module, "==", |a: &mut convert::Exact, b: convert::Exact| *a == b);
    register!(module, "!=", |a: &mut convert::Exact, b: convert::Exact| *a != b);
    module.set_custom_type::<HostFault>("Refusal");
    for name in ["print", "to_string", "debug", "to_debug"] {
        register!(module, name, |fault: &mut HostFault| ImmutableString::from(fault.message.as_str()));
    }
}

fn to_json(ctx: &NativeCallContext<'_>, value: Dynamic) -> Result<ImmutableString, RhaiThrow> {
    let mut bytes = ByteBudget::new(ctx.engine().max_string_size());
    let value =
        convert::from_script(&value, 64, &mut bytes).map_err(|error| HostFault::from(error).throw_in("to_json"))?;
    Ok(value.to_string().into())
}

fn parse_json(text: &str) -> Result<Dynamic, RhaiThrow> {
    let wrong = |why: String| throw(ScriptErrorKind::Runtime, format!("parse_json: {why}"));
    let value: Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    convert::to_script(&value, &ScriptLimits::default()).map_err(|_| wrong("too large".to_owned()))
}
