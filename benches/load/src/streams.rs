//! A thousand replies that stream at once, each with a watcher, and a player beside a hundred streams.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinHandle;

use super::Size;
use super::mock::{Mock, Plan, WORD, whole};
use super::player::{Player, Socket, begin};
use super::process::{Usage, megabytes, usage};
use super::program::{House, Program};
use super::table::{head, median, micros, quantile, row};
use super::wire::{Wire, within};
use super::writers::{ask_directly, first_cells};

/// 50 words a second.
const PAUSE: Duration = Duration::from_millis(20);
/// Connections that create the sessions and request the replies.
const HANDS: usize = 16;

/// The received data of one stream.
#[derive(Default)]
pub struct Heard {
    /// The delay of each word.
    pub delays: Vec<Duration>,
    pub text: String,
    /// Number of pieces.
    pub pieces: usize,
    /// Pieces that did not start at the end of the one before.
    pub gaps: usize,
    /// Whether the stored reply is the whole text.
    pub is_kept: bool,
}

impl Heard {
    /// Adds a piece with words of a stream of the mock.
    pub fn piece(&mut self, words: &str, mock: &Mock, stream: usize) {
        let from = self.text.len() / WORD;
        self.text.push_str(words);
        self.delays.extend((from..self.text.len() / WORD).map(|place| mock.age(stream, place)));
        self.pieces += 1;
    }

    /// Adds a frame of the session. Returns whether it was the end of the reply.
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

/// Measures few and many streams, to show when the machine is saturated.
fn thousand(size: Size) {
    let columns = [
        "50 words a second each",
        "words",
        "delivered",
        "texts whole",
        "words/s",
        "words a piece",
        "delay p50",
        "p99",
        "longest",
        "CPU",
        "CPU a word",
        "memory at most",
        "limit",
    ];
    head("Streams at once, each with a watcher", &columns);
    let mut remarks = Vec::new();
    for streams in size.of(vec![1, 8, 32, 250, 1_000], vec![10, 50]) {
        let plan = || Plan { streams, words: size.of(1_000, 100), pause: PAUSE };
        super::run(read_alone(plan()));
        super::run(async { remarks.push(read_through(plan()).await) });
    }
    remarks.iter().for_each(|remark| println!("\n{remark}"));
}

/// Measures the model server and this driver alone.
async fn read_alone(plan: Plan) {
    let mock = Mock::start(plan);
    let (before, begun) = (usage(std::process::id()), Instant::now());
    let heard = read_directly(&mock, mock.plan().streams).await;
    let cores = cores(usage(std::process::id()).since(before), begun.elapsed());
    report("read directly", &heard, &mock, cores, "", "");
}

async fn read_through(plan: Plan) -> String {
    let mock = Mock::start(plan);
    let house = House::new(&mock, "", "");
    let program = house.start().await;
    let idle = megabytes(program.memory().resident);
    let (sessions, watchers) = watched(&program, &mock).await;
    let streams = sessions.len();
    program.forget_peak();
    let asked = Instant::now();
    ask(&program, &sessions).await;
    mock.until_running(streams).await;
    let (asking, before, own) = (asked.elapsed().as_secs_f64(), program.usage(), usage(std::process::id()));
    mock.open();
    let (begun, mut heard) = (Instant::now(), Vec::new());
    for watcher in watchers {
        heard.push(watcher.await.unwrap());
    }
    let took = begun.elapsed();
    let driver = cores(usage(std::process::id()).since(own), took);
    let limit = if streams == 1_000 { "all, <= 400 MB" } else { "all" };
    let own = cores(program.usage().since(before), took);
    report("through Clotho", &heard, &mock, own, &megabytes(program.memory().peak), limit);
    format!(
        "{streams} streams: asking for all of them took {asking:.1} s; model server and watchers took {driver:.2} of a core; \
         the program held {idle} when it had started (limit 40 MB)."
    )
}

/// Returns the number of busy cores.
fn cores(used: Usage, time: Duration) -> f64 {
    used.cpu.as_secs_f64() / time.as_secs_f64()
}

fn report(name: &str, heard: &[Heard], mock: &Mock, cores: f64, memory: &str, limit: &str) {
    let plan = mock.plan();
    let expected = plan.streams * plan.words;
    let mut delays: Vec<Duration> = heard.iter().flat_map(|one| one.delays.iter().copied()).collect();
    let is_whole =
        |(stream, one): &(usize, &Heard)| one.text == whole(*stream, plan.words) && one.gaps == 0 && one.is_kept;
    let pieces: usize = heard.iter().map(|one| one.pieces).sum();
    let took = mock.took().as_secs_f64();
    row(&[
        format!("{} {name}", plan.streams),
        expected.to_string(),
        delays.len().to_string(),
        format!("{} of {}", heard.iter().enumerate().filter(is_whole).count(), plan.streams),
        format!("{:.0}", expected as f64 / took),
        format!("{:.1}", delays.len() as f64 / pieces as f64),
        micros(median(&mut delays)),
        micros(quantile(&mut delays, 99)),
        micros(quantile(&mut delays, 100)),
        format!("{cores:.3} cores"),
        micros(Duration::from_secs_f64(cores * took / expected as f64)),
        memory.to_owned(),
        limit.to_owned(),
    ]);
}

/// Returns the text of a message that asks for a stream.
pub fn wish(stream: usize) -> String {
    format!("Go on. [stream {stream}]")
}

/// Reads all streams directly from the model server.
async fn read_directly(mock: &Mock, streams: usize) -> Vec<Heard> {
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
    within("the end of all streams", futures_util::future::join_all(read)).await
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

/// Creates sessions, each with a watcher before anything happens.
async fn watched(program: &Program<'_>, mock: &Mock) -> (Vec<String>, Vec<JoinHandle<Heard>>) {
    let (plan, mut sessions, mut watchers) = (mock.plan(), Vec::new(), Vec::new());
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

/// Requests the replies of all sessions.
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

/// Measures the time to the first piece beside a hundred streams, alternating with direct requests to the model
/// server.
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
        let (sessions, watchers) = watched(&program, &mock).await;
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
