//! `ctx` in `plan`: injects texts into the prompt and selects lore. It applies to one prompt only; `plan` runs again
//! for the next.

use std::ops::RangeInclusive;

use rhai::{Dynamic, Map};

use super::{Ctx, CtxSurface, RunningCall};
use crate::call::Hook;
use crate::convert::{kind_of, take_text};
use crate::error::ScriptErrorKind;
use crate::host_fault::{HostFault, RhaiThrow, throw, throw_limit};
use crate::limits::ScriptLimit;
use crate::permission::Permission;
use crate::plan::{LoreSelection, TextInjection, depth_of, slots};
use crate::suggest::did_you_mean;

/// The most texts that one call may inject.
const MAX_TEXTS: usize = 20;
/// The most lore selections of one call.
const MAX_LORE: usize = 100;
/// The greatest depth of an injected text.
const MAX_INJECTION_DEPTH: i64 = 1_000;
/// The greatest priority; the lowest is its negative.
const MAX_PRIORITY: i64 = 100;

pub(super) fn register(surface: &mut CtxSurface<'_>) {
    surface.begin_group("The prompt");
    let doc = "Adds a text to the prompt, in a slot: \"status\", \"system\" or \"note\". Only in plan.";
    surface.function(
        "inject",
        &["ctx: Ctx", "slot: string", "text: string", "()"],
        doc,
        |ctx: &mut Ctx, slot: &str, text: &str| ctx.0.inject(slot, text, &Map::new()),
    );
    surface.function(
        "inject",
        &["ctx: Ctx", "slot: string", "text: string", "how: #{priority, depth}", "()"],
        doc,
        |ctx: &mut Ctx, slot: &str, text: &str, how: Map| ctx.0.inject(slot, text, &how),
    );
    surface.function(
        "lore",
        &["ctx: Ctx", "id: string", "()"],
        "Includes a lorebook entry, by its title or uid. Only in plan.",
        |ctx: &mut Ctx, id: &str| ctx.0.select_lore("lore", id, true),
    );
    surface.function(
        "unlore",
        &["ctx: Ctx", "id: string", "()"],
        "Excludes a lorebook entry, by its title or uid. Only in plan.",
        |ctx: &mut Ctx, id: &str| ctx.0.select_lore("unlore", id, false),
    );
}

impl RunningCall {
    fn inject(&self, slot: &str, text: &str, how: &Map) -> Result<(), RhaiThrow> {
        self.require_plan_hook("inject")?;
        let name = format!("inject(\"{}\")", slot.chars().take(40).collect::<String>());
        let Some(depth) = depth_of(slot) else {
            let (hint, all) = (did_you_mean(slot, slots()), slots().collect::<Vec<_>>().join(", "));
            return Err(throw(
                ScriptErrorKind::Runtime,
                format!("{name}: there is no slot of this name{hint}; there are {all}"),
            ));
        };
        self.require(&name, &Permission::PromptInject(slot.to_owned()))?;
        let (mut depth, mut priority) = (depth, 0);
        for (key, value) in how {
            match key.as_str() {
                "depth" => {
                    depth = usize::try_from(integer_in_range(&name, key, value, 0..=MAX_INJECTION_DEPTH)?).unwrap_or(0)
                }
                "priority" => priority = integer_in_range(&name, key, value, -MAX_PRIORITY..=MAX_PRIORITY)?,
                _ => {
                    let hint = did_you_mean(key, ["priority", "depth"]);
                    let message = format!("{name}: there is no \"{key}\"{hint}; there are priority and depth");
                    return Err(throw(ScriptErrorKind::Runtime, message));
                }
            }
        }
        let text = self.check_text(&name, text)?;
        let mut done = self.effects();
        if done.plan.injections.len() >= MAX_TEXTS {
            return Err(throw_limit(
                ScriptLimit::Chatter,
                format!("{name}: one call may add at most {MAX_TEXTS} texts"),
            ));
        }
        if !text.trim().is_empty() {
            done.plan.injections.push(TextInjection { slot: slot.to_owned(), text, depth, priority });
        }
        Ok(())
    }

    fn select_lore(&self, name: &str, entry: &str, is_in: bool) -> Result<(), RhaiThrow> {
        self.require_plan_hook(name)?;
        let short: String = entry.chars().take(80).collect();
        let name = format!("{name}(\"{short}\")");
        self.require(&name, &Permission::LoreSelect)?;
        let entry = self.check_text(&name, entry.trim())?;
        let mut done = self.effects();
        if done.plan.lore.len() >= MAX_LORE {
            return Err(throw_limit(
                ScriptLimit::Chatter,
                format!("{name}: one call may name at most {MAX_LORE} entries"),
            ));
        }
        done.plan.lore.push(LoreSelection { entry, is_included: is_in });
        Ok(())
    }

    fn require_plan_hook(&self, name: &str) -> Result<(), RhaiThrow> {
        if self.call.hook == Hook::Plan {
            return Ok(());
        }
        Err(throw(ScriptErrorKind::Runtime, format!("{name}: only plan(ctx) can change the prompt")))
    }

    /// Copies a text that the script hands out, within the byte budget.
    fn check_text(&self, name: &str, text: &str) -> Result<String, RhaiThrow> {
        take_text(text, &mut self.effects().bytes).map_err(|error| HostFault::from(error).throw_in(name))
    }
}

/// Reads a whole number within a range.
fn integer_in_range(name: &str, key: &str, value: &Dynamic, range: RangeInclusive<i64>) -> Result<i64, RhaiThrow> {
    match value.as_int() {
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(number) => {
            let (least, most) = range.into_inner();
            Err(throw(ScriptErrorKind::Runtime, format!("{name}: {key} must be from {least} to {most}, not {number}")))
        }
        Err(_) => {
            let given = kind_of(value);
            Err(throw(ScriptErrorKind::Runtime, format!("{name}: {key} must be a whole number, not {given}")))
        }
    }
}
