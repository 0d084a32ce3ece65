//! Unread replies: those that ended without HEAD. A reply is unread until HEAD is on it or below it.

use clotho_core::oplog::Effect;

use super::error::StoreError;
use super::stored::StoredSession;
use super::tx::Tx;

impl Tx<'_> {
    /// Returns the effects that mark nodes as read when HEAD moves. HEAD was never below an unread node, so a
    /// move that reaches one also changes the remembered child of its parent. No other nodes need to be checked.
    pub(super) fn mark_read_effects(
        &mut self,
        stored: &StoredSession,
        effects: &[Effect],
    ) -> Result<Vec<Effect>, StoreError> {
        if !effects.iter().any(|effect| matches!(effect, Effect::Head { .. })) {
            return Ok(Vec::new());
        }
        let passed = effects.iter().filter_map(|effect| match effect {
            Effect::Head { to, .. } | Effect::Remembered { to: Some(to), .. } => Some(*to),
            _ => None,
        });
        let mut seen: Vec<Effect> = Vec::new();
        for node in passed {
            let effect = Effect::Unread { node, to: false };
            if self.logged_row(stored, node)?.is_unread && !seen.contains(&effect) {
                seen.push(effect);
            }
        }
        Ok(seen)
    }
}
