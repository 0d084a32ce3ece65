//! Runs (`docs/domain.md` 2.12, 2.13): messages that follow each other on one branch. Their nodes may be named in any
//! order. Change nodes between the messages belong to the run and need not be named.

use std::collections::HashSet;
use std::hash::Hash;

use super::edit::TreeError;
use super::{Kind, Status};

/// A node as the run checks see it. `I` identifies it, by id or by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunNode<I> {
    pub id: I,
    /// Edges from the root.
    pub depth: i32,
    pub kind: Kind,
    pub status: Status,
}

/// Returns the highest and the lowest of the named nodes.
///
/// # Errors
/// Returns an error if no node is named, one is the root, or one is still being generated.
pub fn run_ends<I: Copy>(named: &[RunNode<I>]) -> Result<(RunNode<I>, RunNode<I>), TreeError> {
    if named.iter().any(|member| member.status == Status::Generating) {
        return Err(TreeError::Generating);
    }
    if named.iter().any(|member| member.kind == Kind::Root) {
        return Err(invalid_run("the root has no text"));
    }
    let first = named.iter().min_by_key(|member| member.depth);
    let last = named.iter().max_by_key(|member| member.depth);
    match (first, last) {
        (Some(first), Some(last)) => Ok((*first, *last)),
        _ => Err(invalid_run("expected the messages of the run")),
    }
}

/// Checks that the named nodes, in any order, are the complete run on `line`, the path between the [`run_ends`].
///
/// # Errors
/// Returns an error if a node is not on the path or is named twice, or if a message of the path is missing.
pub fn check_contiguous<I: Copy + Eq + Hash>(named: &[RunNode<I>], line: &[RunNode<I>]) -> Result<(), TreeError> {
    let wanted: HashSet<I> = named.iter().map(|member| member.id).collect();
    let found = line.iter().filter(|member| wanted.contains(&member.id)).count();
    let none_left_out = line.iter().all(|member| wanted.contains(&member.id) || member.kind == Kind::Change);
    if found != named.len() || !none_left_out {
        return Err(invalid_run("expected consecutive messages of one branch, each named once"));
    }
    Ok(())
}

/// Checks that a run to summarize contains a message.
///
/// # Errors
/// Returns an error if it only has change nodes.
pub fn check_has_message<I>(line: &[RunNode<I>]) -> Result<(), TreeError> {
    if line.iter().all(|member| member.kind == Kind::Change) {
        return Err(invalid_run("none of these is a message"));
    }
    Ok(())
}

fn invalid_run(message: &str) -> TreeError {
    TreeError::Invalid { field: "nodeIds", message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_node(id: i32, kind: Kind) -> RunNode<i32> {
        RunNode { id, depth: id, kind, status: Status::Complete }
    }

    /// A branch 1 to 5, whose third node is a change node.
    fn test_branch() -> Vec<RunNode<i32>> {
        (1..=5).map(|n| run_node(n, if n == 3 { Kind::Change } else { Kind::Message })).collect()
    }

    fn is_contiguous_run(named: &[i32]) -> bool {
        let known = |n: &i32| test_branch().into_iter().find(|one| one.id == *n).unwrap_or(run_node(*n, Kind::Message));
        let named: Vec<RunNode<i32>> = named.iter().map(known).collect();
        let Ok((first, last)) = run_ends(&named) else { return false };
        let between: Vec<_> =
            test_branch().into_iter().filter(|one| (first.depth..=last.depth).contains(&one.depth)).collect();
        check_contiguous(&named, &between).is_ok()
    }

    /// Domain 2.12: the order of the names does not matter; gaps, nodes of other branches and repetitions are
    /// refused.
    #[test]
    fn message_run_any_order_is_accepted() {
        for well in [&[1, 2, 4][..], &[4, 1, 2], &[2, 3, 4], &[5], &[2, 3], &[3]] {
            assert!(is_contiguous_run(well), "{well:?}");
        }
        for bad in [&[][..], &[1, 4], &[1, 1], &[1, 2, 9]] {
            assert!(!is_contiguous_run(bad), "{bad:?}");
        }
    }

    /// Domain 2.12: a run without messages can be merged, but not summarized.
    #[test]
    fn message_run_without_messages_returns_error() {
        assert!(check_has_message(&[run_node(2, Kind::Message), run_node(3, Kind::Change)]).is_ok());
        assert!(check_has_message(&[run_node(3, Kind::Change)]).is_err());
    }

    #[test]
    fn message_run_generating_node_returns_error() {
        let writing = RunNode { status: Status::Generating, ..run_node(2, Kind::Message) };
        assert_eq!(run_ends(&[run_node(1, Kind::Message), writing]), Err(TreeError::Generating));
        assert!(run_ends(&[run_node(0, Kind::Root)]).is_err());
    }
}
