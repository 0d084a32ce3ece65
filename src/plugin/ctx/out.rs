//! Telling people: notes under the node, warnings in the trace, refusing the input; and `clamp`.

use rhai::Dynamic;

use super::{Ctx, CtxSurface, RunningCall};
use crate::plugin::call::Hook;
use crate::plugin::convert::clean;
use crate::plugin::error::ScriptErrorKind;
use crate::plugin::fault::{HostFault, RhaiThrow, over, stop, throw};
use crate::plugin::grant::Permission;
use crate::plugin::limits::{ScriptLimit, ScriptStop};

/// The most characters of a note, a warning or a refusal.
const LINE: usize = 1_000;

pub(super) fn register(surface: &mut CtxSurface<'_>) {
    surface.group("Telling people");
    surface.add(
        "note",
        &["ctx: Ctx", "text: string", "()"],
        "A visible line under the node.",
        |ctx: &mut Ctx, text: &str| ctx.0.note(text),
    );
    surface.add(
        "warn",
        &["ctx: Ctx", "text: string", "()"],
        "A line in the node's trace, for authors.",
        |ctx: &mut Ctx, text: &str| ctx.0.warn(text),
    );
    surface.add(
        "fail",
        &["ctx: Ctx", "text: string", "()"],
        "Refuses the user's input, or a model's call, with a message and ends the hook. Only in on_input and tools.",
        |ctx: &mut Ctx, text: &str| ctx.0.fail(text),
    );
    let doc = "The value, but not below a and not above b.";
    surface.add("clamp", &["value: int", "a: int", "b: int", "int"], doc, |value: i64, a: i64, b: i64| {
        value.min(b).max(a)
    });
    surface.add("clamp", &["value: float", "a: float", "b: float", "float"], doc, |value: f64, a: f64, b: f64| {
        value.min(b).max(a)
    });
    surface.add("clamp", &["value: number", "a: number", "b: number", "float"], doc, mixed_clamp);
}

/// Whole numbers and fractions together make a fraction.
fn mixed_clamp(value: Dynamic, a: Dynamic, b: Dynamic) -> Result<f64, RhaiThrow> {
    let float = |n: &Dynamic| match (n.as_float(), n.as_int()) {
        (Ok(float), _) => Ok(float),
        (_, Ok(whole)) => whole.to_string().parse().map_err(|_| not_a_number()),
        _ => Err(not_a_number()),
    };
    Ok(float(&value)?.min(float(&b)?).max(float(&a)?))
}

fn not_a_number() -> RhaiThrow {
    throw(ScriptErrorKind::Runtime, "clamp: three numbers are expected")
}

impl RunningCall {
    fn note(&self, text: &str) -> Result<(), RhaiThrow> {
        if !self.call.hook.writes() {
            return Err(throw(ScriptErrorKind::Permission, "note: this hook is read-only"));
        }
        self.needs("note", &Permission::Notes)?;
        let line = self.line("note", text)?;
        let mut done = self.done();
        if done.notes.len() >= self.limits().notes {
            return Err(over(ScriptLimit::Chatter, format!("note: one call may show {} at most", self.limits().notes)));
        }
        done.notes.push(line);
        Ok(())
    }

    fn warn(&self, text: &str) -> Result<(), RhaiThrow> {
        let line = self.line("warn", text)?;
        let mut done = self.done();
        if done.warnings.len() >= self.limits().warnings {
            return Err(over(
                ScriptLimit::Chatter,
                format!("warn: one call may give {} at most", self.limits().warnings),
            ));
        }
        done.warnings.push(line);
        Ok(())
    }

    fn fail(&self, text: &str) -> Result<(), RhaiThrow> {
        if !matches!(self.call.hook, Hook::OnInput | Hook::Tool) {
            let message = "fail: only on_input can refuse what the user wrote, and a tool what the model asks";
            return Err(throw(ScriptErrorKind::Runtime, message));
        }
        let line = self.line("fail", text)?;
        self.done().refused = Some(line);
        Err(stop(ScriptStop::Refused))
    }

    fn line(&self, name: &str, text: &str) -> Result<String, RhaiThrow> {
        let short: String = text.chars().take(LINE).collect();
        clean(&short, &mut self.done().bytes).map_err(|error| HostFault::from(error).throw_in(name))
    }
}
