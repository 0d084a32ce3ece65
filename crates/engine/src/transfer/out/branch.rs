//! One line of a tree, read piece by piece: of the whole of it only the numbers of its rows are held.

use clotho_store::{PathFilter, StoreError, StoreReader, StoredNode, StoredSession};

/// So many messages are in memory at once.
const PIECE: usize = 32;

/// A line as it is at one moment.
pub struct ExportBranch {
    /// The session.
    pub stored: StoredSession,
    /// Its last node.
    pub leaf: StoredNode,
    rows: Vec<i64>,
}

/// A message of a line, and everything that was written in its place.
pub struct MessageWithSiblings {
    /// The message.
    pub own: StoredNode,
    /// It and its siblings, in the order in which they were made.
    pub all: Vec<StoredNode>,
}

impl ExportBranch {
    /// All messages, also those that are switched off.
    pub fn all_messages(
        reader: &mut StoreReader<'_>,
        held: &StoredSession,
        leaf: StoredNode,
    ) -> Result<Self, StoreError> {
        Self::of(reader, held, leaf, PathFilter::WithDisabled)
    }

    /// The messages that readers see.
    pub fn visible_messages(
        reader: &mut StoreReader<'_>,
        held: &StoredSession,
        leaf: StoredNode,
    ) -> Result<Self, StoreError> {
        Self::of(reader, held, leaf, PathFilter::Enabled)
    }

    fn of(
        reader: &mut StoreReader<'_>,
        held: &StoredSession,
        leaf: StoredNode,
        show: PathFilter,
    ) -> Result<Self, StoreError> {
        let rows = reader.line(&leaf, show)?;
        Ok(Self { stored: held.clone(), leaf, rows })
    }

    /// Hands the messages on in order, each by itself.
    pub fn messages<E: From<StoreError>>(
        &self,
        reader: &mut StoreReader<'_>,
        mut each: impl FnMut(&mut StoreReader<'_>, StoredNode) -> Result<(), E>,
    ) -> Result<(), E> {
        for rows in self.rows.chunks(PIECE) {
            for placed in reader.nodes_by_row(&self.stored, rows)? {
                each(reader, placed)?;
            }
        }
        Ok(())
    }

    /// The same with their siblings.
    pub fn told<E: From<StoreError>>(
        &self,
        reader: &mut StoreReader<'_>,
        mut each: impl FnMut(&mut StoreReader<'_>, MessageWithSiblings) -> Result<(), E>,
    ) -> Result<(), E> {
        for rows in self.rows.chunks(PIECE) {
            let placed = reader.nodes_by_row(&self.stored, rows)?;
            for one in reader.node_details(placed)? {
                let own = one.node;
                let all = match one.siblings.ids.len() {
                    0 | 1 => vec![own.clone()],
                    _ => reader.nodes(&self.stored, &one.siblings.ids)?,
                };
                each(reader, MessageWithSiblings { own, all })?;
            }
        }
        Ok(())
    }

    /// The moments of its first and its last message.
    pub fn span(
        &self,
        reader: &mut StoreReader<'_>,
    ) -> Result<Option<(clotho_core::clock::Time, clotho_core::clock::Time)>, StoreError> {
        let ends: Vec<i64> = self.rows.first().into_iter().chain(self.rows.last()).copied().collect();
        let found = reader.nodes_by_row(&self.stored, &ends)?;
        Ok(found.first().zip(found.last()).map(|(first, last)| (first.node.created, last.node.created)))
    }
}
