//! Sessions of several lengths, and whether a turn costs the same in each.

use std::time::Duration;

use super::Size;
use super::chats::{indexed, take_in};
use super::mock::Mock;
use super::player::Player;
use super::process::Usage;
use super::program::{House, Program};
use super::table::{head, kilobytes, median, micros, quantile, ratio, row};

/// The prompt is full in all sessions, so that only the length of the session differs.
pub const CONTEXT: &str = "context_tokens = 2048\nreply_tokens = 256";
/// Turns that fill the prompt before the measurement.
const FILLING: usize = 60;
/// Turns of one session before the next takes its turn, so that other load on the machine affects all of them.
const BLOCK: usize = 20;

struct Line {
    messages: usize,
    player: Player,
    times: Vec<Duration>,
    used: Usage,
}

pub fn figures(size: Size) {
    let (sizes, blocks): (&[usize], usize) = size.of((&[10, 1_000, 10_000, 100_000], 10), (&[10, 1_000], 2));
    super::run(async {
        let mock = Mock::prompt();
        let house = House::new(&mock, CONTEXT, "");
        let program = house.start().await;
        let mut lines = Vec::new();
        for (number, &messages) in sizes.iter().enumerate() {
            let session = take_in(&program, number, messages).await;
            let mut player = Player::join(program.at, &session).await;
            player.turns(FILLING).await;
            lines.push(Line { messages, player, times: Vec::new(), used: Usage::NONE });
        }
        indexed(&program).await;
        for _ in 0..blocks {
            for line in &mut lines {
                block(line, &program).await;
            }
        }
        report(&mut lines);
    });
}

async fn block(line: &mut Line, program: &Program<'_>) {
    let before = program.usage();
    line.times.extend(line.player.turns(BLOCK).await.iter().map(|one| one.completed));
    // Background work of a turn is part of its cost.
    indexed(program).await;
    line.used = line.used.plus(program.usage().since(before));
}

fn report(lines: &mut [Line]) {
    let columns = [
        "messages",
        "turns",
        "p50",
        "p99",
        "p50 / smallest",
        "CPU a turn",
        "CPU / smallest",
        "to disk a turn",
        "limit",
    ];
    head("A turn, by the length of its session", &columns);
    let mut smallest = None;
    for line in lines {
        let (p50, count) = (median(&mut line.times), line.times.len());
        let cpu = line.used.cpu / u32::try_from(count).unwrap();
        let (first, first_cpu) = *smallest.get_or_insert((p50, cpu));
        row(&[
            line.messages.to_string(),
            count.to_string(),
            micros(p50),
            micros(quantile(&mut line.times, 99)),
            ratio(p50, first),
            micros(cpu),
            ratio(cpu, first_cpu),
            kilobytes(line.used.written, count),
            "<= 1.2".to_owned(),
        ]);
    }
}
