//! The only file with SQLite-specific code: opening, pragmas, migrations, transactions and savepoints. The rest
//! of the store uses forms that also type-check against other databases.

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::{BigInt, Binary, Text};
use diesel::sqlite::{Sqlite, SqliteValue};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use super::error::StoreError;
use super::private_files;
use clotho_core::printable::Printable;

/// The connection type of the store.
pub type Conn = SqliteConnection;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

/// How long a statement waits for the lock of another process, in milliseconds.
const BUSY_MS: u32 = 5_000;

/// Opens the database for writing: creates it, migrates it and sets full durability. `max_pages` is a quota; a
/// larger database keeps its size.
///
/// # Errors
/// Returns an error if the file cannot be opened or written, if the disk is full, if a newer version wrote it, or if it
/// has a trigger or a view.
pub fn open_writer(path: &Path, max_pages: Option<u32>) -> Result<Conn, StoreError> {
    // If the file cannot be created, SQLite says why.
    let _ = private_files::create_file(path);
    let mut conn = open(path)?;
    check_writable(&mut conn)?;
    // Checked before any pragma, so that a newer database is left unchanged.
    refuse_newer(&mut conn)?;
    if let Some(object) = foreign_schema_objects(&mut conn)?.into_iter().next() {
        return Err(StoreError::ForeignSchema(object));
    }
    if let Some(pages) = max_pages {
        conn.batch_execute(&format!("PRAGMA max_page_count = {};", pages.max(1)))?;
    }
    enable_wal(&mut conn)?;
    conn.batch_execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")?;
    // Segments of replies and old keyframes are deleted long before a purge could ask for secure deletion. So
    // everything that is deleted is overwritten at once.
    conn.batch_execute("PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 2000; PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -8192;")?;
    conn.run_pending_migrations(MIGRATIONS).map_err(|error| migration_error(error.as_ref()))?;
    Ok(conn)
}

/// Opens the database for reading only.
///
/// # Errors
/// Returns an error if the file cannot be opened.
pub fn open_reader(path: &Path) -> Result<Conn, StoreError> {
    let mut conn = open(path)?;
    // The file is not mapped into memory: SQLite drops the whole mapping in the first read after each write of another
    // connection, which cost a tenth of a turn.
    conn.batch_execute("PRAGMA query_only = ON; PRAGMA cache_size = -4096;")?;
    Ok(conn)
}

/// Opens an existing database for reading only, also while others use it. It is not migrated; a database of an
/// older or newer program is refused.
///
/// # Errors
/// Returns an error if the file does not exist, or if its schema is not that of this program.
pub fn open_existing(path: &Path) -> Result<Conn, StoreError> {
    if !path.is_file() {
        return Err(StoreError::Open(format!("{} does not exist", path.display())));
    }
    let mut conn = open_reader(path)?;
    refuse_newer(&mut conn)?;
    match conn.has_pending_migration(MIGRATIONS) {
        Ok(false) => Ok(conn),
        Ok(true) => Err(StoreError::Open("an older version wrote it: start the server once".into())),
        Err(error) => Err(migration_error(error.as_ref())),
    }
}

/// Tries a write and rolls it back. A read-only database would open and fail only at the first write.
fn check_writable(conn: &mut Conn) -> Result<(), StoreError> {
    let written = conn.batch_execute("BEGIN IMMEDIATE; PRAGMA user_version = 1");
    rollback(conn);
    written.map_err(|error| match StoreError::from(error) {
        StoreError::Database(message) => StoreError::Open(message),
        other => other,
    })
}

fn open(path: &Path) -> Result<Conn, StoreError> {
    let text = path.to_str().ok_or_else(|| StoreError::Open(format!("{} is not UTF-8", path.display())))?;
    let mut conn = Conn::establish(text).map_err(|error| StoreError::Open(format!("{}: {error}", path.display())))?;
    // A schema from elsewhere may not call functions with side effects.
    conn.batch_execute(&format!("PRAGMA busy_timeout = {BUSY_MS}; PRAGMA trusted_schema = OFF;"))?;
    Ok(conn)
}

#[derive(QueryableByName)]
struct JournalModeRow {
    #[diesel(sql_type = Text)]
    journal_mode: String,
}

/// Enables the write-ahead log, which lets readers run beside a writer. If the file system does not support it,
/// SQLite says so only in the returned mode.
fn enable_wal(conn: &mut Conn) -> Result<(), StoreError> {
    let mode: JournalModeRow = diesel::sql_query("PRAGMA journal_mode = WAL").get_result(conn)?;
    if mode.journal_mode == "wal" {
        return Ok(());
    }
    let message =
        format!("the write-ahead log is not available, only \"{}\": use a local file system", mode.journal_mode);
    Err(StoreError::Open(message))
}

/// Refuses a database with an unknown migration, because a newer program wrote it and this one could destroy its
/// data.
pub fn refuse_newer(conn: &mut Conn) -> Result<(), StoreError> {
    let applied = match conn.applied_migrations() {
        Ok(applied) => applied,
        Err(error) => return Err(migration_error(error.as_ref())),
    };
    let migrations = diesel::migration::MigrationSource::<diesel::sqlite::Sqlite>::migrations(&MIGRATIONS)
        .map_err(|error| StoreError::Open(error.to_string()))?;
    let is_known = |version: &str| migrations.iter().any(|migration| migration.name().version().to_string() == version);
    match applied.iter().map(ToString::to_string).find(|version| !is_known(version)) {
        Some(version) => Err(StoreError::Newer(version)),
        None => Ok(()),
    }
}

/// Refuses a database with a pending migration, because a reader cannot migrate it.
///
/// # Errors
/// Returns an error if there is a pending migration.
pub fn refuse_older(conn: &mut Conn) -> Result<(), StoreError> {
    match conn.has_pending_migration(MIGRATIONS) {
        Ok(false) => Ok(()),
        Ok(true) => Err(StoreError::Open("an older version wrote it: start the server once".to_owned())),
        Err(error) => Err(migration_error(error.as_ref())),
    }
}

/// Recovers the cause from the message, because the migration harness boxes the database error.
fn migration_error(error: &(dyn std::error::Error + Send + Sync)) -> StoreError {
    let message = error.to_string();
    if message.contains("disk is full") {
        StoreError::Full
    } else if message.contains("readonly") {
        StoreError::ReadOnly
    } else {
        StoreError::Open(message)
    }
}

/// Copies the current state of the database into a file that does not exist yet or is empty.
///
/// # Errors
/// Returns an error if the disk is full or the database cannot be read.
pub fn copy_into(conn: &mut Conn, to: &Path) -> Result<(), StoreError> {
    let text = to.to_str().ok_or_else(|| StoreError::Open(format!("{} is not UTF-8", to.display())))?;
    // Only the copy is written; the source does not change.
    conn.batch_execute("PRAGMA query_only = OFF;")?;
    diesel::sql_query("VACUUM INTO $1").bind::<Text, _>(text).execute(conn)?;
    Ok(())
}

#[derive(QueryableByName)]
struct WalCheckpointRow {
    #[diesel(sql_type = BigInt)]
    busy: i64,
}

/// Moves the write-ahead log into the database file and truncates it. Returns `false` if a reader still uses it.
///
/// # Errors
/// Returns an error if the file is damaged or in use.
pub fn checkpoint_wal(path: &Path) -> Result<bool, StoreError> {
    let mut conn = open(path)?;
    // Writers wait for as long as this waits for readers, so the timeout is short.
    conn.batch_execute("PRAGMA busy_timeout = 250;")?;
    Ok(diesel::sql_query("PRAGMA wal_checkpoint(TRUNCATE)").get_result::<WalCheckpointRow>(&mut conn)?.busy == 0)
}

#[derive(QueryableByName)]
struct IntegrityRow {
    #[diesel(sql_type = Text)]
    integrity_check: String,
}

/// Returns what SQLite's integrity check finds, at most 20 faults.
///
/// # Errors
/// Returns an error if the file cannot be read at all.
pub fn integrity_errors(conn: &mut Conn) -> Result<Vec<String>, StoreError> {
    let found: Vec<IntegrityRow> = diesel::sql_query("PRAGMA integrity_check(20)").load(conn)?;
    Ok(found.into_iter().map(|fault| fault.integrity_check).filter(|words| words != "ok").collect())
}

#[derive(QueryableByName)]
struct CountRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

/// Returns whether this is a database of Clotho.
///
/// # Errors
/// Returns an error if the file is no database or cannot be read.
pub fn is_clotho_database(conn: &mut Conn) -> Result<bool, StoreError> {
    let ours = "SELECT COUNT(*) AS n FROM sqlite_master WHERE type = 'table' \
                AND name IN ('__diesel_schema_migrations', 'sessions', 'nodes', 'texts', 'operations')";
    Ok(diesel::sql_query(ours).get_result::<CountRow>(conn)?.n == 5)
}

#[derive(QueryableByName)]
struct SchemaObjectRow {
    #[diesel(sql_type = Text)]
    kind: String,
    #[diesel(sql_type = Text)]
    name: String,
}

/// Returns triggers and views, such as `trigger "t"`. This program makes none: they are of somebody else, and a trigger
/// runs with each write.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn foreign_schema_objects(conn: &mut Conn) -> Result<Vec<String>, StoreError> {
    let query = "SELECT type AS kind, name FROM sqlite_master WHERE type IN ('trigger', 'view') ORDER BY name LIMIT 20";
    let found: Vec<SchemaObjectRow> = diesel::sql_query(query).load(conn)?;
    Ok(found.into_iter().map(|object| format!("{} \"{}\"", object.kind, Printable(&object.name))).collect())
}

/// A row with a foreign key to a missing row.
#[derive(Debug, QueryableByName)]
pub struct DanglingRow {
    #[diesel(sql_type = Text)]
    pub table: String,
    /// The row number.
    #[diesel(sql_type = BigInt)]
    pub n: i64,
    /// The table of the missing row.
    #[diesel(sql_type = Text)]
    pub parent: String,
}

/// Returns rows with foreign keys to missing rows, at most 1,000.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn dangling_rows(conn: &mut Conn) -> Result<Vec<DanglingRow>, StoreError> {
    let query = "SELECT \"table\", rowid AS n, parent FROM pragma_foreign_key_check LIMIT 1000";
    Ok(diesel::sql_query(query).load(conn)?)
}

/// The size of a table, including its indexes.
#[derive(Debug, QueryableByName)]
pub struct TableSize {
    #[diesel(sql_type = Text)]
    pub name: String,
    /// The size in the file, in bytes.
    #[diesel(sql_type = BigInt)]
    pub bytes: i64,
}

/// Returns the size of every table, ordered by name.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn table_sizes(conn: &mut Conn) -> Result<Vec<TableSize>, StoreError> {
    let query = "SELECT m.tbl_name AS name, SUM(s.pgsize) AS bytes FROM dbstat s JOIN sqlite_master m ON m.name = s.name \
                 WHERE s.aggregate = TRUE GROUP BY m.tbl_name ORDER BY m.tbl_name";
    Ok(diesel::sql_query(query).load(conn)?)
}

/// Returns the number of rows of a table.
///
/// # Errors
/// Returns an error if the file cannot be read or has no such table.
pub fn row_count(conn: &mut Conn, table: &str) -> Result<i64, StoreError> {
    let query = format!("SELECT COUNT(*) AS n FROM \"{}\"", table.replace('"', "\"\""));
    Ok(diesel::sql_query(query).get_result::<CountRow>(conn)?.n)
}

/// Begins the transaction of a group of writes.
pub fn begin_write(conn: &mut Conn) -> Result<(), StoreError> {
    transaction_statement(conn, "BEGIN IMMEDIATE")
}

/// Begins a read: one snapshot until [`end_read`].
pub fn begin_read(conn: &mut Conn) -> Result<(), StoreError> {
    transaction_statement(conn, "BEGIN")
}

/// Ends a read.
pub fn end_read(conn: &mut Conn) {
    // A read has nothing to lose, so an error here does not matter to the next one.
    let _ = transaction_statement(conn, "ROLLBACK");
}

/// Commits the group, which makes it durable with one fsync.
pub fn commit(conn: &mut Conn) -> Result<(), StoreError> {
    transaction_statement(conn, "COMMIT")
}

/// Rolls the whole group back. On a full disk SQLite has already done so, which is no error.
pub fn rollback(conn: &mut Conn) {
    let _ = transaction_statement(conn, "ROLLBACK");
}

/// Sets a savepoint where one request of the group begins.
pub fn savepoint(conn: &mut Conn) -> Result<(), StoreError> {
    transaction_statement(conn, "SAVEPOINT request")
}

/// Releases the savepoint and keeps the changes of the request.
pub fn release(conn: &mut Conn) -> Result<(), StoreError> {
    transaction_statement(conn, "RELEASE request")
}

/// Rolls the changes of one request back.
pub fn rollback_to_savepoint(conn: &mut Conn) -> Result<(), StoreError> {
    transaction_statement(conn, "ROLLBACK TO request")?;
    release(conn)
}

fn transaction_statement(conn: &mut Conn, statement: &'static str) -> Result<(), StoreError> {
    conn.execute_returning_count(&TransactionStatement(statement))?;
    Ok(())
}

/// A statement that begins or ends a transaction or savepoint. Every read and write runs some, so this type lets
/// Diesel cache the prepared statements.
struct TransactionStatement(&'static str);

impl QueryFragment<Sqlite> for TransactionStatement {
    fn walk_ast<'b>(&'b self, mut pass: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        pass.push_sql(self.0);
        Ok(())
    }
}

impl QueryId for TransactionStatement {
    type QueryId = ();
    // Cached by the SQL text, because there are several statements.
    const HAS_STATIC_QUERY_ID: bool = false;
}

/// The 16 bytes of an id as stored in a row, without a heap allocation. `None` if the stored bytes are no id;
/// the code that parses the id finds out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, AsExpression, FromSqlRow)]
#[diesel(sql_type = Binary)]
pub struct IdBytes(Option<[u8; 16]>);

impl IdBytes {
    /// Wraps the bytes of an id.
    pub fn new(bytes: &[u8; 16]) -> Self {
        Self(Some(*bytes))
    }

    /// Returns the bytes; empty if they are no id.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], <[u8; 16]>::as_slice)
    }
}

impl FromSql<Binary, Sqlite> for IdBytes {
    fn from_sql(mut value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        Ok(Self(value.read_blob().try_into().ok()))
    }
}

impl ToSql<Binary, Sqlite> for IdBytes {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        <[u8] as ToSql<Binary, Sqlite>>::to_sql(self.bytes(), out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_write_on_connection_is_refused() {
        let mut conn = open(Path::new(":memory:")).unwrap();
        conn.batch_execute("CREATE TABLE kept (id INTEGER)").unwrap();
        let error = conn.batch_execute("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET name = 'x'").unwrap_err();
        assert!(error.to_string().contains("may not be modified"), "{error}");
    }
}
