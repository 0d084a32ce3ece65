//! Statements that a connection prepares once and keeps. Diesel prepares every `UPDATE` and all hand-written SQL anew, since
//! it cannot know how many different texts there will be; whoever uses this knows that there are few.
//!
//! SQLite itself prepares a kept statement anew, unseen, whenever a plain `LIMIT ?` is bound: its planner has looked at the
//! number. So what is asked for all day ends in `LIMIT 0 + ?`, and one row is taken with `get_result`, since `first` adds
//! such a limit.

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
pub struct Prepared<Q>(Q);

/// Marks a question whose text is one of few.
pub fn prepared<Q>(query: Q) -> Prepared<Q> {
    Prepared(query)
}

impl<Q: QueryFragment<DB>, DB: Backend> QueryFragment<DB> for Prepared<Q> {
    fn walk_ast<'b>(&'b self, pass: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(pass)
    }

    fn is_safe_to_cache_prepared(&self, _: &DB) -> QueryResult<bool> {
        Ok(true)
    }
}

impl<Q> QueryId for Prepared<Q> {
    type QueryId = ();
    // Kept by its text, so that two texts of one type are never taken for each other.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q: Query> Query for Prepared<Q> {
    type SqlType = Q::SqlType;
}

impl<Q> RunQueryDsl<Conn> for Prepared<Q> {}

/// Other values for the rows that fit a condition.
#[must_use = "a statement does nothing until it is run"]
pub struct Update<F, C, W> {
    from: F,
    changes: C,
    condition: W,
}

/// `UPDATE table SET changes WHERE condition`.
pub fn update<T, C, W>(table: T, changes: C, condition: W) -> Update<T::FromClause, C::Changeset, W>
where
    T: QuerySource,
    C: AsChangeset<Target = T>,
    W: Expression<SqlType = Bool> + AppearsOnTable<T>,
{
    Update { from: table.from_clause(), changes: changes.as_changeset(), condition }
}

impl<F, C, W> Update<F, C, W> {
    /// Runs it; answers with how many rows fitted.
    ///
    /// # Errors
    /// The database fails.
    pub fn execute(self, conn: &mut Conn) -> QueryResult<usize>
    where
        Self: QueryFragment<<Conn as Connection>::Backend>,
    {
        conn.execute_returning_count(&self)
    }
}

impl<F, C, W, DB> QueryFragment<DB> for Update<F, C, W>
where
    F: QueryFragment<DB>,
    C: QueryFragment<DB>,
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

impl<F, C, W> QueryId for Update<F, C, W> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}
