//! The limit: the same schema and the same bytes, written and read by bare statements on a connection of its own.

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

const SCHEMA: &str = include_str!("../../migrations/sqlite/2026-11-21-000001_foundation/up.sql");

pub struct Bare {
    pub conn: SqliteConnection,
    n: i64,
}

diesel::table! { nodes (n) { n -> BigInt, id -> Binary, session_n -> BigInt, parent_n -> Nullable<BigInt>,
ordinal -> Integer, role -> SmallInt, kind -> SmallInt, status -> SmallInt, is_enabled -> Bool, is_muted -> Bool,
is_hidden -> Bool, depth -> Integer, turn -> Integer, since_keyframe -> Integer, dice_seed -> BigInt,
revision -> Integer, created -> BigInt, remembered_n -> Nullable<BigInt>, } }
diesel::table! { texts (n) { n -> BigInt, content -> Text, metadata -> Text, } }
diesel::table! { deltas (n) { n -> BigInt, node_n -> BigInt, revision -> Integer, body -> Text, } }
diesel::table! { operations (n) { n -> BigInt, session_n -> BigInt, op -> BigInt, step -> BigInt, act -> Text,
at -> BigInt, effects -> Text, } }
diesel::table! { sessions (n) { n -> BigInt, head_n -> BigInt, op -> BigInt, updated -> BigInt, } }

impl Bare {
    pub fn open(folder: &Path) -> Self {
        let mut conn = SqliteConnection::establish(folder.join("bare.db").to_str().unwrap()).unwrap();
        conn.batch_execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;").unwrap();
        conn.batch_execute("PRAGMA secure_delete = FAST; PRAGMA wal_autocheckpoint = 2000; PRAGMA cache_size = -8192;")
            .unwrap();
        conn.batch_execute(SCHEMA).unwrap();
        conn.batch_execute(
            "INSERT INTO users VALUES (1, x'01', 'b', 'owner', 1); INSERT INTO sessions VALUES \
             (1, x'02', 1, 't', '[]', NULL, 1, 1, 0, 0, 'tree', NULL, '{}', '[]', 1, 0, 1, 1, NULL);",
        )
        .unwrap();
        Self { conn, n: 0 }
    }

    pub fn begin(&mut self) {
        self.conn.batch_execute("BEGIN IMMEDIATE").unwrap();
    }

    pub fn commit(&mut self) {
        self.conn.batch_execute("COMMIT").unwrap();
    }

    /// The rows of one appended message: node, text, delta, remembered child, operation, session.
    pub fn append(&mut self, text: &str) {
        self.n += 1;
        let n = self.n;
        let node = (
            (nodes::n.eq(n), nodes::id.eq(id(n)), nodes::session_n.eq(1_i64), nodes::parent_n.eq(Some(n - 1))),
            (nodes::ordinal.eq(1), nodes::role.eq(1_i16), nodes::kind.eq(1_i16), nodes::status.eq(1_i16)),
            (nodes::is_enabled.eq(true), nodes::is_muted.eq(false), nodes::is_hidden.eq(false)),
            (nodes::depth.eq(1), nodes::turn.eq(1), nodes::since_keyframe.eq(1), nodes::dice_seed.eq(n)),
            (nodes::revision.eq(1), nodes::created.eq(1_i64)),
        );
        diesel::insert_into(nodes::table).values(node).execute(&mut self.conn).unwrap();
        let row = (texts::n.eq(n), texts::content.eq(text), texts::metadata.eq("{}"));
        diesel::insert_into(texts::table).values(row).execute(&mut self.conn).unwrap();
        let body = super::session::delta().to_json().to_string();
        let row = (deltas::n.eq(n), deltas::node_n.eq(n), deltas::revision.eq(1), deltas::body.eq(body));
        diesel::insert_into(deltas::table).values(row).execute(&mut self.conn).unwrap();
        let seen = nodes::remembered_n.eq(Some(n));
        diesel::update(nodes::table.find(n - 1)).set(seen).execute(&mut self.conn).unwrap();
        let effects = format!("[{{\"added\":\"{:036}\",\"parent\":\"{:036}\"}},{{\"head\":\"{:036}\"}}]", n, n, n);
        let row = (
            (operations::n.eq(n), operations::session_n.eq(1_i64), operations::op.eq(n), operations::step.eq(n)),
            (operations::act.eq("message"), operations::at.eq(1_i64), operations::effects.eq(effects)),
        );
        diesel::insert_into(operations::table).values(row).execute(&mut self.conn).unwrap();
        let set = (sessions::head_n.eq(n), sessions::op.eq(n), sessions::updated.eq(n));
        diesel::update(sessions::table.find(1_i64)).set(set).execute(&mut self.conn).unwrap();
    }

    /// The recursive query of a projection alone.
    pub fn walk(conn: &mut SqliteConnection, leaf: i64, limit: i64) -> usize {
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

fn id(n: i64) -> Vec<u8> {
    i128::from(n).to_be_bytes().to_vec()
}
