//! Costs of a prompt of 32 000 tokens, and how much of it a provider has read before: `cargo bench --bench prompt [--
//! MESSAGES]`.
//!
//! - The same prompt at the end of branches of 500, 5 000 and 50 000 messages. The whole program makes it without
//!   HTTP, alternating with the part that it cannot avoid: reading as many of the newest messages from the store.
//! - Sixty turns of a session that is longer than its prompt, over HTTP, with replies of a kilobyte. It counts the
//!   requests that begin with all messages of the one before.
//!
//! A number limits the messages, to check quickly that everything runs.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a bench that cannot go on stops, and its numbers are for reading"
)]

#[path = "../foundation/bare.rs"]
#[allow(dead_code, reason = "the other benches need more of it")]
mod bare;
#[path = "../../tests/it/support/mock_model/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests need more of it")]
mod mock_model;
#[path = "../foundation/player.rs"]
#[allow(dead_code, reason = "the other benches need more of it")]
mod player;
#[path = "../foundation/session.rs"]
#[allow(dead_code, reason = "the other benches need more of it")]
mod session;
#[path = "../foundation/table.rs"]
#[allow(dead_code, reason = "the other benches need more of it")]
mod table;

use std::sync::Arc;
use std::time::Duration;

use clotho::app::App;
use clotho_config::Config;
use clotho_core::clock::{IdGenerator, SystemClock};
use clotho_core::ids::{NodeId, SessionId};
use clotho_engine::turn::PreviewSpec;
use clotho_store::{PathFilter, StoreError};
use serde_json::{Map, Value};

use mock_model::{MockModel, Reply};
use player::{Player, Program};
use table::{format_micros, format_ratio, measure_time, median, print_header, print_row, quantile};

const DEPTHS: [usize; 3] = [500, 5_000, 50_000];
/// Tokens of context.
const CONTEXT: usize = 32_768;
const ROUNDS: usize = 101;
/// Turns played in a session that is longer than its prompt.
const TURNS: usize = 60;
/// Messages of 200 characters, more than fit.
const HISTORY: usize = 900;

fn main() {
    let wanted = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(usize::MAX);
    measure_by_depth(wanted);
    measure_shared_prefixes(HISTORY.min(wanted));
}

/// A branch of messages, and the program that serves it.
struct DeepBranch {
    app: App,
    session: SessionId,
    end: NodeId,
    runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

impl DeepBranch {
    fn new(depth: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bench = session::open(folder.path());
        let (session, root) = bench.create_session(10);
        let end = bench.append_nodes(session, root, depth);
        drop(bench);
        let text = format!(
            "[storage]\ndata_dir = {:?}\n[generation]\nmodel = \"mock/mock\"\ncontext_tokens = {CONTEXT}\n\
             [[providers]]\nid = \"mock\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\nmodels = [\"mock\"]\n",
            folder.path().display().to_string(),
        );
        let config = Config::load(None, Some(text), std::iter::empty()).unwrap();
        let app = App::build(config, Arc::new(SystemClock), Arc::new(IdGenerator::new(7))).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self { app, session, end, runtime, _folder: folder }
    }

    /// Makes a prompt. Returns the number of its messages and its size in bytes.
    fn build_prompt(&self) -> (usize, usize) {
        let content = Some("I look around the room.".to_owned());
        let asked =
            PreviewSpec { parent: self.end, content, model: None, params: Map::new(), preset: None, time_zone: None };
        let made = self.runtime.block_on(self.app.turns.prompts.preview(self.app.owner, self.session, asked)).unwrap();
        (made.history.len(), made.messages.iter().map(|message| message.text.len()).sum())
    }

    /// Reads the newest messages.
    fn read_messages(&self, count: usize) {
        let (owner, session, end) = (self.app.owner, self.session, self.end);
        let read = self.app.store.read::<_, StoreError, _>(move |reader| {
            let held = reader.session(owner, session)?.unwrap();
            reader.page(&held, end, None, i64::try_from(count).unwrap(), PathFilter::Enabled)
        });
        assert_eq!(self.runtime.block_on(read).unwrap().nodes.len(), count);
    }
}

fn measure_by_depth(most: usize) {
    print_header(
        &format!("A prompt of {CONTEXT} tokens, by the length of the line"),
        &[
            "messages",
            "in the prompt",
            "bytes",
            "p50",
            "p99",
            "limit",
            "p50 / shortest",
            "reading alone",
            "prompt / reading",
        ],
    );
    let mut shortest: Option<Duration> = None;
    for depth in DEPTHS.into_iter().filter(|depth| *depth <= most.max(DEPTHS[0])) {
        let deep = DeepBranch::new(depth);
        let (count, bytes) = deep.build_prompt();
        let (mut made, mut read) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            made.push(measure_time(|| assert_eq!(deep.build_prompt().0, count)));
            read.push(measure_time(|| deep.read_messages(count)));
        }
        let (half, alone) = (median(&mut made), median(&mut read));
        let first = *shortest.get_or_insert(half);
        print_row(&[
            depth.to_string(),
            count.to_string(),
            bytes.to_string(),
            format_micros(half),
            format_micros(quantile(&mut made, 99)),
            "<= 10000 us".to_owned(),
            format!("**{}**", format_ratio(half, first)),
            format_micros(alone),
            format_ratio(half, alone),
        ]);
        deep.app.close();
    }
}

/// Measures how many requests begin with the whole history of the one before.
fn measure_shared_prefixes(history: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (mut whole, mut shared) = (0, 0.0);
    runtime.block_on(async {
        let mock = MockModel::start().await;
        mock.set_default_reply(Reply::ok(["The lamp burns low, and nobody speaks. ".repeat(26).as_str()]));
        let program = Program::start_with(&mock, &format!("model = \"mock/mock-plain\"\ncontext_tokens = {CONTEXT}"));
        let mut player = Player::create(program.address, history).await;
        player.run_turn().await;
        let mut before = newest_request_history(&mock);
        for _ in 0..TURNS {
            player.run_turn().await;
            let now = newest_request_history(&mock);
            let same = before.iter().zip(&now).take_while(|(was, is)| was == is).count();
            whole += usize::from(same == before.len());
            shared += same as f64 / before.len() as f64;
            before = now;
        }
    });
    print_header(
        &format!("{TURNS} turns of a story of {history} messages and more, {CONTEXT} tokens"),
        &["requests that begin with all of the one before", "limit", "of the one before, on average"],
    );
    let percent = |part: f64| format!("{:.1} %", part * 100.0 / TURNS as f64);
    print_row(&[format!("**{}**", percent(whole as f64)), ">= 90 %".to_owned(), percent(shared)]);
}

/// Returns the messages of the newest request before the one that it answers.
fn newest_request_history(mock: &MockModel) -> Vec<Value> {
    let request = mock.requests().pop().unwrap();
    let mut messages = request["messages"].as_array().unwrap().clone();
    messages.pop();
    messages
}
