//! Summaries that plugins propose (`ctx.propose_summary`), prepared to be written with their node.

use clotho_core::ids::{NodeId, SummaryId};
use clotho_plugin::SummaryProposal;
use clotho_store::ProposedSummary;

use crate::turn::TurnServices;

/// Prepares the proposals of one node.
pub fn all(parts: &TurnServices, proposed: Vec<(String, SummaryProposal)>) -> Vec<ProposedSummary> {
    proposed.into_iter().map(|one| proposed_summary(parts, one)).collect()
}

/// Prepares the proposals of several nodes.
pub fn proposed_summaries_at(
    parts: &TurnServices,
    proposed: Vec<(NodeId, (String, SummaryProposal))>,
) -> Vec<(NodeId, ProposedSummary)> {
    proposed.into_iter().map(|(node, one)| (node, proposed_summary(parts, one))).collect()
}

fn proposed_summary(parts: &TurnServices, (plugin, summary): (String, SummaryProposal)) -> ProposedSummary {
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
