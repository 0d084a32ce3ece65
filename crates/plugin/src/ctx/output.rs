//! `ctx`: notes under the node, warnings in the trace, refusing the input; and `clamp`.

use rhai::Dynamic;

use super::{Ctx, CtxSurface, RunningCall};
use crate::call::Hook;
use crate::convert::take_text;
use crate::error::ScriptErrorKind;
use crate::host_fault::{HostFault, RhaiThrow, throw, throw_limit, throw_stop};
use crate::limits::{ScriptLimit, ScriptStop};
use crate::manifest_rules::story_event;
use crate::permission::Permission;

/// The most characters of a note, a warning or a refusal.
const MAX_LINE_CHARS: usize = 1_000;

pub(super) fn register(surface: &mut CtxSurface<'_>) {
    surface.begin_group("Messages for people");
    surface.function(
        "note",
        &["ctx: Ctx", "text: string", "()"],
        "Shows a line under the node.",
        |ctx: &mut Ctx, text: &str| ctx.0.note(text),
    );
    surface.function(
        "event",
        &["ctx: Ctx", "text: string", "()"],
        "Records an event of the story, which belongs to the branch. Needs the permission events.",
        |ctx: &mut Ctx, text: &str| ctx.0.event(text),
    );
    surface.function(
        "warn",
        &["ctx: Ctx", "text: string", "()"],
        "Adds a line to the trace of the node, for plugin authors.",
        |ctx: &mut Ctx, text: &str| ctx.0.warn(text),
    );
    surface.function(
        "fail",
        &["ctx: Ctx", "text: string", "()"],
        "Refuses the user's message, or a model's tool call, and ends the hook. Only in on_input and tools.",
        |ctx: &mut Ctx, text: &str| ctx.0.fail(text),
    );
    let doc = "Returns the value, but at least a and at most b.";
    surface.function("clamp", &["value: int", "a: int", "b: int", "int"], doc, |value: i64, a: i64, b: i64| {
        value.min(b).max(a)
    });
    surface.function("clamp", &["value: float", "a: float", "b: float", "float"], doc, |value: f64, a: f64, b: f64| {
        value.min(b).max(a)
    });
    surface.function("clamp", &["value: number", "a: number", "b: number", "float"], doc, mixed_clamp);
}

/// Clamps a mix of whole numbers and fractions; the result is a fraction.
fn mixed_clamp(value: Dynamic, a: Dynamic, b: Dynamic) -> Result<f64, RhaiThrow> {
    let float = |n: &Dynamic| match (n.as_float(), n.as_int()) {
        (Ok(float), _) => Ok(float),
        (_, Ok(whole)) => whole.to_string().parse().map_err(|_| not_a_number()),
        _ => Err(not_a_number()),
    };
    Ok(float(&value)?.min(float(&b)?).max(float(&a)?))
}

fn not_a_number() -> RhaiThrow {
    throw(ScriptErrorKind::Runtime, "clamp: expected three numbers")
}

impl RunningCall {
    fn note(&self, text: &str) -> Result<(), RhaiThrow> {
        if !self.call.hook.may_write() {
            return Err(throw(ScriptErrorKind::Permission, "note: this hook is read-only"));
        }
        self.require("note", &Permission::Notes)?;
        let line = self.check_line("note", text)?;
        let mut done = self.effects();
        if done.notes.len() >= self.limits().notes {
            return Err(throw_limit(
                ScriptLimit::Chatter,
                format!("note: one call may show at most {}", self.limits().notes),
            ));
        }
        done.notes.push(line);
        Ok(())
    }

    fn event(&self, text: &str) -> Result<(), RhaiThrow> {
        if !self.call.hook.may_write() {
            return Err(throw(ScriptErrorKind::Permission, "event: this hook is read-only"));
        }
        self.require("event", &Permission::Events)?;
        let line = self.check_line("event", text)?;
        self.record("event", text, story_event(&line, "", self.runtime.manifest.id.as_str()))
    }

    fn warn(&self, text: &str) -> Result<(), RhaiThrow> {
        let line = self.check_line("warn", text)?;
        let mut done = self.effects();
        if done.warnings.len() >= self.limits().warnings {
            return Err(throw_limit(
                ScriptLimit::Chatter,
                format!("warn: one call may give at most {}", self.limits().warnings),
            ));
        }
        done.warnings.push(line);
        Ok(())
    }

    fn fail(&self, text: &str) -> Result<(), RhaiThrow> {
        if !matches!(self.call.hook, Hook::OnInput | Hook::Tool) {
            let message = "fail: only on_input and tools can refuse: a user's message, or a model's call";
            return Err(throw(ScriptErrorKind::Runtime, message));
        }
        let line = self.check_line("fail", text)?;
        self.effects().refused = Some(line);
        Err(throw_stop(ScriptStop::Refused))
    }

    fn check_line(&self, name: &str, text: &str) -> Result<String, RhaiThrow> {
        let short: String = text.chars().take(MAX_LINE_CHARS).collect();
        take_text(&short, &mut self.effects().bytes).map_err(|error| HostFault::from(error).throw_in(name))
    }
}
