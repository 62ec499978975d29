//! Shapes of options and expectations that are refused, and why. Whole behaviour is tested from outside, with sessions.

use super::*;
use serde_json::json;

#[test]
fn options_that_cannot_be_used_are_named() {
    let given = json!({"catch_up": 1, "subagents": "apart", "keep_days": 40, "catchup": true, "constraint": 3, "keep_after_end": true});
    let (options, faults) = Options::read(given.as_object().expect("an object"));
    let keys: Vec<&str> = faults.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["catch_up", "catchup", "constraint"]);
    assert!(faults[1].1.contains("did you mean `catch_up`"), "{faults:?}");
    assert!(options.catch_up && options.keep_days == 40 && options.keep_after_end);
}

#[test]
fn expectations_that_say_nothing_are_refused() {
    for faulty in [
        json!([]),
        json!({"call": []}),
        json!({"calls": {}}),
        json!({"calls": [{}]}),
        json!({"calls": [{"tool": []}]}),
        json!({"calls": [{"tool": "read", "with": {"path": "[a"}}]}),
        json!({"calls": [{"tool": "read", "with": {"path": 1}}]}),
        json!({"calls": [{"tool": "read", "succeeded": "yes"}]}),
        json!({"calls": [{"tool": "read", "args": {}}]}),
        json!({"no_repeat": "yes"}),
    ] {
        assert!(Expect::read(Some(&faulty)).is_err(), "{faulty}");
    }
    assert!(Expect::read(None).is_ok_and(|expect| expect.broken(None, &[]).is_empty()));
}
