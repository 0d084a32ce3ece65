//! Servers with a queue: a job is made, asked for again and again, and cancelled when nobody waits for it.

use super::*;

const SUBMIT: &str = "POST /api/v2/generate/text/async";
const JOB: &str = "/api/v2/generate/text/status/job-1";

/// Starts a mock with these answers about a job that it has accepted, and a client that asks without waiting.
async fn start_with_job(answers: impl IntoIterator<Item = Reply>) -> (MockModel, ProviderClient) {
    let mock = MockModel::start().await;
    mock.queue_reply(Reply::json(202, &json!({"id": "job-1", "kudos": 1.0})));
    answers.into_iter().for_each(|answer| mock.queue_reply(answer));
    let endpoint = Endpoint { poll_interval: Duration::from_millis(1), ..endpoint(&mock.root_url()) };
    let client = ProviderClient::new(ProviderKind::from_name("horde").unwrap(), endpoint);
    (mock, client)
}

fn queued(place: usize) -> Reply {
    Reply::json(
        200,
        &json!({"waiting": 1, "processing": 0, "done": false, "is_possible": true, "queue_position": place}),
    )
}

fn done(text: &str) -> Reply {
    Reply::json(200, &json!({"done": true, "finished": 1, "generations": [{"text": text, "model": "koboldcpp/M"}]}))
}

fn request_lines(mock: &MockModel) -> Vec<String> {
    mock.all_requests().into_iter().map(|seen| seen.request_line).collect()
}

/// The places in the queue are told in order, and the reply is cut at the stop string of the template.
#[tokio::test]
async fn queued_job_tells_its_place_and_gives_its_reply() {
    let running = Reply::json(200, &json!({"waiting": 0, "processing": 1, "done": false, "queue_position": 0}));
    let answers = [queued(3), queued(1), running, done("She waits.<|im_end|>\nAnn:")];
    let (mock, client) = start_with_job(answers).await;
    let mut stream = client.stream(&request(json!({"max_tokens": 20})));
    let mut places = Vec::new();
    let mut text = String::new();
    while let Some(frame) = stream.next().await {
        match frame.unwrap() {
            Frame::Queued { place } => places.push(place),
            Frame::Text(words) => text.push_str(&words),
            _ => {}
        }
    }
    assert_eq!((places, text.as_str()), (vec![3, 1, 0], "She waits."));
    let job = format!("GET {JOB}");
    assert_eq!(request_lines(&mock), [SUBMIT, &job, &job, &job, &job]);
    let sent = &mock.all_requests()[0];
    assert!(sent.headers.iter().any(|line| line == "apikey: 0000000000"), "{:?}", sent.headers);
    assert!(sent.headers.iter().any(|line| line.starts_with("client-agent: Clotho:")), "{:?}", sent.headers);
    assert_eq!((&sent.body["params"]["max_length"], &sent.body["models"]), (&json!(20), &json!(["mock"])));
}

/// A reply that nobody waits for any more is taken out of the queue.
#[tokio::test]
async fn dropped_job_is_cancelled_at_the_server() {
    let (mock, client) = start_with_job([queued(9), Reply::silent()]).await;
    let mut stream = client.stream(&request(json!({})));
    while !matches!(stream.next().await, Some(Ok(Frame::Queued { place: 9 }))) {}
    drop(stream);
    mock.wait_for_request_line(&format!("DELETE {JOB}")).await;
}

#[tokio::test]
async fn failed_job_returns_failure_with_reason() {
    for (answer, code, words) in [
        (json!({"faulted": true, "done": false}), "provider_failed", "failed on the worker"),
        (json!({"waiting": 1, "is_possible": false, "done": false}), "provider_failed", "no worker"),
    ] {
        let (_mock, client) = start_with_job([Reply::json(200, &answer)]).await;
        let failure = request_reply(&client).await.failure.unwrap();
        assert_eq!((failure.code(), failure.to_string().contains(words)), (code, true), "{failure}");
    }
    let (_mock, client) =
        start_with_job([Reply::json(404, &json!({"message": "Request with this ID not found."}))]).await;
    let failure = request_reply(&client).await.failure.unwrap();
    assert_eq!((failure.code(), failure.to_string().contains("not found")), ("provider_refused", true), "{failure}");
    let mock = MockModel::start().await;
    mock.queue_reply(Reply::json(202, &json!({"message": "come back"})));
    let client = ProviderClient::new(ProviderKind::from_name("horde").unwrap(), endpoint(&mock.root_url()));
    let failure = request_reply(&client).await.failure.unwrap();
    assert_eq!(failure.code(), "provider_garbled", "{failure}");
}

#[tokio::test]
async fn job_queue_models_are_listed() {
    let (_mock, client) = start_with_job([]).await;
    let models: Vec<String> = client.models().await.unwrap().into_iter().map(|model| model.id).collect();
    assert_eq!(models, ["mock"]);
}
