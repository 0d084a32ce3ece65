//! Searching while others write, and writing while others search.

use std::time::{Duration, Instant};

use super::Size;
use super::chats::{indexed, take_in};
use super::growth::CONTEXT;
use super::mock::Mock;
use super::player::Player;
use super::program::{House, Program};
use super::table::{head, median, micros, quantile, ratio, row};
use super::wire::Wire;

const WRITERS: usize = 16;
/// A rare word, a common one, two, a phrase, and the beginning of a word.
const QUERIES: [&str; 5] = ["mark42", "lantern", "harbour+evening", "%22the+fog%22", "whis*"];

/// Alone and together take turns: what else the machine does falls upon both.
const ROUNDS: u32 = 3;

pub fn figures(size: Size) {
    let (messages, each) = (size.of(50_000, 1_000), Duration::from_secs(size.of(15, 3)) / ROUNDS);
    super::run(async {
        let mock = Mock::prompt();
        let house = House::new(&mock, CONTEXT, "");
        let program = house.start().await;
        take_in(&program, 0, messages).await;
        indexed(&program).await;
        let mut wire = Wire::open(program.at).await;
        let (mut alone, mut written, mut beside, mut among) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            alone.extend(searches(&mut wire, each).await);
            written.extend(turns(begin(&program, WRITERS).await, each).await);
            // Stories that are as new, so that their prompts are as long.
            let players = begin(&program, WRITERS).await;
            let (turns, searches) = tokio::join!(turns(players, each), searches(&mut wire, each));
            beside.extend(turns);
            among.extend(searches);
        }
        let late = indexed(&program).await;
        let columns = ["", "alone", "p50", "p99", "both at once", "p50", "p99", "p50 / alone"];
        head(&format!("Searching {messages} messages beside {WRITERS} writers"), &columns);
        for (name, alone, among) in [("searches", &mut alone, &mut among), ("turns", &mut written, &mut beside)] {
            row(&[
                name.to_owned(),
                alone.len().to_string(),
                micros(median(alone)),
                micros(quantile(alone, 99)),
                among.len().to_string(),
                micros(median(among)),
                micros(quantile(among, 99)),
                ratio(median(among), median(alone)),
            ]);
        }
        println!("\nWhat was written last could be found {} later.", micros(late));
    });
}

/// Searches one after the other for so long.
async fn searches(wire: &mut Wire, each: Duration) -> Vec<Duration> {
    let (begun, mut times) = (Instant::now(), Vec::new());
    while begun.elapsed() < each {
        for query in QUERIES {
            let sent = Instant::now();
            let found = wire.get(&format!("/api/search?q={query}&limit=20")).await;
            times.push(sent.elapsed());
            let is_found = found["items"].as_array().is_some_and(|items| !items.is_empty());
            assert!(is_found, "nothing is found for {query}: {found}");
        }
    }
    times
}

/// Players, each of a new story.
pub async fn begin(program: &Program<'_>, count: usize) -> Vec<Player> {
    let mut players = Vec::new();
    for _ in 0..count {
        players.push(Player::begin(program.at, 4).await);
    }
    players
}

/// All play for so long; what their turns took.
pub async fn turns(players: Vec<Player>, each: Duration) -> Vec<Duration> {
    let begun = Instant::now();
    let play = async |mut player: Player| {
        let mut times = Vec::new();
        while begun.elapsed() < each {
            times.push(player.turn().await.completed);
        }
        times
    };
    futures_util::future::join_all(players.into_iter().map(play)).await.concat()
}
