//! A thousand replies that stream at once, each with somebody who watches; and a player beside a hundred of them.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::Size;
use super::mock::{Mock, Plan, WORD, whole, word};
use super::player::{Player, Socket, begin};
use super::process::{megabytes, usage};
use super::program::{House, Program};
use super::table::{head, median, micros, quantile, row};
use super::wire::{Wire, within};
use super::writers::{ask_directly, first_cells};

/// 50 words a second.
const PAUSE: Duration = Duration::from_millis(20);
/// So many connections make the sessions and ask for the replies.
const HANDS: usize = 16;

/// What came of one stream.
#[derive(Default)]
pub struct Heard {
    /// How long each word was on its way.
    pub delays: Vec<Duration>,
    pub text: String,
    /// Pieces in which it came.
    pub pieces: usize,
    /// Pieces that did not begin where the one before had ended.
    pub gaps: usize,
    /// Whether the reply that was kept in the end is the whole text.
    pub is_kept: bool,
}

impl Heard {
    /// Takes a piece whose words were sent by a stream of the mock.
    pub fn piece(&mut self, words: &str, mock: &Mock, stream: usize) {
        let from = self.text.len() / WORD;
        self.text.push_str(words);
        self.delays.extend((from..self.text.len() / WORD).map(|place| mock.age(stream, place)));
        self.pieces += 1;
    }

    /// Takes a frame of the session; whether it was the end of the reply.
    pub fn frame(&mut self, frame: &str, mock: &Mock, stream: usize, words: usize) -> bool {
        if frame.contains("\"node.content.updated\"") {
            let frame: Value = serde_json::from_str(frame).unwrap();
            self.gaps += usize::from(frame["offset"] != self.text.len());
            self.piece(frame["contentChunk"].as_str().unwrap(), mock, stream);
        }
        let is_end = frame.contains("\"node.completed\"");
        if is_end {
            let frame: Value = serde_json::from_str(frame).unwrap();
            self.is_kept = frame["node"]["content"] == whole(stream, words).as_str();
        }
        is_end
    }
}

pub fn figures(size: Size) {
    thousand(size);
    beside(size);
}

fn thousand(size: Size) {
    let streams = size.of(1_000, 50);
    let plan = || Plan { streams, words: size.of(1_000, 100), pause: PAUSE };
    head(
        &format!("{streams} streams of 50 words a second each"),
        &["", "words", "delivered", "texts whole", "words/s", "words a piece", "delay p50", "p99", "longest", "CPU", "memory at most", "limit"],
    );
    super::run(async {
        let mock = Mock::start(plan());
        let before = usage(std::process::id());
        let heard = read_directly(&mock, streams).await;
        let cpu = usage(std::process::id()).since(before).cpu;
        report("the model server read directly", &plan(), &heard, &mock, cpu, "", "");
    });
    super::run(async {
        let mock = Mock::start(plan());
        let house = House::new(&mock, "", "");
        let program = house.start().await;
        let idle = program.memory();
        let (sessions, watchers) = watched(&program, &mock, &plan()).await;
        program.forget_peak();
        let asked = Instant::now();
        ask(&program, &sessions).await;
        mock.until_running(streams).await;
        let (asking, before, own) = (asked.elapsed(), program.usage(), usage(std::process::id()));
        mock.open();
        let mut heard = Vec::new();
        for watcher in watchers {
            heard.push(watcher.await.unwrap());
        }
        let cpu = program.usage().since(before).cpu;
        let memory = program.memory();
        report("through Clotho", &plan(), &heard, &mock, cpu, &megabytes(memory.peak), "all, <= 400 MB");
        let took = mock.took().as_secs_f64();
        let drivers = usage(std::process::id()).since(own).cpu.as_secs_f64();
        println!("\nAsking for all of them took {:.1} s. Before there was anything the program held {} (limit 40 MB).", asking.as_secs_f64(), megabytes(idle.resident));
        println!("Model server and watchers took {:.2} of a core meanwhile.", drivers / took);
    });
}

fn report(name: &str, plan: &Plan, heard: &[Heard], mock: &Mock, cpu: Duration, memory: &str, limit: &str) {
    let expected = plan.streams * plan.words;
    let mut delays: Vec<Duration> = heard.iter().flat_map(|one| one.delays.iter().copied()).collect();
    let is_whole = |(stream, one): &(usize, &Heard)| one.text == whole(*stream, plan.words) && one.gaps == 0 && one.is_kept;
    let pieces: usize = heard.iter().map(|one| one.pieces).sum();
    let took = mock.took().as_secs_f64();
    row(&[
        name.to_owned(),
        expected.to_string(),
        delays.len().to_string(),
        format!("{} of {}", heard.iter().enumerate().filter(is_whole).count(), plan.streams),
        format!("{:.0}", expected as f64 / took),
        format!("{:.1}", delays.len() as f64 / pieces as f64),
        micros(median(&mut delays)),
        micros(quantile(&mut delays, 99)),
        micros(quantile(&mut delays, 100)),
        format!("{:.2} cores", cpu.as_secs_f64() / took),
        memory.to_owned(),
        limit.to_owned(),
    ]);
}

/// What a message says that asks for a stream.
pub fn wish(stream: usize) -> String {
    format!("Go on. [stream {stream}]")
}

/// Reads all streams from the model server, nothing in between.
async fn read_directly(mock: &Mock, streams: usize) -> Vec<Heard> {
    let mut heard: Vec<Heard> = Vec::new();
    let mut wires = Vec::new();
    for stream in 0..streams {
        let mut wire = Wire::open(mock.at).await;
        let body = serde_json::json!({"model": "mock", "stream": true, "messages": [{"role": "user", "content": wish(stream)}]});
        wire.send("POST /v1/chat/completions", "application/json", body.to_string().as_bytes()).await;
        wires.push(wire);
    }
    mock.until_running(streams).await;
    mock.open();
    let read = wires.into_iter().enumerate().map(|(stream, wire)| read_stream(stream, wire, mock));
    heard.extend(within("the end of all streams", futures_util::future::join_all(read)).await);
    heard
}

async fn read_stream(stream: usize, mut wire: Wire, mock: &Mock) -> Heard {
    let (mark, mut heard) = ("\"content\":\"", Heard::default());
    loop {
        let end = wire.until(b"\n\n\r\n").await;
        let event = wire.take(end);
        let event = String::from_utf8_lossy(&event);
        if event.contains("[DONE]") {
            heard.is_kept = true;
            return heard;
        }
        if let Some(at) = event.find(mark) {
            heard.piece(&event[at + mark.len()..at + mark.len() + WORD], mock, stream);
        }
    }
}

/// Sessions, and for each a watcher that is there before anything is said.
async fn watched(program: &Program<'_>, mock: &Mock, plan: &Plan) -> (Vec<String>, Vec<tokio::task::JoinHandle<Heard>>) {
    let (mut sessions, mut watchers) = (Vec::new(), Vec::new());
    let mut wire = Wire::open(program.at).await;
    for stream in 0..plan.streams {
        let session = begin(&mut wire).await;
        let mut socket = Socket::open(program.at, &session).await;
        let (mock, words) = (mock.clone(), plan.words);
        watchers.push(tokio::spawn(async move {
            let mut heard = Heard::default();
            while !heard.frame(&socket.frame().await, &mock, stream, words) {}
            heard
        }));
        sessions.push(session);
    }
    (sessions, watchers)
}

/// Asks for the replies of all sessions.
async fn ask(program: &Program<'_>, sessions: &[String]) {
    let at = program.at;
    let hands = (0..HANDS).map(|hand| {
        let own: Vec<(usize, String)> = sessions.iter().cloned().enumerate().skip(hand).step_by(HANDS).collect();
        tokio::spawn(async move {
            let mut wire = Wire::open(at).await;
            for (stream, session) in own {
                let leaf = wire.get(&format!("/api/sessions/{session}")).await["activeLeafId"].take();
                let body = serde_json::json!({"parentId": leaf, "content": wish(stream), "generate": true});
                wire.post(&format!("/api/chat/{session}/message"), &body).await;
            }
        })
    });
    for hand in hands.collect::<Vec<_>>() {
        hand.await.unwrap();
    }
}

/// The time to the first piece while a hundred others stream, the model server asked directly in turns.
fn beside(size: Size) {
    let plan = Plan { streams: 100, words: size.of(1_500, 150), pause: PAUSE };
    head(
        &format!("Time to the first piece of a reply beside {} streams", plan.streams),
        &["turns", "the model directly: p50", "p99", "through Clotho: p50", "p99", "added: p50", "p99"],
    );
    super::run(async {
        let mock = Mock::start(plan);
        let house = House::new(&mock, "", "");
        let program = house.start().await;
        let mut player = Player::begin(program.at, 4).await;
        player.turn().await;
        let (sessions, watchers) = watched(&program, &mock, mock.plan()).await;
        ask(&program, &sessions).await;
        mock.until_running(sessions.len()).await;
        mock.open();
        let (mut wire, prompt) = (Wire::open(mock.at).await, mock.newest());
        let (mut alone, mut through) = (Vec::new(), Vec::new());
        // Only while all of them stream.
        while mock.running() == sessions.len() {
            if through.len() % 20 == 19 {
                player = Player::begin(program.at, 4).await;
                player.turn().await;
            }
            alone.push(ask_directly(&mut wire, &prompt).await);
            through.push(player.turn().await.first);
        }
        let cells = [vec![through.len().to_string()], first_cells(&mut alone, &mut through)].concat();
        row(&cells);
        row(&["limit", "", "", "", "", "<= 2000 us", "<= 10000 us"].map(str::to_owned));
        for watcher in watchers {
            assert!(watcher.await.unwrap().is_kept, "a text is not whole");
        }
    });
}
