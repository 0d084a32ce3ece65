//! Statements that a connection prepares once and keeps. Diesel prepares every `UPDATE` and all hand-written SQL anew, since
//! it cannot know how many different texts there will be; whoever uses this knows that there are few.
//!
//! SQLite itself prepares a kept statement anew, unseen, whenever a plain `LIMIT ?` is bound: its planner has looked at the
//! number. So what is asked for all day ends in `LIMIT 0 + ?`, and one row is taken with `get_result`, since `first` adds
//! such a limit.

use std::marker::PhantomData;

use diesel::backend::Backend;
use diesel::connection::Connection;
use diesel::expression::{AppearsOnTable, Expression};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_source::QuerySource;
use diesel::sql_types::Bool;

use super::conn::Conn;

/// A question whose text is one of few. For questions only: diesel's `execute` goes by reference, and this mark is lost.
#[must_use = "a statement does nothing until it is run"]
pub struct PreparedQuery<Q>(Q);

/// Marks a question whose text is one of few.
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
    // Kept by its text, so that two texts of one type are never taken for each other.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q: Query> Query for PreparedQuery<Q> {
    type SqlType = Q::SqlType;
}

impl<Q> RunQueryDsl<Conn> for PreparedQuery<Q> {}

/// Other values for the rows that fit a condition.
#[must_use = "a statement does nothing until it is run"]
pub struct UpdateStatement<T: QuerySource, C: AsChangeset, W> {
    from: T::FromClause,
    changes: C::Changeset,
    condition: W,
}

/// `UPDATE table SET changes WHERE condition`.
pub fn update<T, C, W>(table: T, changes: C, condition: W) -> UpdateStatement<T, C, W>
where
    T: QuerySource,
    C: AsChangeset<Target = T>,
    W: Expression<SqlType = Bool> + AppearsOnTable<T>,
{
    UpdateStatement { from: table.from_clause(), changes: changes.as_changeset(), condition }
}

impl<T: QuerySource, C: AsChangeset, W> UpdateStatement<T, C, W> {
    /// Runs it; answers with how many rows fitted.
    ///
    /// # Errors
    /// The database fails.
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

/// Which update it is: that of these columns where this holds.
pub struct UpdateStatementId<T, C, W>(PhantomData<(T, C, W)>);

impl<T: QuerySource + QueryId, C: AsChangeset + QueryId, W: QueryId> QueryId for UpdateStatement<T, C, W> {
    type QueryId = UpdateStatementId<T::QueryId, C::QueryId, W::QueryId>;
    const HAS_STATIC_QUERY_ID: bool = T::HAS_STATIC_QUERY_ID && C::HAS_STATIC_QUERY_ID && W::HAS_STATIC_QUERY_ID;
}

/// The database that connections speak to.
pub type SqlDialect = <Conn as Connection>::Backend;

/// A row that is about to be written; [`insertable!`] says how.
pub struct InsertRow<'a, R>(pub &'a R);

/// Which insert it is: the one into this table.
pub struct InsertRowId<T>(PhantomData<T>);

/// Writes a row. Diesel's own `INSERT` comes to the same, after walking through its columns five times.
///
/// # Errors
/// The database fails.
pub fn insert<R>(conn: &mut Conn, row: &R) -> QueryResult<()>
where
    for<'a> InsertRow<'a, R>: QueryFragment<SqlDialect> + QueryId,
{
    conn.execute_returning_count(&InsertRow(row)).map(|_| ())
}

/// How a row is written: into which table, and its fields, each named like its column. One for each table.
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
