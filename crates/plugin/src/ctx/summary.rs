//! `ctx.propose_summary`: proposes a summary of played turns. The host stores it beside its own when the message is
//! written.

use super::{Ctx, CtxSurface, RunningCall};
use crate::call::Hook;
use crate::convert::take_text;
use crate::error::ScriptErrorKind;
use crate::host_fault::{HostFault, RhaiThrow, throw, throw_limit};
use crate::limits::ScriptLimit;
use crate::permission::Permission;
use crate::summary::{MAX_CHARS, SummaryProposal};

const FUNCTION: &str = "propose_summary";

pub(super) fn register(surface: &mut CtxSurface<'_>) {
    surface.begin_group("Summaries");
    surface.function(
        FUNCTION,
        &["ctx: Ctx", "text: string", "turns: int", "()"],
        "Proposes a summary of the last turns. Prompts use it once these turns no longer fit. In on_answer it ends \
         at the asking message. Only in on_reply, on_edit and on_answer.",
        |ctx: &mut Ctx, text: &str, turns: i64| ctx.0.propose_summary(text, turns, None),
    );
    surface.function(
        FUNCTION,
        &["ctx: Ctx", "text: string", "turns: int", "upto: int", "()"],
        "Proposes the same, up to an earlier turn as ctx.node.turn counts it.",
        |ctx: &mut Ctx, text: &str, turns: i64, upto: i64| ctx.0.propose_summary(text, turns, Some(upto)),
    );
}

impl RunningCall {
    fn propose_summary(&self, text: &str, turns: i64, upto: Option<i64>) -> Result<(), RhaiThrow> {
        if !self.call.hook.may_write() {
            return Err(throw(ScriptErrorKind::Permission, format!("{FUNCTION}: this hook is read-only")));
        }
        if !matches!(self.call.hook, Hook::OnReply | Hook::OnEdit | Hook::OnAnswer) {
            let message = "only on_reply, on_edit and on_answer may propose a summary";
            return Err(throw(ScriptErrorKind::Runtime, format!("{FUNCTION}: {message}")));
        }
        self.require(FUNCTION, &Permission::TreeSummarise)?;
        let (turns, upto) = self.turn_range(turns, upto)?;
        let length = text.chars().count();
        if text.trim().is_empty() {
            return Err(throw(ScriptErrorKind::Runtime, format!("{FUNCTION}: the text is empty")));
        }
        if length > MAX_CHARS {
            let message =
                format!("{FUNCTION}: a summary has at most {MAX_CHARS} characters, and this one has {length}");
            return Err(throw(ScriptErrorKind::Runtime, message));
        }
        let text = take_text(text.trim(), &mut self.effects().bytes)
            .map_err(|error| HostFault::from(error).throw_in(FUNCTION))?;
        let mut done = self.effects();
        if done.summary.is_some() {
            return Err(throw_limit(
                ScriptLimit::Chatter,
                format!("{FUNCTION}: one hook call may propose one summary"),
            ));
        }
        done.summary = Some(SummaryProposal { text, turns, upto });
        Ok(())
    }

    /// Checks the range of turns: returns their number and the last turn.
    fn turn_range(&self, turns: i64, upto: Option<i64>) -> Result<(u64, u64), RhaiThrow> {
        let wrong = |message: String| throw(ScriptErrorKind::Runtime, format!("{FUNCTION}: {message}"));
        let now = self.call.node.turn;
        let last = match upto {
            None => self.call.answer.as_ref().map_or(now, |answer| answer.turn),
            Some(upto) => u64::try_from(upto).ok().filter(|upto| (1..=now).contains(upto)).ok_or_else(|| {
                wrong(format!("\"upto\" must be a turn of this branch, from 1 to {now} (ctx.node.turn), not {upto}"))
            })?,
        };
        let count = u64::try_from(turns).ok().filter(|turns| *turns > 0);
        let count = count.ok_or_else(|| wrong(format!("\"turns\" must be a whole number from 1, not {turns}")))?;
        if count > last {
            let there = if last == 1 { "is 1 turn".to_owned() } else { format!("are {last} turns") };
            return Err(wrong(format!("there {there} up to there, and a summary of {count} was proposed")));
        }
        Ok((count, last))
    }
}
