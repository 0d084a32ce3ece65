//! `ctx`: seeded and recorded randomness, the same on every replay. Scripts have no other.

use rhai::{Array, Dynamic, Map};

use super::{Ctx, CtxSurface, RunningCall};
use crate::dice::{DiceResult, DiceSpec, Roll};
use crate::error::ScriptErrorKind;
use crate::host_fault::{RhaiThrow, throw, throw_limit};
use crate::limits::ScriptLimit;
use clotho_core::clock::SplitMix64;

/// Resolution of a probability: the number of equal parts it is drawn from.
const CHANCE_PARTS: u32 = 1_000_000;

pub(super) fn register(surface: &mut CtxSurface<'_>) {
    surface.begin_group("Chance");
    surface.function(
        "roll",
        &["ctx: Ctx", "spec: string", "Map"],
        "Rolls dice like \"2d6+3\", \"d20\" or \"4d6kh3\": #{total, dice}.",
        |ctx: &mut Ctx, spec: &str| ctx.0.roll(spec),
    );
    surface.function(
        "chance",
        &["ctx: Ctx", "p: float", "bool"],
        "Returns true with a probability of 0 (never) to 1 (always).",
        |ctx: &mut Ctx, p: f64| ctx.0.chance(p),
    );
    surface.function(
        "chance",
        &["ctx: Ctx", "p: int", "bool"],
        "Returns false for 0 and true for 1; write other probabilities as 0.25.",
        |ctx: &mut Ctx, p: i64| if p == 0 { ctx.0.chance(0.0) } else { ctx.0.chance(if p == 1 { 1.0 } else { 2.0 }) },
    );
    surface.function(
        "pick",
        &["ctx: Ctx", "list: Array", "?"],
        "Returns a random element of a list; () for an empty one.",
        |ctx: &mut Ctx, list: Array| ctx.0.pick(list),
    );
}

impl RunningCall {
    fn roll(&self, spec: &str) -> Result<Map, RhaiThrow> {
        let dice = DiceSpec::parse(spec).map_err(|error| throw(ScriptErrorKind::Runtime, format!("roll: {error}")))?;
        let fall = self.draw("roll", dice.to_string(), |random| dice.roll(random))?;
        let thrown: Array = fall.dice.into_iter().map(Dynamic::from).collect();
        Ok([("total".into(), fall.total.into()), ("dice".into(), thrown.into())].into_iter().collect())
    }

    fn chance(&self, p: f64) -> Result<bool, RhaiThrow> {
        if !(0.0..=1.0).contains(&p) {
            return Err(throw(ScriptErrorKind::Runtime, "chance: a probability must be from 0 to 1, like 0.25"));
        }
        let fall = self.draw("chance", format!("chance({p})"), |random| {
            let drawn = random.next_below(u64::from(CHANCE_PARTS));
            let drawn = u32::try_from(drawn).unwrap_or(0);
            let hit = f64::from(drawn) < p * f64::from(CHANCE_PARTS);
            DiceResult { dice: vec![i64::from(drawn)], total: i64::from(hit) }
        })?;
        Ok(fall.total == 1)
    }

    fn pick(&self, list: Array) -> Result<Dynamic, RhaiThrow> {
        let size = u64::try_from(list.len()).unwrap_or(u64::MAX);
        let fall = self.draw("pick", format!("pick({size})"), |random| {
            let at = i64::try_from(random.next_below(size)).unwrap_or(0);
            DiceResult { dice: vec![at], total: at }
        })?;
        let at = usize::try_from(fall.total).unwrap_or(0);
        Ok(list.into_iter().nth(at).unwrap_or_default())
    }

    /// Returns the next roll of this hook: the recorded one if this node rolled the same before, otherwise a new one.
    fn draw(
        &self,
        name: &str,
        spec: String,
        roll: impl FnOnce(&mut SplitMix64) -> DiceResult,
    ) -> Result<DiceResult, RhaiThrow> {
        if !self.call.hook.may_write() {
            return Err(throw(ScriptErrorKind::Permission, format!("{name}: this hook is read-only and cannot roll")));
        }
        self.check_time()?;
        let mut done = self.effects();
        if done.rolls.len() >= self.limits().rolls {
            return Err(throw_limit(
                ScriptLimit::Chatter,
                format!("{name}: one call may roll at most {} times", self.limits().rolls),
            ));
        }
        let n = u32::try_from(done.rolls.len()).unwrap_or(u32::MAX);
        let plugin = self.runtime.manifest.id.as_str();
        let hook = self.call.roll_name();
        let same = |old: &&Roll| old.plugin == plugin && old.hook == hook && old.n == n && old.spec == spec;
        let fall = match self.call.recorded_rolls.iter().find(same) {
            Some(old) => DiceResult { dice: old.dice.clone(), total: old.total },
            None => roll(&mut self.call.seeds.generator(plugin, &hook, n)),
        };
        done.rolls.push(Roll {
            plugin: plugin.to_owned(),
            hook: hook.clone().into_owned(),
            n,
            spec,
            dice: fall.dice.clone(),
            total: fall.total,
        });
        Ok(fall)
    }
}
