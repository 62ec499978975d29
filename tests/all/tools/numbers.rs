//! The tool sequence.

use super::desk::Desk;
use rsf::world::Cancel;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn numbers_are_given_once_and_survive() {
    let desk = Desk::new();
    let call = desk.request("sequence", json!({ "name": "kr" }));
    assert_eq!(desk.send(call.clone()).await.unwrap()["value"], 1);
    assert_eq!(desk.send(call).await.unwrap()["value"], 1, "the same key gets the same number");
    assert_eq!(desk.call("sequence", json!({ "name": "other" })).await["value"], 1);
    let mut tasks = Vec::new();
    for _ in 0..20 {
        let (registry, call) = (desk.registry.clone(), desk.request("sequence", json!({ "name": "kr" })));
        tasks.push(tokio::spawn(async move { registry.call(call, Cancel::new()).await.unwrap()["value"].as_u64().unwrap() }));
    }
    let mut drawn = Vec::new();
    for task in tasks {
        drawn.push(task.await.unwrap());
    }
    drawn.sort_unstable();
    assert_eq!(drawn, (2..=21).collect::<Vec<_>>());
    desk.put(".rsf/sequences.json", b"{ torn");
    assert!(desk.fault("sequence", json!({ "name": "kr" })).await.1.contains("damaged"), "never counted from the beginning in silence");
}
