//! `ctx`: functions on texts: regular expressions, tagged blocks, MVU commands, keys for paths.

use std::sync::Arc;

use rhai::{Array, Dynamic, ImmutableString, Map};
use serde_json::Value;

use super::{Ctx, CtxSurface, RunningCall};
use crate::convert::to_script;
use crate::error::ScriptErrorKind;
use crate::host_fault::{RhaiThrow, throw, throw_limit};
use crate::limits::ScriptLimit;
use crate::mvu;
use crate::regexes::{CompiledRegex, RegexResult};
use clotho_core::world::{Pointer, StateChange, World};

pub(super) fn register(surface: &mut CtxSurface<'_>) {
    surface.begin_group("Searching in text");
    patterns(surface);
    blocks(surface);
}

fn patterns(surface: &mut CtxSurface<'_>) {
    let doc = "Returns the first match of a regular expression as a map of its groups (\"0\" is the whole match); () \
     if there is none.";
    surface.function("find", &["ctx: Ctx", "pattern: string", "?"], doc, |ctx: &mut Ctx, pattern: &str| {
        ctx.0.find_first(pattern, &ctx.0.call.text)
    });
    surface.function(
        "find",
        &["ctx: Ctx", "pattern: string", "text: string", "?"],
        doc,
        |ctx: &mut Ctx, pattern: &str, text: &str| ctx.0.find_first(pattern, text),
    );
    let doc = "Returns all matches of a regular expression, each as a map of its groups; at most 500.";
    surface.function("find_all", &["ctx: Ctx", "pattern: string", "Array"], doc, |ctx: &mut Ctx, pattern: &str| {
        ctx.0.find_all(pattern, &ctx.0.call.text)
    });
    surface.function(
        "find_all",
        &["ctx: Ctx", "pattern: string", "text: string", "Array"],
        doc,
        |ctx: &mut Ctx, pattern: &str, text: &str| ctx.0.find_all(pattern, text),
    );
}

fn blocks(surface: &mut CtxSurface<'_>) {
    // Tagged blocks.
    surface.function(
        "block",
        &["ctx: Ctx", "tag: string", "?"],
        "Returns the text between <tag> and </tag> (or the end of the text); () if there is no such block.",
        |ctx: &mut Ctx, tag: &str| -> Result<Dynamic, RhaiThrow> {
            let block = mvu::first_block_text(ctx.0.check_length("block", &ctx.0.call.text)?, tag);
            block.map_or(Ok(Dynamic::UNIT), |inside| ctx.0.script_text("block", inside))
        },
    );
    surface.function(
        "strip_block",
        &["ctx: Ctx", "tag: string", "string"],
        "Returns the text without its <tag>…</tag> blocks.",
        |ctx: &mut Ctx, tag: &str| -> Result<Dynamic, RhaiThrow> {
            let stripped = mvu::strip_blocks(ctx.0.check_length("strip_block", &ctx.0.call.text)?, tag);
            ctx.0.script_text("strip_block", &stripped)
        },
    );
    // MVU commands and initial values.
    surface.function(
        "mvu_commands",
        &["ctx: Ctx", "Array"],
        "Returns the MVU commands in the text, in order, each #{op, path, value, reason}; where they apply, also key \
         and from.",
        |ctx: &mut Ctx| ctx.0.mvu_commands(),
    );
    surface.function(
        "mvu_skipped",
        &["ctx: Ctx", "int"],
        "Returns how many commands the last ctx.mvu_commands() could not read; the trace lists them.",
        |ctx: &mut Ctx| -> rhai::INT { rhai::INT::try_from(ctx.0.effects().skipped).unwrap_or(rhai::INT::MAX) },
    );
    surface.function(
        "mvu_start",
        &["ctx: Ctx", "Map"],
        "Returns the initial variables: in init from the [initvar] entries of lorebooks, in other hooks from the \
         <initvar> block of the text.",
        |ctx: &mut Ctx| ctx.0.mvu_start(),
    );
    surface.function(
        "mvu_begin",
        &["ctx: Ctx", "why: string", "bool"],
        "Writes the variables of ctx.mvu_start() under the plugin's root, in their order; returns whether there are \
         any.",
        |ctx: &mut Ctx, why: &str| ctx.0.apply_init_vars(why),
    );
    // Keys for paths.
    surface.function(
        "key",
        &["ctx: Ctx", "text: string", "string"],
        "Returns a text as one part of a path; a slash in it does not separate parts.",
        |_: &mut Ctx, text: &str| -> ImmutableString { text.replace('~', "~0").replace('/', "~1").into() },
    );
}

impl RunningCall {
    fn find_first(&self, pattern: &str, text: &str) -> Result<Dynamic, RhaiThrow> {
        let pattern = self.regex("find", pattern, text)?;
        let found = pattern.regex.captures(text);
        found.map_or(Ok(Dynamic::UNIT), |captures| Ok(groups(&pattern.regex, &captures).into()))
    }

    fn find_all(&self, pattern: &str, text: &str) -> Result<Array, RhaiThrow> {
        let pattern = self.regex("find_all", pattern, text)?;
        let mut all = Array::new();
        let mut bytes = self.limits().string;
        for captures in pattern.regex.captures_iter(text).take(self.limits().matches) {
            bytes = bytes.saturating_sub(captures.iter().flatten().map(|group| group.len()).sum());
            if bytes == 0 || self.watch.is_past_deadline() {
                self.check_time()?;
                return Err(throw_limit(ScriptLimit::Size, "find_all: there are too many matches for one list"));
            }
            all.push(groups(&pattern.regex, &captures).into());
        }
        Ok(all)
    }

    /// Returns a compiled pattern, if it may run over a text of this length.
    fn regex(&self, function: &str, pattern: &str, text: &str) -> Result<Arc<CompiledRegex>, RhaiThrow> {
        self.check_time()?;
        let limits = self.limits();
        let pattern = self.compiled(function, pattern)?.map_err(|why| match why.too_big {
            true => throw_limit(ScriptLimit::Regex, format!("{function}: {}", why.message)),
            false => throw(ScriptErrorKind::Runtime, format!("{function}: {}", why.message)),
        })?;
        let most = pattern.max_text(text.len(), limits);
        if text.len() <= most {
            return Ok(pattern);
        }
        let most = most >> 10;
        let what =
            format!("this pattern is too expensive for a text of more than {most} KiB; [a-z] is cheaper than \\w");
        Err(throw_limit(ScriptLimit::Regex, format!("{function}: {what}")))
    }

    /// Compiles a pattern. Literals of the script are compiled once for all calls, and no call pays for them.
    fn compiled(&self, function: &str, pattern: &str) -> Result<RegexResult, RhaiThrow> {
        let (regexes, limits) = (&self.runtime.regexes, self.limits());
        let Some(constant) = regexes.constant(pattern) else {
            self.count_dynamic_pattern(function, pattern)?;
            return Ok(regexes.dynamic(pattern, limits));
        };
        let known = constant.get();
        Ok(known.unwrap_or_else(|| self.watch.uncounted(|| constant.get_or_compile(pattern, limits))).clone())
    }

    fn count_dynamic_pattern(&self, function: &str, pattern: &str) -> Result<(), RhaiThrow> {
        let most = self.limits().regex_fresh;
        let mut done = self.effects();
        if done.dynamic_patterns.contains(pattern) {
            return Ok(());
        }
        if done.dynamic_patterns.len() >= most {
            let what = format!(
                "{function}: one call may build at most {most} patterns; literal patterns in the script do not count"
            );
            return Err(throw_limit(ScriptLimit::Regex, what));
        }
        done.dynamic_patterns.insert(pattern.to_owned());
        Ok(())
    }

    /// Returns the text if it is short enough to be searched.
    fn check_length<'t>(&self, function: &str, text: &'t str) -> Result<&'t str, RhaiThrow> {
        self.check_time()?;
        if text.len() <= self.limits().text {
            return Ok(text);
        }
        Err(throw_limit(
            ScriptLimit::Size,
            format!("{function}: the text is longer than {} KiB", self.limits().text >> 10),
        ))
    }

    fn script_text(&self, function: &str, text: &str) -> Result<Dynamic, RhaiThrow> {
        if text.len() > self.limits().string {
            return Err(throw_limit(ScriptLimit::Size, format!("{function}: the text is too long for a script")));
        }
        Ok(text.into())
    }

    fn mvu_commands(&self) -> Result<Array, RhaiThrow> {
        let text = self.check_length("mvu_commands", &self.call.text)?;
        let mut parsed = mvu::parse(text, self.limits().matches);
        let root = &self.runtime.manifest.state.root;
        let mut done = self.effects();
        let world = Arc::clone(&done.world);
        parsed.commands.retain(|command| !self.is_foreign_command(command, &world));
        let mended = parsed.commands.iter_mut().filter_map(|command| mvu::repair_paths(command, root, &world));
        let told = parsed.skipped.iter().map(ToString::to_string).chain(mended);
        // Half of the warnings are left for the script.
        let room = (self.limits().warnings / 2).saturating_sub(done.warnings.len());
        done.warnings.extend(told.take(room));
        done.skipped = parsed.skipped.len();
        drop(done);
        let maps = parsed.commands.iter().map(|command| {
            let value = to_script(&command.to_json(), self.limits());
            value.map_err(|_| throw_limit(ScriptLimit::Size, "mvu_commands: a value is too large for a script"))
        });
        maps.collect()
    }

    /// Returns whether a command is for the values of another plugin. This plugin then neither has that name nor may
    /// write there.
    fn is_foreign_command(&self, command: &mvu::MvuCommand, world: &World) -> bool {
        let place = command.pointer(&Pointer::default());
        let is_own = || {
            let root = &self.runtime.manifest.state.root;
            let first = place.keys().first().map(|key| root.child(key.clone()));
            place.below(root).is_some() || first.is_some_and(|first| world.get(&first).is_some())
        };
        self.call.foreign_roots.iter().any(|other| place.below(other).is_some()) && !self.may_write(&place) && !is_own()
    }

    fn mvu_start(&self) -> Result<Dynamic, RhaiThrow> {
        let values = self.start_values("mvu_start")?;
        to_script(&Value::Object(values), self.limits())
            .map_err(|_| throw_limit(ScriptLimit::Size, "mvu_start: the values are too large for a script"))
    }

    fn apply_init_vars(&self, why: &str) -> Result<bool, RhaiThrow> {
        let values = self.start_values("mvu_begin")?;
        if values.is_empty() {
            return Ok(false);
        }
        let there = self.effects().world.get(&self.runtime.manifest.state.root).cloned();
        let mut places = Vec::new();
        mvu::leaf_values(there.as_ref(), "", Value::Object(values), &mut places);
        for (path, value) in places {
            self.propose("mvu_begin", &path, why, StateChange::Set(value))?;
        }
        Ok(true)
    }

    fn start_values(&self, function: &str) -> Result<serde_json::Map<String, Value>, RhaiThrow> {
        let text = self.check_length(function, &self.call.text)?;
        let (values, problems) = mvu::initial_values(&self.call.initial_values, text);
        let mut done = self.effects();
        let room = (self.limits().warnings / 2).saturating_sub(done.warnings.len());
        done.warnings.extend(problems.into_iter().take(room));
        Ok(values)
    }
}

/// Returns the groups of a match: named ones by name, others by number; `()` for a group without a match.
fn groups(regex: &regex::Regex, captures: &regex::Captures<'_>) -> Map {
    let mut map = Map::new();
    for (at, name) in regex.capture_names().enumerate() {
        let value: Dynamic = captures.get(at).map_or(Dynamic::UNIT, |group| group.as_str().into());
        match name {
            Some(name) => map.insert(name.into(), value),
            None => map.insert(at.to_string().as_str().into(), value),
        };
    }
    map
}
