//! Looking into texts: regular expressions, tagged blocks, MVU commands, keys for paths.

use rhai::{Array, Dynamic, ImmutableString, Map};

use super::{Ctx, Running, Surface};
use crate::plugin::convert::to_script;
use crate::plugin::error::ErrorKind;
use crate::plugin::fault::{Throw, over, throw};
use crate::plugin::limits::Limit;
use crate::plugin::mvu;
use crate::plugin::regexes::Lookup;

pub(super) fn register(surface: &mut Surface<'_>) {
    surface.group("Looking into text");
    patterns(surface);
    blocks(surface);
}

fn patterns(surface: &mut Surface<'_>) {
    let doc = "The first match of a regular expression as a map of its groups (\"0\" is the whole match); () if none.";
    surface.add("find", &["ctx: Ctx", "pattern: string", "?"], doc, |ctx: &mut Ctx, pattern: &str| {
        ctx.0.find_first(pattern, &ctx.0.call.text)
    });
    surface.add(
        "find",
        &["ctx: Ctx", "pattern: string", "text: string", "?"],
        doc,
        |ctx: &mut Ctx, pattern: &str, text: &str| ctx.0.find_first(pattern, text),
    );
    let doc = "Every match of a regular expression, each a map of its groups; 500 at most.";
    surface.add("find_all", &["ctx: Ctx", "pattern: string", "Array"], doc, |ctx: &mut Ctx, pattern: &str| {
        ctx.0.find_every(pattern, &ctx.0.call.text)
    });
    surface.add(
        "find_all",
        &["ctx: Ctx", "pattern: string", "text: string", "Array"],
        doc,
        |ctx: &mut Ctx, pattern: &str, text: &str| ctx.0.find_every(pattern, text),
    );
}

fn blocks(surface: &mut Surface<'_>) {
    surface.add(
        "block",
        &["ctx: Ctx", "tag: string", "?"],
        "What stands between <tag> and </tag> (or the end of the text); () if there is no such block.",
        |ctx: &mut Ctx, tag: &str| -> Result<Dynamic, Throw> {
            let block = mvu::block(ctx.0.bounded("block", &ctx.0.call.text)?, tag);
            block.map_or(Ok(Dynamic::UNIT), |inside| ctx.0.script_text("block", inside))
        },
    );
    surface.add(
        "strip_block",
        &["ctx: Ctx", "tag: string", "string"],
        "The text without its <tag>…</tag> blocks.",
        |ctx: &mut Ctx, tag: &str| -> Result<Dynamic, Throw> {
            let stripped = mvu::strip(ctx.0.bounded("strip_block", &ctx.0.call.text)?, tag);
            ctx.0.script_text("strip_block", &stripped)
        },
    );
    surface.add(
        "mvu_commands",
        &["ctx: Ctx", "Array"],
        "The MVU commands in the text, in order, each #{op, path, value, reason} and where they apply key and from.",
        |ctx: &mut Ctx| ctx.0.mvu_commands(),
    );
    surface.add(
        "key",
        &["ctx: Ctx", "text: string", "string"],
        "A text as one part of a path: a slash in it does not divide.",
        |_: &mut Ctx, text: &str| -> ImmutableString { text.replace('~', "~0").replace('/', "~1").into() },
    );
}

impl Running {
    fn find_first(&self, pattern: &str, text: &str) -> Result<Dynamic, Throw> {
        let regex = self.regex("find", pattern, text)?;
        let found = regex.captures(text);
        found.map_or(Ok(Dynamic::UNIT), |captures| Ok(groups(&regex, &captures).into()))
    }

    fn find_every(&self, pattern: &str, text: &str) -> Result<Array, Throw> {
        let regex = self.regex("find_all", pattern, text)?;
        let mut all = Array::new();
        let mut bytes = self.limits().string;
        for captures in regex.captures_iter(text).take(self.limits().matches) {
            bytes = bytes.saturating_sub(captures.iter().flatten().map(|group| group.len()).sum());
            if bytes == 0 || self.watch.late() {
                self.in_time()?;
                return Err(over(Limit::Size, "find_all: the matches are too long for one list"));
            }
            all.push(groups(&regex, &captures).into());
        }
        Ok(all)
    }

    /// A compiled pattern that may be run over this text.
    fn regex(&self, function: &str, pattern: &str, text: &str) -> Result<regex::Regex, Throw> {
        self.in_time()?;
        let compiled = match self.plugin.regexes.get(pattern) {
            Lookup::Known(known) => known,
            Lookup::New(compile) => {
                self.count_fresh(function)?;
                compile.run(self.limits())
            }
        };
        let pattern = compiled.map_err(|why| match why.too_big {
            true => over(Limit::Regex, format!("{function}: {}", why.message)),
            false => throw(ErrorKind::Runtime, format!("{function}: {}", why.message)),
        })?;
        if text.len() <= pattern.text {
            return Ok(pattern.regex);
        }
        let most = pattern.text >> 10;
        let what = format!("this pattern is too heavy for a text of more than {most} KiB; [a-z] is lighter than \\w");
        Err(over(Limit::Regex, format!("{function}: {what}")))
    }

    fn count_fresh(&self, function: &str) -> Result<(), Throw> {
        let most = self.limits().regex_fresh;
        let mut done = self.done();
        if done.fresh_regexes >= most {
            let what = format!("{function}: one call may use {most} patterns that were not used before");
            return Err(over(Limit::Regex, what));
        }
        done.fresh_regexes += 1;
        Ok(())
    }

    /// A text that is short enough to be looked through.
    fn bounded<'t>(&self, function: &str, text: &'t str) -> Result<&'t str, Throw> {
        self.in_time()?;
        if text.len() <= self.limits().text {
            return Ok(text);
        }
        Err(over(Limit::Size, format!("{function}: the text is longer than {} KiB", self.limits().text >> 10)))
    }

    fn script_text(&self, function: &str, text: &str) -> Result<Dynamic, Throw> {
        if text.len() > self.limits().string {
            return Err(over(Limit::Size, format!("{function}: the text is too long for a script")));
        }
        Ok(text.into())
    }

    fn mvu_commands(&self) -> Result<Array, Throw> {
        let text = self.bounded("mvu_commands", &self.call.text)?;
        let parsed = mvu::parse(text, self.limits().matches);
        let mut done = self.done();
        for skipped in &parsed.skipped {
            if done.warnings.len() < self.limits().warnings {
                done.warnings.push(skipped.to_string());
            }
        }
        drop(done);
        let maps = parsed.commands.iter().map(|command| {
            let value = to_script(&command.to_json(), self.limits());
            value.map_err(|_| over(Limit::Size, "mvu_commands: a value is too large for a script"))
        });
        maps.collect()
    }
}

/// The groups of a match: named ones by name, all by number; a group that took no part is ().
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
