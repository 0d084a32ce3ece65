//! Idle watchers: what each costs, and how soon all of them receive an event.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::mpsc;

use super::Size;
use super::mock::Mock;
use super::player::{Socket, begin};
use super::process::megabytes;
use super::program::{House, Program};
use super::table::{head, median, micros, quantile, row};
use super::wire::{Wire, text};

/// Operations that all watchers receive, one after the other.
const OPERATIONS: usize = 10;

pub fn figures(size: Size) {
    super::run(async {
        let mock = Mock::prompt();
        let house = House::new(&mock, "", "");
        let program = house.start().await;
        let count = size.of(1_000, 50);
        // In half a minute each watcher receives one keep-alive.
        let rest = Duration::from_secs(size.of(30, 3));
        let mut wire = Wire::open(program.at).await;
        let session = begin(&mut wire).await;
        head(
            "WebSockets that wait",
            &["watchers", "memory", "of its own", "own memory a watcher", "CPU a second", "limit"],
        );
        let before = idle(&program, 0, rest, None, "<= 40 MB").await;
        let (told, mut heard) = mpsc::unbounded_channel();
        for _ in 0..count {
            let mut socket = Socket::open(program.at, &session).await;
            let told = told.clone();
            tokio::spawn(async move {
                while let Ok(moment) = within_life(&mut socket).await {
                    if told.send(moment).is_err() {
                        return;
                    }
                }
            });
        }
        idle(&program, count, rest, Some(before), "").await;
        head(
            "One operation, and when the watchers know it",
            &["watchers", "operations", "known", "p50", "p99", "the last one"],
        );
        let mut all = Vec::new();
        for _ in 0..OPERATIONS {
            let leaf = text(&wire.get(&format!("/api/sessions/{session}")).await["activeLeafId"]);
            let body = json!({"parentId": leaf, "content": "Somebody knocks."});
            let sent = Instant::now();
            wire.post(&format!("/api/chat/{session}/message"), &body).await;
            for _ in 0..count {
                let moment: Instant = super::wire::within("what everybody hears", heard.recv()).await.unwrap();
                all.push(moment - sent);
            }
        }
        let known = all.len().to_string();
        let times = [median(&mut all), quantile(&mut all, 99), quantile(&mut all, 100)].map(micros);
        row(&[&[count.to_string(), OPERATIONS.to_string(), known][..], &times].concat());
    });
}

/// Returns when the next message is received.
async fn within_life(socket: &mut Socket) -> Result<Instant, tokio::time::error::Elapsed> {
    let life = Duration::from_secs(600);
    tokio::time::timeout(life, socket.hear("\"node.created\"")).await.map(|_| Instant::now())
}

/// Prints the resources of the program while nothing happens. Returns its private memory in kilobytes.
async fn idle(program: &Program<'_>, watchers: usize, rest: Duration, before: Option<u64>, limit: &str) -> u64 {
    // Earlier work ends first.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let used = program.usage();
    tokio::time::sleep(rest).await;
    let cpu = program.usage().since(used).cpu.as_secs_f64() / rest.as_secs_f64();
    let memory = program.memory();
    let each = before.map(|before| memory.own.saturating_sub(before) as f64 / watchers as f64);
    row(&[
        watchers.to_string(),
        megabytes(memory.resident),
        megabytes(memory.own),
        each.map(|each| format!("{each:.1} kB")).unwrap_or_default(),
        format!("{:.1} ms", cpu * 1e3),
        limit.to_owned(),
    ]);
    memory.own
}
