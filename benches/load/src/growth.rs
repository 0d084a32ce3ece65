//! Sessions of several lengths, and whether a turn costs the same in each.

use std::time::Duration;

use super::Size;
use super::chats::{import_chat, wait_until_indexed};
use super::mock::Mock;
use super::player::Player;
use super::process::Usage;
use super::program::{Program, ServerFolder};
use super::table::{format_kilobytes, format_micros, format_ratio, median, print_header, print_row, quantile};

/// The prompt is full in all sessions, so that only the length of the session differs.
pub const CONTEXT: &str = "context_tokens = 2048\nreply_tokens = 256";
/// Turns that fill the prompt before the measurement.
const FILLING: usize = 60;
/// Turns of one session before the next takes its turn, so that other load on the machine affects all of them.
const BLOCK: usize = 20;

struct Line {
    message_count: usize,
    player: Player,
    times: Vec<Duration>,
    usage: Usage,
}

pub fn measure(size: Size) {
    let (sizes, blocks): (&[usize], usize) = size.pick((&[10, 1_000, 10_000, 100_000], 10), (&[10, 1_000], 2));
    super::block_on(async {
        let mock = Mock::start_immediate();
        let server_folder = ServerFolder::new(&mock, CONTEXT, "");
        let program = server_folder.start().await;
        let mut lines = Vec::new();
        for (number, &messages) in sizes.iter().enumerate() {
            let session = import_chat(&program, number, messages).await;
            let mut player = Player::join(program.address, &session).await;
            player.run_turns(FILLING).await;
            lines.push(Line { message_count: messages, player, times: Vec::new(), usage: Usage::NONE });
        }
        wait_until_indexed(&program).await;
        for _ in 0..blocks {
            for line in &mut lines {
                play_block(line, &program).await;
            }
        }
        report(&mut lines);
    });
}

async fn play_block(line: &mut Line, program: &Program<'_>) {
    let before = program.usage();
    line.times.extend(line.player.run_turns(BLOCK).await.iter().map(|one| one.completion_time));
    // Background work of a turn is part of its cost.
    wait_until_indexed(program).await;
    line.usage = line.usage.plus(program.usage().since(before));
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
    print_header("A turn, by the length of its session", &columns);
    let mut smallest = None;
    for line in lines {
        let (p50, count) = (median(&mut line.times), line.times.len());
        let cpu = line.usage.cpu_time / u32::try_from(count).unwrap();
        let (first, first_cpu) = *smallest.get_or_insert((p50, cpu));
        print_row(&[
            line.message_count.to_string(),
            count.to_string(),
            format_micros(p50),
            format_micros(quantile(&mut line.times, 99)),
            format_ratio(p50, first),
            format_micros(cpu),
            format_ratio(cpu, first_cpu),
            format_kilobytes(line.usage.written_bytes, count),
            "<= 1.2".to_owned(),
        ]);
    }
}
