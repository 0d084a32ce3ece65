//! Idle watchers: what each costs, and how soon all of them receive an event.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::mpsc;

use super::Size;
use super::mock::Mock;
use super::player::{Socket, create_session};
use super::process::format_megabytes;
use super::program::{Program, ServerFolder};
use super::table::{format_micros, median, print_header, print_row, quantile};
use super::wire::{Wire, json_string};

/// Operations that all watchers receive, one after the other.
const OPERATIONS: usize = 10;

pub fn measure(size: Size) {
    super::block_on(async {
        let mock = Mock::start_immediate();
        let server_folder = ServerFolder::new(&mock, "", "");
        let program = server_folder.start().await;
        let count = size.pick(1_000, 50);
        // In half a minute each watcher receives one keep-alive.
        let rest = Duration::from_secs(size.pick(30, 3));
        let mut wire = Wire::open(program.address).await;
        let session = create_session(&mut wire).await;
        print_header(
            "WebSockets that wait",
            &["watchers", "memory", "of its own", "own memory a watcher", "CPU a second", "limit"],
        );
        let before = measure_idle(&program, 0, rest, None, "<= 40 MB").await;
        let (told, mut heard) = mpsc::unbounded_channel();
        for _ in 0..count {
            let mut socket = Socket::open(program.address, &session).await;
            let told = told.clone();
            tokio::spawn(async move {
                while let Ok(moment) = next_message_time(&mut socket).await {
                    if told.send(moment).is_err() {
                        return;
                    }
                }
            });
        }
        measure_idle(&program, count, rest, Some(before), "").await;
        print_header(
            "One operation, and when the watchers know it",
            &["watchers", "operations", "known", "p50", "p99", "the last one"],
        );
        let mut all = Vec::new();
        for _ in 0..OPERATIONS {
            let leaf = json_string(&wire.get(&format!("/api/sessions/{session}")).await["activeLeafId"]);
            let body = json!({"parentId": leaf, "content": "Somebody knocks."});
            let sent = Instant::now();
            wire.post(&format!("/api/chat/{session}/message"), &body).await;
            for _ in 0..count {
                let moment: Instant = super::wire::with_timeout("what everybody hears", heard.recv()).await.unwrap();
                all.push(moment - sent);
            }
        }
        let known = all.len().to_string();
        let times = [median(&mut all), quantile(&mut all, 99), quantile(&mut all, 100)].map(format_micros);
        print_row(&[&[count.to_string(), OPERATIONS.to_string(), known][..], &times].concat());
    });
}

/// Returns when the next message is received.
async fn next_message_time(socket: &mut Socket) -> Result<Instant, tokio::time::error::Elapsed> {
    let life = Duration::from_secs(600);
    tokio::time::timeout(life, socket.wait_for_frame("\"node.created\"")).await.map(|_| Instant::now())
}

/// Prints the resources of the program while nothing happens. Returns its private memory in kilobytes.
async fn measure_idle(program: &Program<'_>, watchers: usize, rest: Duration, before: Option<u64>, limit: &str) -> u64 {
    // Earlier work ends first.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let used = program.usage();
    tokio::time::sleep(rest).await;
    let cpu = program.usage().since(used).cpu_time.as_secs_f64() / rest.as_secs_f64();
    let memory = program.memory();
    let each = before.map(|before| memory.private_kb.saturating_sub(before) as f64 / watchers as f64);
    print_row(&[
        watchers.to_string(),
        format_megabytes(memory.resident_kb),
        format_megabytes(memory.private_kb),
        each.map(|each| format!("{each:.1} kB")).unwrap_or_default(),
        format!("{:.1} ms", cpu * 1e3),
        limit.to_owned(),
    ]);
    memory.private_kb
}
