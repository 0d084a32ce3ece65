//! Replies that ended where nobody looked. One is unread until HEAD stands on it or below.

use clotho_core::oplog::Effect;

use super::error::StoreError;
use super::stored::StoredSession;
use super::tx::Tx;

impl Tx<'_> {
    /// What effects show to whoever looks at HEAD. HEAD was never below an unread node, so that a move which gets there has
    /// the node above it remember it anew: nothing else on the way has to be looked at.
    pub(super) fn mark_read_effects(
        &mut self,
        held: &StoredSession,
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
            if self.logged_row(held, node)?.is_unread && !seen.contains(&effect) {
                seen.push(effect);
            }
        }
        Ok(seen)
    }
}
