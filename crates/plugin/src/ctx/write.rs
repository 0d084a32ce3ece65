//! `ctx`: write access. Each call proposes one operation and folds it at once, so that later reads see it. An operation
//! that the schema refuses stays proposed, because it records what was meant.

use std::sync::Arc;

use rhai::Dynamic;
use serde_json::Value;

use super::{Ctx, CtxSurface, RunningCall};
use crate::convert::{from_script, number_from_script, take_text};
use crate::error::ScriptErrorKind;
use crate::host_fault::{HostFault, RhaiThrow, throw, throw_limit};
use crate::limits::ScriptLimit;
use clotho_core::world::{Pointer, StateChange, StateOperation, fold_incremental};

/// The most characters of a reason.
const MAX_REASON_CHARS: usize = 200;

const PATH: &str = "path: string";
const VALUE: &str = "value: ?";
const REASON: &str = "why: string";

pub(super) fn register(surface: &mut CtxSurface<'_>) {
    surface.begin_group("Writing");
    numbers_and_values(surface);
    maps(surface);
    lists(surface);
}

fn numbers_and_values(surface: &mut CtxSurface<'_>) {
    let doc = "Adds to the number at a path; a missing number counts as 0.";
    surface.function("add", &["ctx: Ctx", PATH, "n: number", "()"], doc, |ctx: &mut Ctx, path: &str, n: Dynamic| {
        ctx.0.add(path, &n, "")
    });
    surface.function(
        "add",
        &["ctx: Ctx", PATH, "n: number", REASON, "()"],
        doc,
        |ctx: &mut Ctx, path: &str, n: Dynamic, why: &str| ctx.0.add(path, &n, why),
    );
    let doc = "Sets the value at a path. For amounts prefer add, which stays correct on another branch.";
    surface.function("set", &["ctx: Ctx", PATH, VALUE, "()"], doc, |ctx: &mut Ctx, path: &str, value: Dynamic| {
        ctx.0.put("set", path, &value, "", StateChange::Set)
    });
    surface.function(
        "set",
        &["ctx: Ctx", PATH, VALUE, REASON, "()"],
        doc,
        |ctx: &mut Ctx, path: &str, value: Dynamic, why: &str| ctx.0.put("set", path, &value, why, StateChange::Set),
    );
}

fn maps(surface: &mut CtxSurface<'_>) {
    let doc = "Removes the value at a path.";
    surface.function("remove", &["ctx: Ctx", PATH, "()"], doc, |ctx: &mut Ctx, path: &str| {
        ctx.0.propose("remove", path, "", StateChange::Remove)
    });
    surface.function("remove", &["ctx: Ctx", PATH, REASON, "()"], doc, |ctx: &mut Ctx, path: &str, why: &str| {
        ctx.0.propose("remove", path, why, StateChange::Remove)
    });
    let doc = "Sets a key of the map at a path; a missing map is created.";
    surface.function(
        "insert",
        &["ctx: Ctx", PATH, "key: string", VALUE, "()"],
        doc,
        |ctx: &mut Ctx, path: &str, key: &str, value: Dynamic| ctx.0.insert(path, key, &value, ""),
    );
    surface.function(
        "insert",
        &["ctx: Ctx", PATH, "key: string", VALUE, REASON, "()"],
        doc,
        |ctx: &mut Ctx, path: &str, key: &str, value: Dynamic, why: &str| ctx.0.insert(path, key, &value, why),
    );
    let doc = "Moves a value from one path to another.";
    surface.function(
        "move",
        &["ctx: Ctx", "from: string", "to: string", "()"],
        doc,
        |ctx: &mut Ctx, from: &str, to: &str| ctx.0.move_value(from, to, ""),
    );
    surface.function(
        "move",
        &["ctx: Ctx", "from: string", "to: string", REASON, "()"],
        doc,
        |ctx: &mut Ctx, from: &str, to: &str, why: &str| ctx.0.move_value(from, to, why),
    );
}

fn lists(surface: &mut CtxSurface<'_>) {
    let doc = "Appends a value to the list at a path; a missing list is created.";
    surface.function("append", &["ctx: Ctx", PATH, VALUE, "()"], doc, |ctx: &mut Ctx, path: &str, value: Dynamic| {
        ctx.0.put("append", path, &value, "", StateChange::Append)
    });
    surface.function(
        "append",
        &["ctx: Ctx", PATH, VALUE, REASON, "()"],
        doc,
        |ctx: &mut Ctx, path: &str, value: Dynamic, why: &str| {
            ctx.0.put("append", path, &value, why, StateChange::Append)
        },
    );
    let doc = "Removes one equal value from the list at a path, at any position.";
    surface.function("take", &["ctx: Ctx", PATH, VALUE, "()"], doc, |ctx: &mut Ctx, path: &str, value: Dynamic| {
        ctx.0.put("take", path, &value, "", StateChange::Take)
    });
    surface.function(
        "take",
        &["ctx: Ctx", PATH, VALUE, REASON, "()"],
        doc,
        |ctx: &mut Ctx, path: &str, value: Dynamic, why: &str| ctx.0.put("take", path, &value, why, StateChange::Take),
    );
}

impl RunningCall {
    fn add(&self, path: &str, n: &Dynamic, why: &str) -> Result<(), RhaiThrow> {
        let number =
            number_from_script(n).map_err(|error| HostFault::from(error).throw_in(&call_label("add", path)))?;
        let Some(number) = number else {
            let given = crate::convert::kind_of(n);
            return Err(throw(
                ScriptErrorKind::Runtime,
                format!("{}: expected a number, not {given}", call_label("add", path)),
            ));
        };
        self.propose("add", path, why, StateChange::Add(number))
    }

    fn put(
        &self,
        name: &str,
        path: &str,
        value: &Dynamic,
        why: &str,
        change: impl FnOnce(Value) -> StateChange,
    ) -> Result<(), RhaiThrow> {
        let value = self.take_value(name, path, value)?;
        self.propose(name, path, why, change(value))
    }

    fn insert(&self, path: &str, key: &str, value: &Dynamic, why: &str) -> Result<(), RhaiThrow> {
        let value = self.take_value("insert", path, value)?;
        let key = self.take_text("insert", path, key)?;
        self.propose("insert", path, why, StateChange::Insert { key, value })
    }

    fn move_value(&self, from: &str, to: &str, why: &str) -> Result<(), RhaiThrow> {
        let place = self.writable_pointer("move", from)?;
        self.propose("move", to, why, StateChange::Move { from: place })
    }

    /// Converts a value that the script hands out.
    fn take_value(&self, name: &str, path: &str, value: &Dynamic) -> Result<Value, RhaiThrow> {
        let mut done = self.effects();
        from_script(value, self.limits().depth, &mut done.bytes)
            .map_err(|error| HostFault::from(error).throw_in(&call_label(name, path)))
    }

    fn take_text(&self, name: &str, path: &str, text: &str) -> Result<String, RhaiThrow> {
        take_text(text, &mut self.effects().bytes)
            .map_err(|error| HostFault::from(error).throw_in(&call_label(name, path)))
    }

    /// Resolves a path and checks that this hook of this plugin may change it.
    fn writable_pointer(&self, name: &str, path: &str) -> Result<Pointer, RhaiThrow> {
        let refuse =
            |why: String| Err(throw(ScriptErrorKind::Permission, format!("{}: {why}", call_label(name, path))));
        if !self.call.hook.may_write() {
            return refuse("this hook is read-only".to_owned());
        }
        let place = self.resolve(name, path)?;
        if place.is_root() || !self.may_write(&place) {
            let top = place.keys().first().map_or("…", String::as_str);
            return refuse(format!("writing outside the plugin's own values needs \"state.write:{top}\""));
        }
        Ok(place)
    }

    /// Records an operation and folds it into the state that the script sees.
    pub(super) fn propose(&self, name: &str, path: &str, why: &str, change: StateChange) -> Result<(), RhaiThrow> {
        let place = self.writable_pointer(name, path)?;
        let why: String = why.chars().filter(|c| *c != '\0').take(MAX_REASON_CHARS).collect();
        self.take_text(name, path, path)?;
        self.take_text(name, path, &why)?;
        self.record(name, path, StateOperation::new(place, change, why, self.runtime.manifest.id.as_str()))
    }

    /// Adds an operation to those of the call and folds it. `path` stands in error messages.
    pub(super) fn record(&self, name: &str, path: &str, operation: StateOperation) -> Result<(), RhaiThrow> {
        self.check_time()?;
        let mut done = self.effects();
        let at = done.operations.len();
        let most = self.limits().proposals;
        if at >= most {
            return Err(throw_limit(
                ScriptLimit::Result,
                format!("{}: one call may make at most {most} changes", call_label(name, path)),
            ));
        }
        let problems =
            fold_incremental(Arc::make_mut(&mut done.world), std::slice::from_ref(&operation), &self.call.rules);
        done.problems
            .extend(problems.into_iter().map(|problem| clotho_core::world::Problem { operation: at, ..problem }));
        done.operations.push(operation);
        Ok(())
    }
}

/// Returns a label for error messages, such as `add("hp")`.
fn call_label(name: &str, path: &str) -> String {
    let short: String = path.chars().take(80).collect();
    format!("{name}(\"{short}\")")
}
