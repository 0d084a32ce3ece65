//! Statements that a connection prepares once and caches. Diesel does not cache `UPDATE`s and hand-written SQL,
//! because it cannot know how many different texts there are. Callers of this module know that there are few.
//!
//! SQLite silently prepares a cached statement again whenever a plain `LIMIT ?` is bound, because its planner
//! uses the number. So frequent queries end in `LIMIT 0 + ?`, and one row is read with `get_result`, since
//! `first` adds such a limit.

use std::marker::PhantomData;

use diesel::backend::Backend;
use diesel::connection::Connection;
use diesel::expression::{AppearsOnTable, Expression};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_source::QuerySource;
use diesel::sql_types::Bool;

use super::conn::Conn;

/// A query that has one of few SQL texts. For queries only: Diesel's `execute` takes a reference and loses this
/// marker.
#[must_use = "a statement has no effect before it runs"]
pub struct PreparedQuery<Q>(Q);

/// Marks a query as having one of few SQL texts.
pub fn prepared<Q>(query: Q) -> PreparedQuery<Q> {
    PreparedQuery(query)
}

impl<Q: QueryFragment<DB>, DB: Backend> QueryFragment<DB> for PreparedQuery<Q> {
    fn walk_ast<'b>(&'b self, pass: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(pass)
    }

    fn is_safe_to_cache_prepared(&self, _: &DB) -> QueryResult<bool> {
        Ok(true)
    }
}

impl<Q> QueryId for PreparedQuery<Q> {
    type QueryId = ();
    // Cached by its SQL text, so that two texts of one type are never confused.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q: Query> Query for PreparedQuery<Q> {
    type SqlType = Q::SqlType;
}

impl<Q> RunQueryDsl<Conn> for PreparedQuery<Q> {}

/// An `UPDATE` statement whose prepared form is cached.
#[must_use = "a statement has no effect before it runs"]
pub struct UpdateStatement<T: QuerySource, C: AsChangeset, W> {
    from: T::FromClause,
    changes: C::Changeset,
    condition: W,
}

/// Builds `UPDATE table SET changes WHERE condition`.
pub fn update<T, C, W>(table: T, changes: C, condition: W) -> UpdateStatement<T, C, W>
where
    T: QuerySource,
    C: AsChangeset<Target = T>,
    W: Expression<SqlType = Bool> + AppearsOnTable<T>,
{
    UpdateStatement { from: table.from_clause(), changes: changes.as_changeset(), condition }
}

impl<T: QuerySource, C: AsChangeset, W> UpdateStatement<T, C, W> {
    /// Runs the statement; returns the number of matching rows.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn execute(self, conn: &mut Conn) -> QueryResult<usize>
    where
        Self: QueryFragment<SqlDialect> + QueryId,
    {
        conn.execute_returning_count(&self)
    }
}

impl<T, C, W, DB> QueryFragment<DB> for UpdateStatement<T, C, W>
where
    T: QuerySource<FromClause: QueryFragment<DB>>,
    C: AsChangeset<Changeset: QueryFragment<DB>>,
    W: QueryFragment<DB>,
    DB: Backend,
{
    fn walk_ast<'b>(&'b self, mut pass: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        pass.push_sql("UPDATE ");
        self.from.walk_ast(pass.reborrow())?;
        pass.push_sql(" SET ");
        self.changes.walk_ast(pass.reborrow())?;
        pass.push_sql(" WHERE ");
        self.condition.walk_ast(pass)
    }
}

/// The cache key of an update: its table, columns and condition types.
pub struct UpdateStatementId<T, C, W>(PhantomData<(T, C, W)>);

impl<T: QuerySource + QueryId, C: AsChangeset + QueryId, W: QueryId> QueryId for UpdateStatement<T, C, W> {
    type QueryId = UpdateStatementId<T::QueryId, C::QueryId, W::QueryId>;
    const HAS_STATIC_QUERY_ID: bool = T::HAS_STATIC_QUERY_ID && C::HAS_STATIC_QUERY_ID && W::HAS_STATIC_QUERY_ID;
}

/// The backend of the connections.
pub type SqlDialect = <Conn as Connection>::Backend;

/// A row to insert; see [`insertable!`].
pub struct InsertRow<'a, R>(pub &'a R);

/// The cache key of an insert: its table.
pub struct InsertRowId<T>(PhantomData<T>);

/// Inserts a row. It does the same as Diesel's own `INSERT`, which walks through the columns five times.
///
/// # Errors
/// Returns an error if the database fails.
pub fn insert<R>(conn: &mut Conn, row: &R) -> QueryResult<()>
where
    for<'a> InsertRow<'a, R>: QueryFragment<SqlDialect> + QueryId,
{
    conn.execute_returning_count(&InsertRow(row)).map(|_| ())
}

/// Implements `InsertRow` for a row type: the table, and the fields, each named like its column. Used once for
/// each table.
macro_rules! insertable {
    ($row:ident $(<$life:lifetime>)?, $table:ident, $first:ident $(, $column:ident)* $(,)?) => {
        impl $(<$life>)? diesel::query_builder::QueryFragment<$crate::prepared::SqlDialect>
            for $crate::prepared::InsertRow<'_, $row $(<$life>)?>
        {
            fn walk_ast<'b>(
                &'b self,
                mut pass: diesel::query_builder::AstPass<'_, 'b, $crate::prepared::SqlDialect>,
            ) -> diesel::QueryResult<()> {
                pass.push_sql(concat!(
                    "INSERT INTO ", stringify!($table), " (", stringify!($first) $(, ", ", stringify!($column))*, ") VALUES ("
                ));
                pass.push_bind_param::<diesel::dsl::SqlTypeOf<$table::$first>, _>(&self.0.$first)?;
                $(
                    pass.push_sql(", ");
                    pass.push_bind_param::<diesel::dsl::SqlTypeOf<$table::$column>, _>(&self.0.$column)?;
                )*
                pass.push_sql(")");
                Ok(())
            }
        }

        impl $(<$life>)? diesel::query_builder::QueryId for $crate::prepared::InsertRow<'_, $row $(<$life>)?> {
            type QueryId = $crate::prepared::InsertRowId<$table::table>;
            const HAS_STATIC_QUERY_ID: bool = true;
        }
    };
}
pub(super) use insertable;
