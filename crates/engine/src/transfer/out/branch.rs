//! One branch of a tree, read in batches. Only its row numbers are in memory as a whole.

use clotho_store::{PathFilter, StoreError, StoreReader, StoredNode, StoredSession};

/// Messages in memory at once.
const PIECE: usize = 32;

/// A branch, as read at one moment.
pub struct ExportBranch {
    pub stored: StoredSession,
    pub leaf: StoredNode,
    rows: Vec<i64>,
}

/// A message of a branch with its siblings.
pub struct MessageWithSiblings {
    pub message: StoredNode,
    /// The message and its siblings, in order of creation.
    pub siblings: Vec<StoredNode>,
}

impl ExportBranch {
    /// Lists all messages, including disabled ones.
    pub fn all_messages(
        reader: &mut StoreReader<'_>,
        stored: &StoredSession,
        leaf: StoredNode,
    ) -> Result<Self, StoreError> {
        Self::read(reader, stored, leaf, PathFilter::WithDisabled)
    }

    /// Lists the enabled messages, which readers see.
    pub fn visible_messages(
        reader: &mut StoreReader<'_>,
        stored: &StoredSession,
        leaf: StoredNode,
    ) -> Result<Self, StoreError> {
        Self::read(reader, stored, leaf, PathFilter::Enabled)
    }

    fn read(
        reader: &mut StoreReader<'_>,
        stored_session: &StoredSession,
        leaf: StoredNode,
        show: PathFilter,
    ) -> Result<Self, StoreError> {
        let rows = reader.path_rows(&leaf, show)?;
        Ok(Self { stored: stored_session.clone(), leaf, rows })
    }

    /// Calls `each` for every message in order.
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

    /// Calls `each` for every message together with its siblings.
    pub fn messages_with_siblings<E: From<StoreError>>(
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
                each(reader, MessageWithSiblings { message: own, siblings: all })?;
            }
        }
        Ok(())
    }

    /// Returns the dates of the first and the last message.
    pub fn span(
        &self,
        reader: &mut StoreReader<'_>,
    ) -> Result<Option<(clotho_core::clock::Time, clotho_core::clock::Time)>, StoreError> {
        let ends: Vec<i64> = self.rows.first().into_iter().chain(self.rows.last()).copied().collect();
        let found = reader.nodes_by_row(&self.stored, &ends)?;
        Ok(found.first().zip(found.last()).map(|(first, last)| (first.node.created, last.node.created)))
    }
}
