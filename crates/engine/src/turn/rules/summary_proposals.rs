//! Summaries that plugins propose (`ctx.propose_summary`), prepared to be written with their node.

use clotho_core::ids::{NodeId, SummaryId};
use clotho_plugin::SummaryProposal;
use clotho_store::ProposedSummary;

use crate::turn::storage::TreeStorage;

/// Prepares the proposals of one node.
pub fn proposed_summaries(storage: &TreeStorage, proposed: Vec<(String, SummaryProposal)>) -> Vec<ProposedSummary> {
    proposed.into_iter().map(|(plugin, summary)| proposed_summary(storage, plugin, summary)).collect()
}

/// Prepares the proposals of several nodes.
pub fn proposed_summaries_at(
    storage: &TreeStorage,
    proposed: Vec<(NodeId, (String, SummaryProposal))>,
) -> Vec<(NodeId, ProposedSummary)> {
    let prepare = |(node, (plugin, summary))| (node, proposed_summary(storage, plugin, summary));
    proposed.into_iter().map(prepare).collect()
}

fn proposed_summary(storage: &TreeStorage, plugin: String, summary: SummaryProposal) -> ProposedSummary {
    let created = storage.clock.now();
    let turn = |turn: u64| i32::try_from(turn).unwrap_or(i32::MAX);
    ProposedSummary {
        id: SummaryId::new(storage.ids.next_id(created)),
        turns: turn(summary.first_turn())..=turn(summary.upto),
        plugin,
        content: summary.text,
        created,
    }
}
