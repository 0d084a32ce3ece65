//! The one room that knows the dialect: opening, pragmas, migrations, transactions and savepoints. Everything else in the
//! store uses forms that also type-check against other databases.

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

/// The connection type of the store.
pub type Conn = SqliteConnection;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

/// How long a statement waits for another process's lock.
const BUSY_MS: u32 = 5_000;

/// Opens the database for writing: creates it, migrates it, sets full durability. `max_pages` is a quota; a database that
/// is larger already keeps its size.
///
/// # Errors
/// The file cannot be opened or written, is full, or was written by a newer version.
pub fn open_writer(path: &Path, max_pages: Option<u32>) -> Result<Conn, StoreError> {
    let mut conn = open(path)?;
    check_writable(&mut conn)?;
    // Before anything is set: what a newer version wrote is left as it is.
    refuse_newer(&mut conn)?;
    if let Some(pages) = max_pages {
        conn.batch_execute(&format!("PRAGMA max_page_count = {};", pages.max(1)))?;
    }
    enable_wal(&mut conn)?;
    conn.batch_execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")?;
    // What was saved of a reply in pieces, and worlds that were cut again, is deleted long before a purge could ask for it:
    // so whatever is deleted is overwritten, at once.
    conn.batch_execute("PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 2000; PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -8192;")?;
    conn.run_pending_migrations(MIGRATIONS).map_err(|error| migration_error(error.as_ref()))?;
    Ok(conn)
}

/// Opens the database for reading only.
///
/// # Errors
/// The file cannot be opened.
pub fn open_reader(path: &Path) -> Result<Conn, StoreError> {
    let mut conn = open(path)?;
    conn.batch_execute("PRAGMA query_only = ON; PRAGMA cache_size = -4096; PRAGMA mmap_size = 268435456;")?;
    Ok(conn)
}

/// Opens a database that is there, for reading only, whoever else uses it. It is not migrated: one that an older program
/// made is refused, as is that of a newer one.
///
/// # Errors
/// There is no such file, or its schema is not this program's.
pub fn open_existing(path: &Path) -> Result<Conn, StoreError> {
    if !path.is_file() {
        return Err(StoreError::Open(format!("{} is not there", path.display())));
    }
    let mut conn = open_reader(path)?;
    refuse_newer(&mut conn)?;
    match conn.has_pending_migration(MIGRATIONS) {
        Ok(false) => Ok(conn),
        Ok(true) => Err(StoreError::Open("an older version wrote it: start the server once".into())),
        Err(error) => Err(migration_error(error.as_ref())),
    }
}

/// A database that can only be read would open, and fail at the first write: so one is tried, and taken back.
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
    conn.batch_execute(&format!("PRAGMA busy_timeout = {BUSY_MS};"))?;
    Ok(conn)
}

#[derive(QueryableByName)]
struct JournalModeRow {
    #[diesel(sql_type = Text)]
    journal_mode: String,
}

/// Readers beside a writer need the write-ahead log; where the file system cannot have one, the database says so only in
/// its answer.
fn enable_wal(conn: &mut Conn) -> Result<(), StoreError> {
    let mode: JournalModeRow = diesel::sql_query("PRAGMA journal_mode = WAL").get_result(conn)?;
    if mode.journal_mode == "wal" {
        return Ok(());
    }
    let message = format!("no write-ahead log here, only \"{}\": a local file system is needed", mode.journal_mode);
    Err(StoreError::Open(message))
}

/// A migration that this program does not know was made by a newer one: going on could destroy what it means.
pub fn refuse_newer(conn: &mut Conn) -> Result<(), StoreError> {
    let applied = match conn.applied_migrations() {
        Ok(applied) => applied,
        Err(error) => return Err(migration_error(error.as_ref())),
    };
    let known = diesel::migration::MigrationSource::<diesel::sqlite::Sqlite>::migrations(&MIGRATIONS)
        .map_err(|error| StoreError::Open(error.to_string()))?;
    let is_known = |version: &str| known.iter().any(|migration| migration.name().version().to_string() == version);
    match applied.iter().map(ToString::to_string).find(|version| !is_known(version)) {
        Some(version) => Err(StoreError::Newer(version)),
        None => Ok(()),
    }
}

/// A migration that is still to be made: who only reads does not know such a database.
///
/// # Errors
/// There is one.
pub fn refuse_older(conn: &mut Conn) -> Result<(), StoreError> {
    match conn.has_pending_migration(MIGRATIONS) {
        Ok(false) => Ok(()),
        Ok(true) => Err(StoreError::Open("an older version wrote it: start the server once".to_owned())),
        Err(error) => Err(migration_error(error.as_ref())),
    }
}

/// The migration harness boxes the database's error; its sentence still says which it was.
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

/// Copies the database as it is at this moment into a file that is not there yet, or empty.
///
/// # Errors
/// The disk is full, or the database cannot be read.
pub fn copy_into(conn: &mut Conn, to: &Path) -> Result<(), StoreError> {
    let text = to.to_str().ok_or_else(|| StoreError::Open(format!("{} is not UTF-8", to.display())))?;
    // The database that is read stays as it is; the copy is what is written.
    conn.batch_execute("PRAGMA query_only = OFF;")?;
    diesel::sql_query("VACUUM INTO $1").bind::<Text, _>(text).execute(conn)?;
    Ok(())
}

#[derive(QueryableByName)]
struct WalCheckpointRow {
    #[diesel(sql_type = BigInt)]
    busy: i64,
}

/// Brings what is only in the write-ahead log into the database file, and empties the log; `false`: somebody reads in it.
///
/// # Errors
/// The file is damaged, or somebody uses it.
pub fn checkpoint_wal(path: &Path) -> Result<bool, StoreError> {
    let mut conn = open(path)?;
    // Whoever writes meanwhile waits as long as this waits for readers.
    conn.batch_execute("PRAGMA busy_timeout = 250;")?;
    Ok(diesel::sql_query("PRAGMA wal_checkpoint(TRUNCATE)").get_result::<WalCheckpointRow>(&mut conn)?.busy == 0)
}

#[derive(QueryableByName)]
struct IntegrityRow {
    #[diesel(sql_type = Text)]
    integrity_check: String,
}

/// What the database itself finds wrong with its file, at most twenty things.
///
/// # Errors
/// The file cannot be read at all.
pub fn integrity_errors(conn: &mut Conn) -> Result<Vec<String>, StoreError> {
    let found: Vec<IntegrityRow> = diesel::sql_query("PRAGMA integrity_check(20)").load(conn)?;
    Ok(found.into_iter().map(|fault| fault.integrity_check).filter(|words| words != "ok").collect())
}

#[derive(QueryableByName)]
struct CountRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

/// Whether it is a database of this program.
///
/// # Errors
/// The file is no database, or cannot be read.
pub fn is_clotho_database(conn: &mut Conn) -> Result<bool, StoreError> {
    let ours = "SELECT COUNT(*) AS n FROM sqlite_master WHERE type = 'table' \
                AND name IN ('__diesel_schema_migrations', 'sessions', 'nodes', 'texts', 'operations')";
    Ok(diesel::sql_query(ours).get_result::<CountRow>(conn)?.n == 5)
}

/// A row that points to one that is not there.
#[derive(Debug, QueryableByName)]
pub struct DanglingRow {
    /// The table.
    #[diesel(sql_type = Text)]
    pub table: String,
    /// The row.
    #[diesel(sql_type = BigInt)]
    pub n: i64,
    /// The table of what is not there.
    #[diesel(sql_type = Text)]
    pub parent: String,
}

/// The rows that point to rows that are not there, at most a thousand.
///
/// # Errors
/// The file cannot be read.
pub fn dangling_rows(conn: &mut Conn) -> Result<Vec<DanglingRow>, StoreError> {
    let query = "SELECT \"table\", rowid AS n, parent FROM pragma_foreign_key_check LIMIT 1000";
    Ok(diesel::sql_query(query).load(conn)?)
}

/// How much room a table takes, its indexes included.
#[derive(Debug, QueryableByName)]
pub struct TableSize {
    /// The table.
    #[diesel(sql_type = Text)]
    pub name: String,
    /// Bytes in the file.
    #[diesel(sql_type = BigInt)]
    pub bytes: i64,
}

/// The room of every table, by name.
///
/// # Errors
/// The file cannot be read.
pub fn table_sizes(conn: &mut Conn) -> Result<Vec<TableSize>, StoreError> {
    let query = "SELECT m.tbl_name AS name, SUM(s.pgsize) AS bytes FROM dbstat s JOIN sqlite_master m ON m.name = s.name \
                 WHERE s.aggregate = TRUE GROUP BY m.tbl_name ORDER BY m.tbl_name";
    Ok(diesel::sql_query(query).load(conn)?)
}

/// How many rows a table has.
///
/// # Errors
/// The file cannot be read, or has no such table.
pub fn rows(conn: &mut Conn, table: &str) -> Result<i64, StoreError> {
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
    // A read has nothing to lose: whatever this says, the next one begins afresh.
    let _ = transaction_statement(conn, "ROLLBACK");
}

/// Makes the group durable: one fsync.
pub fn commit(conn: &mut Conn) -> Result<(), StoreError> {
    transaction_statement(conn, "COMMIT")
}

/// Takes the whole group back. On a full disk the database has done so already, which is no error.
pub fn rollback(conn: &mut Conn) {
    let _ = transaction_statement(conn, "ROLLBACK");
}

/// Marks where one request of the group begins.
pub fn savepoint(conn: &mut Conn) -> Result<(), StoreError> {
    transaction_statement(conn, "SAVEPOINT request")
}

/// Keeps what one request did.
pub fn release(conn: &mut Conn) -> Result<(), StoreError> {
    transaction_statement(conn, "RELEASE request")
}

/// Takes back what one request did.
pub fn rollback_to_savepoint(conn: &mut Conn) -> Result<(), StoreError> {
    transaction_statement(conn, "ROLLBACK TO request")?;
    release(conn)
}

fn transaction_statement(conn: &mut Conn, statement: &'static str) -> Result<(), StoreError> {
    conn.execute_returning_count(&TransactionStatement(statement))?;
    Ok(())
}

/// Where a transaction, or a part of one, begins or ends. Each read and each write has some of them, so they are prepared once
/// and kept: nothing in them says that they must not be.
struct TransactionStatement(&'static str);

impl QueryFragment<Sqlite> for TransactionStatement {
    fn walk_ast<'b>(&'b self, mut pass: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        pass.push_sql(self.0);
        Ok(())
    }
}

impl QueryId for TransactionStatement {
    type QueryId = ();
    // Kept by its text: there are several.
    const HAS_STATIC_QUERY_ID: bool = false;
}

/// The sixteen bytes of an id as a row keeps them, without a place of their own in memory; or bytes that are no id, which
/// whoever reads them as one finds out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, AsExpression, FromSqlRow)]
#[diesel(sql_type = Binary)]
pub struct IdBytes(Option<[u8; 16]>);

impl IdBytes {
    /// The key of an id.
    pub fn of(bytes: &[u8; 16]) -> Self {
        Self(Some(*bytes))
    }

    /// Its bytes; none if they are no id.
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
