//! Summaries that plugins propose (`ctx.propose_summary`), made ready to be written with the node at which they did.

use crate::ids::{NodeId, SummaryId};
use crate::plugin::Summary;
use crate::store::ProposedSummary;

use crate::turn::Parts;

/// The proposals of one node.
pub fn all(parts: &Parts, proposed: Vec<(String, Summary)>) -> Vec<ProposedSummary> {
    proposed.into_iter().map(|one| ready(parts, one)).collect()
}

/// The proposals of several nodes.
pub fn at_each(parts: &Parts, proposed: Vec<(NodeId, (String, Summary))>) -> Vec<(NodeId, ProposedSummary)> {
    proposed.into_iter().map(|(node, one)| (node, ready(parts, one))).collect()
}

fn ready(parts: &Parts, (plugin, summary): (String, Summary)) -> ProposedSummary {
    let created = parts.clock.now();
    let turn = |turn: u64| i32::try_from(turn).unwrap_or(i32::MAX);
    ProposedSummary {
        id: SummaryId::new(parts.ids.next(created)),
        turns: turn(summary.from())..=turn(summary.upto),
        plugin,
        content: summary.text,
        created,
    }
}
