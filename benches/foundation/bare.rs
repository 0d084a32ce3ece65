//! The limit: the same schema and the same bytes, written and read by bare statements on a separate connection.

use std::ffi::{CString, c_int};
use std::path::Path;
use std::ptr;

use clotho_core::ids::NodeId;
use clotho_core::oplog::Effect;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::Sqlite;
use libsqlite3_sys as ffi;

const SCHEMA: &str = include_str!("../../migrations/sqlite/2026-11-21-000001_foundation/up.sql");

pub struct BareStore {
    pub conn: SqliteConnection,
    last_n: i64,
    /// The last node and operation of each session.
    session_ends: Vec<(i64, i64)>,
    delta_json: String,
    effects_json: String,
    keyframe_body: Vec<u8>,
}

/// Messages between two keyframes, as in `session.rs`.
const KEYFRAME_EVERY: i64 = 16;

diesel::table! { nodes (n) { n -> BigInt, id -> Binary, session_n -> BigInt, parent_n -> Nullable<BigInt>,
ordinal -> Integer, role -> SmallInt, kind -> SmallInt, status -> SmallInt, is_enabled -> Bool, is_muted -> Bool,
is_hidden -> Bool, begins_rules -> Bool, depth -> Integer, turn -> Integer, since_keyframe -> Integer, dice_seed -> BigInt,
revision -> Integer, created -> BigInt, remembered_n -> Nullable<BigInt>, } }
diesel::table! { texts (n) { n -> BigInt, content -> Text, metadata -> Text, } }
diesel::table! { deltas (n) { n -> BigInt, node_n -> BigInt, revision -> Integer, body -> Text, } }
diesel::table! { keyframes (node_n) { node_n -> BigInt, edits -> BigInt, body -> Binary, } }
diesel::table! { operations (n) { n -> BigInt, session_n -> BigInt, op -> BigInt, step -> BigInt, act -> Text,
at -> BigInt, effects -> Text, } }
diesel::table! { sessions (n) { n -> BigInt, head_n -> BigInt, op -> BigInt, head_op -> BigInt, edits -> BigInt, updated -> BigInt, } }

impl BareStore {
    pub fn open(folder: &Path, sessions: usize) -> Self {
        let mut conn = SqliteConnection::establish(folder.join("bare.db").to_str().unwrap()).unwrap();
        conn.batch_execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;").unwrap();
        conn.batch_execute("PRAGMA secure_delete = FAST; PRAGMA wal_autocheckpoint = 2000; PRAGMA cache_size = -8192;")
            .unwrap();
        conn.batch_execute(SCHEMA).unwrap();
        conn.batch_execute("INSERT INTO users VALUES (1, x'01', 'b', 'owner', 1);").unwrap();
        for n in 1..=sessions {
            conn.batch_execute(&format!(
                "INSERT INTO sessions VALUES ({n}, x'{n:08x}', 1, 't', '[]', NULL, 1, 1, 0, 0, 'tree', NULL, '{{}}', '[]', \
                 1, 0, 1, 1, NULL);"
            ))
            .unwrap();
        }
        let id = NodeId::new(uuid::Uuid::from_u128(u128::MAX));
        let (added, head) = (Effect::Added { node: id, parent: Some(id) }, Effect::Head { from: Some(id), to: id });
        let effects = [added, head, Effect::Remembered { node: id, from: None, to: Some(id) }];
        let effects: Vec<_> = effects.iter().map(Effect::to_json).collect();
        Self {
            conn,
            last_n: 0,
            session_ends: vec![(0, 0); sessions],
            delta_json: super::session::delta().to_json().to_string(),
            effects_json: serde_json::Value::Array(effects).to_string(),
            keyframe_body: keyframe_bytes(),
        }
    }

    pub fn begin(&mut self) {
        self.conn.batch_execute("BEGIN IMMEDIATE").unwrap();
    }

    pub fn commit(&mut self) {
        self.conn.batch_execute("COMMIT").unwrap();
    }

    /// Appends the rows of one message to a session: node, text, delta, a keyframe if one is due, remembered child,
    /// operation, session.
    pub fn append(&mut self, session: usize, text: &str) {
        self.last_n += 1;
        let (n, (parent, op)) = (self.last_n, self.session_ends[session]);
        let op = op + 1;
        self.session_ends[session] = (n, op);
        let session_n = i64::try_from(session).unwrap() + 1;
        let node = (
            (
                nodes::n.eq(n),
                nodes::id.eq(node_id_bytes(n)),
                nodes::session_n.eq(session_n),
                nodes::parent_n.eq(Some(parent)),
            ),
            (nodes::ordinal.eq(1), nodes::role.eq(1_i16), nodes::kind.eq(1_i16), nodes::status.eq(1_i16)),
            (nodes::is_enabled.eq(true), nodes::is_muted.eq(false), nodes::is_hidden.eq(false)),
            (nodes::depth.eq(1), nodes::turn.eq(1), nodes::since_keyframe.eq(1), nodes::dice_seed.eq(i64::MAX - n)),
            (nodes::begins_rules.eq(false), nodes::revision.eq(1), nodes::created.eq(1_i64)),
        );
        diesel::insert_into(nodes::table).values(node).execute(&mut self.conn).unwrap();
        let row = (texts::n.eq(n), texts::content.eq(text), texts::metadata.eq("{}"));
        diesel::insert_into(texts::table).values(row).execute(&mut self.conn).unwrap();
        let row = (deltas::n.eq(n), deltas::node_n.eq(n), deltas::revision.eq(1), deltas::body.eq(&self.delta_json));
        diesel::insert_into(deltas::table).values(row).execute(&mut self.conn).unwrap();
        if op % KEYFRAME_EVERY == 0 {
            let row = (keyframes::node_n.eq(n), keyframes::edits.eq(0_i64), keyframes::body.eq(&self.keyframe_body));
            diesel::insert_into(keyframes::table).values(row).execute(&mut self.conn).unwrap();
        }
        let seen = UpdateStatement(vec![("UPDATE nodes SET remembered_n = ", n), (" WHERE n = ", parent)]);
        seen.execute(&mut self.conn).unwrap();
        let row = (
            (operations::n.eq(n), operations::session_n.eq(session_n), operations::op.eq(op), operations::step.eq(op)),
            (operations::act.eq("message"), operations::at.eq(1_i64), operations::effects.eq(&self.effects_json)),
        );
        diesel::insert_into(operations::table).values(row).execute(&mut self.conn).unwrap();
        let set = [("UPDATE sessions SET head_n = ", n), (", op = ", op), (", head_op = ", op), (", updated = ", n)];
        let own = [(" WHERE n = ", session_n), (" AND op = ", op - 1)];
        UpdateStatement(set.into_iter().chain(own).collect()).execute(&mut self.conn).unwrap();
    }

    /// Runs the recursive query of a projection alone.
    pub fn query_projection(conn: &mut SqliteConnection, leaf: i64, limit: i64) -> usize {
        #[derive(QueryableByName)]
        struct Line {
            #[diesel(sql_type = Text)]
            content: String,
        }
        let rows: Vec<Line> = diesel::sql_query(
            "WITH RECURSIVE up (n, parent_n) AS (SELECT n, parent_n FROM nodes WHERE n = ? UNION ALL \
             SELECT p.n, p.parent_n FROM nodes p JOIN up ON p.n = up.parent_n) \
             SELECT t.content FROM up JOIN texts t ON t.n = up.n LIMIT ?",
        )
        .bind::<BigInt, _>(leaf)
        .bind::<BigInt, _>(limit)
        .load(conn)
        .unwrap();
        rows.iter().map(|row| row.content.len()).sum()
    }
}

/// The pragmas of a reading connection.
pub const READING: &str = "PRAGMA query_only = ON; PRAGMA cache_size = -4096; PRAGMA mmap_size = 268435456;";

/// Selects every column of the nodes of a page: any code that returns these nodes needs at least this.
const PAGE: &str = "WITH RECURSIVE up (n, parent_n) AS (SELECT n, parent_n FROM nodes WHERE n = ?1 UNION ALL \
     SELECT p.n, p.parent_n FROM nodes p JOIN up ON p.n = up.parent_n) \
     SELECT nodes.n, id, nodes.parent_n, role, kind, status, is_enabled, is_muted, author, persona, speaker, \
     remembered_n, rating, depth, turn, since_keyframe, dice_seed, created, is_unread, name, content, reasoning, \
     metadata \
     FROM up JOIN nodes ON nodes.n = up.n JOIN texts ON texts.n = up.n \
     WHERE status <> 0 AND kind NOT IN (0, 3) AND is_enabled LIMIT 0 + ?2";

/// Selects every column of an outline, in any order.
const OUTLINE: &str = "SELECT nodes.n, parent_n, depth, id, role, kind, status, is_enabled, is_muted, is_unread, \
     since_keyframe, substr(content, 1, 80) \
     FROM nodes JOIN texts ON texts.n = nodes.n WHERE session_n = ?1 AND NOT is_hidden";

/// One query through SQLite's C interface, without diesel. Each value is copied and kept.
pub struct RawQuery {
    db: *mut ffi::sqlite3,
    statement: *mut ffi::sqlite3_stmt,
}

/// A value copied from a row.
pub enum SqlValue {
    Null,
    Integer(i64),
    Bytes([u8; 16]),
    Text(String),
}

impl SqlValue {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Integer(number) => usize::from(*number != 0),
            Self::Bytes(bytes) => bytes.len(),
            Self::Text(text) => text.len(),
        }
    }
}

#[allow(unsafe_code, reason = "the limit is what the C library itself takes")]
impl RawQuery {
    /// Prepares the query of a page.
    pub fn prepare_page(path: &Path) -> Self {
        Self::open(path, PAGE)
    }

    /// Prepares the query of an outline.
    pub fn prepare_outline(path: &Path) -> Self {
        Self::open(path, OUTLINE)
    }

    fn open(path: &Path, sql: &str) -> Self {
        let path = CString::new(path.to_str().unwrap()).unwrap();
        let (pragmas, sql) = (CString::new(READING).unwrap(), CString::new(sql).unwrap());
        let mut plain = Self { db: ptr::null_mut(), statement: ptr::null_mut() };
        // SAFETY: the pointers come from SQLite, and both live as long as `self`.
        unsafe {
            assert_eq!(ffi::sqlite3_open(path.as_ptr(), &mut plain.db), ffi::SQLITE_OK);
            let none = ptr::null_mut();
            assert_eq!(ffi::sqlite3_exec(plain.db, pragmas.as_ptr(), None, none, ptr::null_mut()), ffi::SQLITE_OK);
            let rest = ptr::null_mut();
            let prepared = ffi::sqlite3_prepare_v2(plain.db, sql.as_ptr(), -1, &mut plain.statement, rest);
            assert_eq!(prepared, ffi::SQLITE_OK);
        }
        plain
    }

    /// Returns the rows for the bound values, each with `COLUMNS` columns.
    pub fn query_rows<const COLUMNS: usize>(&mut self, bound: &[i64]) -> Vec<[SqlValue; COLUMNS]> {
        let mut rows = Vec::new();
        // SAFETY: the statement is prepared, and a column is read before the next step.
        unsafe {
            for (at, value) in (1..).zip(bound) {
                assert_eq!(ffi::sqlite3_bind_int64(self.statement, at, *value), ffi::SQLITE_OK);
            }
            assert_eq!(ffi::sqlite3_column_count(self.statement), c_int::try_from(COLUMNS).unwrap());
            while ffi::sqlite3_step(self.statement) == ffi::SQLITE_ROW {
                rows.push(std::array::from_fn(|column| self.copy_column(column.try_into().unwrap())));
            }
            ffi::sqlite3_reset(self.statement);
        }
        rows
    }

    fn copy_column(&self, column: c_int) -> SqlValue {
        // SAFETY: this is the current row, and the memory behind the pointer is copied at once.
        unsafe {
            match ffi::sqlite3_column_type(self.statement, column) {
                ffi::SQLITE_INTEGER => SqlValue::Integer(ffi::sqlite3_column_int64(self.statement, column)),
                ffi::SQLITE_TEXT => {
                    let text = ffi::sqlite3_column_text(self.statement, column);
                    let bytes = ffi::sqlite3_column_bytes(self.statement, column);
                    let text = std::slice::from_raw_parts(text, usize::try_from(bytes).unwrap());
                    SqlValue::Text(std::str::from_utf8(text).unwrap().to_owned())
                }
                ffi::SQLITE_BLOB => {
                    let bytes = ffi::sqlite3_column_blob(self.statement, column).cast::<[u8; 16]>();
                    SqlValue::Bytes(*bytes)
                }
                _ => SqlValue::Null,
            }
        }
    }
}

impl Drop for RawQuery {
    #[allow(unsafe_code, reason = "what was opened in C is closed in C")]
    fn drop(&mut self) {
        // SAFETY: nothing uses either pointer any more.
        unsafe {
            ffi::sqlite3_finalize(self.statement);
            ffi::sqlite3_close(self.db);
        }
    }
}

/// Returns the size of a database in bytes, with its write-ahead log.
pub fn database_size(path: &Path) -> u64 {
    #[derive(QueryableByName)]
    struct Size {
        #[diesel(sql_type = BigInt)]
        bytes: i64,
    }
    let mut conn = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    let query = "SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size";
    diesel::sql_query(query).get_result::<Size>(&mut conn).unwrap().bytes.try_into().unwrap()
}

/// Returns the bytes of a keyframe of such a session: a checksum and the compressed world.
fn keyframe_bytes() -> Vec<u8> {
    let world = r#"{"world":{"vars":{"combat":{"variable_1":-100}},"lore":{},"summary":"","events":[]}}"#;
    [vec![0; 8], lz4_flex::compress_prepend_size(world.as_bytes())].concat()
}

fn node_id_bytes(n: i64) -> Vec<u8> {
    i128::from(n).to_be_bytes().to_vec()
}

/// Alternating text and numbers: a statement that diesel caches, unlike its own `UPDATE`.
struct UpdateStatement(Vec<(&'static str, i64)>);

impl QueryFragment<Sqlite> for UpdateStatement {
    fn walk_ast<'b>(&'b self, mut pass: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        for (text, number) in &self.0 {
            pass.push_sql(text);
            pass.push_bind_param::<BigInt, _>(number)?;
        }
        Ok(())
    }
}

impl QueryId for UpdateStatement {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl RunQueryDsl<SqliteConnection> for UpdateStatement {}
