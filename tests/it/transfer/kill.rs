//! The server is killed during an import.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::reliability::kill_recovery::ServerProcess;
use crate::support::archive_file::write_long_session;
use crate::support::client::HttpRequest;
use crate::support::mock_model::MockModel;
use crate::support::test_store::doctor_findings;
use crate::support::wait::wait_for_some;

async fn get_json(program: &ServerProcess, target: &str) -> Value {
    HttpRequest::new(program.address, "GET", target).send().await.expect(200)
}

/// Uploads a file and waits until `until` is true of the job.
pub async fn upload_and_wait_until(program: &ServerProcess, file: &[u8], until: impl Fn(&Value) -> bool) -> Value {
    let ask = HttpRequest::new(program.address, "POST", "/api/sessions/import").bytes(file, "application/zstd");
    let job = ask.send().await.expect(202)["jobId"].as_str().unwrap().to_owned();
    wait_for_some("the end of the job", async || {
        let told = get_json(program, &format!("/api/jobs/{job}")).await;
        until(&told).then_some(told)
    })
    .await
}

/// S4-04: after a kill during an import, its job says that it was interrupted and what to do, and nothing of the
/// session exists. The same file can be imported then, and its job can still be read after another kill.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn import_killed_is_reported_interrupted_and_leaves_nothing() {
    let (home, model) = (TempDir::new().unwrap(), MockModel::start().await);
    let start = || ServerProcess::start(home.path(), &model.base_url());
    let mut file = Vec::new();
    write_long_session(&mut file, 6_000, 200);
    let is_written = |job: &Value| {
        let (done, total) = (job["done"].as_u64().unwrap(), job["total"].as_u64().unwrap());
        job["state"] != "queued" && total > 0 && done * 10 > total * 6
    };
    let sessions =
        async |program: &ServerProcess| get_json(program, "/api/sessions").await["items"].as_array().unwrap().len();
    let (mut program, mut before) = (start(), 0);
    // The import may end before the kill: then the session exists, and the next kill hits the import of a copy.
    let told = loop {
        let job = upload_and_wait_until(&program, &file, is_written).await;
        drop(program);
        program = start();
        let told = get_json(&program, &format!("/api/jobs/{}", job["id"].as_str().unwrap())).await;
        if told["state"] != "done" {
            break told;
        }
        before += 1;
        assert!(before < 20 && sessions(&program).await == before, "{told}");
    };
    assert_eq!((&told["state"], &told["result"]), (&json!("interrupted"), &Value::Null), "{told}");
    assert_eq!(told["error"]["code"], "unavailable");
    assert!(told["error"]["hint"].as_str().unwrap().contains("send the file again"), "{told}");
    assert_eq!(sessions(&program).await, before);
    assert_eq!(get_json(&program, "/api/trash").await["items"], json!([]));

    let is_over = |job: &Value| !matches!(job["state"].as_str(), Some("queued" | "running"));
    let job = upload_and_wait_until(&program, &file, is_over).await;
    assert_eq!(job["state"], "done", "{job}");
    drop(program);
    let program = start();
    let told = get_json(&program, &format!("/api/jobs/{}", job["id"].as_str().unwrap())).await;
    assert_eq!((&told["state"], &told["result"]), (&json!("done"), &job["result"]), "{told}");
    let session = get_json(&program, &format!("/api/sessions/{}", job["result"]["sessionId"].as_str().unwrap())).await;
    assert_eq!(session["counts"]["nodes"], 6_000);
    drop(program);
    let found = doctor_findings(&home.path().join("data/clotho.db"), true);
    assert!(found.is_empty(), "{found:#?}");
}
