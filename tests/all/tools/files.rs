//! The tools read, list, search, write and edit.

use super::desk::Desk;
use serde_json::json;
use std::fs;

#[tokio::test]
async fn reading_whole_parts_long_and_binary_files() {
    let desk = Desk::new();
    desk.put("five", b"1\n2\n3\n4\n5");
    let whole = desk.call("read", json!({ "path": "five" })).await;
    assert_eq!(whole, json!({ "path": "five", "text": "1\n2\n3\n4\n5", "lines": 5, "from": 1, "truncated": false }));
    let part = desk.call("read", json!({ "path": "five", "from": 2, "lines": 2 })).await;
    assert_eq!((&part["text"], &part["truncated"]), (&json!("2\n3\n"), &json!(true)));
    assert_eq!(desk.call("read", json!({ "path": "five", "from": 99 })).await["text"], "");
    desk.put("long", "ü".repeat(5000).as_bytes());
    let long = desk.call("read", json!({ "path": "long" })).await;
    assert!(long["truncated"] == true && long["text"].as_str().unwrap().len() <= 4000);
    desk.put("latin", b"caf\xe9\n");
    assert_eq!(desk.call("read", json!({ "path": "latin" })).await["text"], "caf\u{fffd}\n");
    desk.put("bin", b"\x7fELF\0\0");
    assert!(desk.fault("read", json!({ "path": "bin" })).await.1.contains("binary"));
    assert!(desk.fault("read", json!({ "path": "none" })).await.1.contains("no file"));
    desk.put("d/n\u{303}ame", b"");
    assert!(desk.fault("read", json!({ "path": "d/\u{f1}ame" })).await.1.contains("d/n\u{303}ame"), "the name that is there");
    let sparse = fs::File::create(desk.project.path().join("huge")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    assert!(desk.fault("read", json!({ "path": "huge" })).await.1.contains("larger"));
}

#[tokio::test]
async fn searching_skips_what_is_not_text_and_stops_at_its_bounds() {
    let desk = Desk::new();
    desk.put("bin", b"return\0");
    let found = desk.call("search", json!({ "pattern": "re.urn|assert", "glob": "**/*.py" })).await;
    assert_eq!(
        found["matches"],
        json!([
            { "path": "src/app.py", "line": 2, "text": "    return 1" },
            { "path": "tests/test_app.py", "line": 2, "text": "    assert 1" }
        ])
    );
    assert!(desk.call("search", json!({ "pattern": "return" })).await["matches"].as_array().unwrap().len() == 1);
    let cut = desk.call("search", json!({ "pattern": "def|assert|return", "max": 2 })).await;
    assert!(cut["truncated"] == true && cut["matches"].as_array().unwrap().len() == 2);
}

#[tokio::test]
async fn writing_and_editing() {
    let desk = Desk::new();
    assert_eq!(desk.call("write", json!({ "path": "n/e/w", "text": "é" })).await, json!({ "path": "n/e/w", "bytes": 2, "created": true }));
    assert_eq!(desk.call("write", json!({ "path": "n/e/w", "text": "" })).await["created"], false);
    desk.put("crlf", b"\xef\xbb\xbfa\r\nb\r\na\r\n");
    assert_eq!(desk.call("edit", json!({ "path": "crlf", "old": "a\nb\n", "new": "x\n" })).await["replaced"], 1);
    assert_eq!(desk.get("crlf"), b"\xef\xbb\xbfx\r\na\r\n");
    desk.put("twice", b"a a");
    assert!(desk.fault("edit", json!({ "path": "twice", "old": "a", "new": "b" })).await.1.contains("2 times"));
    assert_eq!(desk.call("edit", json!({ "path": "twice", "old": "a", "new": "b", "all": true })).await["replaced"], 2);
    assert!(desk.fault("edit", json!({ "path": "twice", "old": "a", "new": "b" })).await.1.contains("does not occur"));
    assert!(desk.fault("edit", json!({ "path": "none", "old": "a", "new": "b" })).await.1.contains("no file"));
}

#[tokio::test]
async fn an_edit_made_again_after_a_crash_gives_its_answer() {
    let desk = Desk::new();
    desk.put("f", b"one");
    let call = desk.request("edit", json!({ "path": "f", "old": "one", "new": "two" }));
    let first = desk.send(call.clone()).await.unwrap();
    assert_eq!(desk.send(call.clone()).await.unwrap(), first);
    assert_eq!(desk.get("f"), b"two");
    desk.put("f", b"one and one");
    assert!(desk.send(call).await.is_err(), "the file has changed since: no answer from memory");
}
