//! Proposing a summary of turns that were played: the host keeps it beside its own when the message is written.

use super::{Ctx, CtxSurface, RunningCall};
use crate::plugin::call::Hook;
use crate::plugin::convert::clean;
use crate::plugin::error::ScriptErrorKind;
use crate::plugin::fault::{HostFault, RhaiThrow, over, throw};
use crate::plugin::grant::Permission;
use crate::plugin::limits::ScriptLimit;
use crate::plugin::summary::{LONGEST, SummaryProposal};

const OF: &str = "propose_summary";

pub(super) fn register(surface: &mut CtxSurface<'_>) {
    surface.group("Summing up");
    surface.add(
        OF,
        &["ctx: Ctx", "text: string", "turns: int", "()"],
        "Proposes a summary of the last turns, which later prompts tell when these no longer fit. In on_answer they end at the \
         message that asked. Only in on_reply, on_edit and on_answer.",
        |ctx: &mut Ctx, text: &str, turns: i64| ctx.0.propose_summary(text, turns, None),
    );
    surface.add(
        OF,
        &["ctx: Ctx", "text: string", "turns: int", "upto: int", "()"],
        "The same of the turns up to an earlier one, as ctx.node.turn counts them.",
        |ctx: &mut Ctx, text: &str, turns: i64, upto: i64| ctx.0.propose_summary(text, turns, Some(upto)),
    );
}

impl RunningCall {
    fn propose_summary(&self, text: &str, turns: i64, upto: Option<i64>) -> Result<(), RhaiThrow> {
        if !self.call.hook.writes() {
            return Err(throw(ScriptErrorKind::Permission, format!("{OF}: this hook is read-only")));
        }
        if !matches!(self.call.hook, Hook::OnReply | Hook::OnEdit | Hook::OnAnswer) {
            let message = "only on_reply, on_edit and on_answer may propose a summary";
            return Err(throw(ScriptErrorKind::Runtime, format!("{OF}: {message}")));
        }
        self.needs(OF, &Permission::TreeSummarise)?;
        let (turns, upto) = self.turns(turns, upto)?;
        let length = text.chars().count();
        if text.trim().is_empty() {
            return Err(throw(ScriptErrorKind::Runtime, format!("{OF}: the text is empty: there is nothing to tell")));
        }
        if length > LONGEST {
            let message = format!("{OF}: a summary has at most {LONGEST} characters, and this has {length}");
            return Err(throw(ScriptErrorKind::Runtime, message));
        }
        let text = clean(text.trim(), &mut self.done().bytes).map_err(|error| HostFault::from(error).throw_in(OF))?;
        let mut done = self.done();
        if done.summary.is_some() {
            return Err(over(ScriptLimit::Chatter, format!("{OF}: one call of a hook may propose one summary")));
        }
        done.summary = Some(SummaryProposal { text, turns, upto });
        Ok(())
    }

    /// How many turns, and the last of them.
    fn turns(&self, turns: i64, upto: Option<i64>) -> Result<(u64, u64), RhaiThrow> {
        let wrong = |message: String| throw(ScriptErrorKind::Runtime, format!("{OF}: {message}"));
        let now = self.call.node.turn;
        let last = match upto {
            None => self.call.answer.as_ref().map_or(now, |answer| answer.turn),
            Some(upto) => u64::try_from(upto).ok().filter(|upto| (1..=now).contains(upto)).ok_or_else(|| {
                wrong(format!("\"upto\" is a turn of this line, from 1 to {now} (ctx.node.turn), not {upto}"))
            })?,
        };
        let count = u64::try_from(turns).ok().filter(|turns| *turns > 0);
        let count = count.ok_or_else(|| wrong(format!("\"turns\" is a whole number from 1, not {turns}")))?;
        if count > last {
            let there = if last == 1 { "is 1 turn".to_owned() } else { format!("are {last} turns") };
            return Err(wrong(format!("there {there} up to there, and a summary of {count} was proposed")));
        }
        Ok((count, last))
    }
}
