//! The goal gate of team-loop: which sentences are accepted, what they become, what is missing in the others. No file, no model.

use crate::loops::{home, json_file};
use crate::workflows::seal_with;
use rsf::base::Timestamp;
use rsf::machine::prepare;
use serde_json::{Value, json};

fn gate(row: &Value) -> Result<Value, String> {
    let mut params = row["params"].as_object().cloned().unwrap_or_default();
    params.insert("goal".to_owned(), row["goal"].clone());
    let plan = seal_with("workflows/team-loop.json", params);
    let project = json!({"root": "/project", "name": "project"});
    let prepared = prepare(&plan, Timestamp(0), "seed", &project).map_err(|refusal| refusal.to_string())?;
    let shown = prepared.confirm.unwrap_or_default();
    for word in ["budget ¥", "never rewrites history", ".team-loop/STOP", "Two of three votes decide"] {
        assert!(shown.contains(word), "what a person confirms lacks “{word}”: {shown}");
    }
    Ok(Value::Object(prepared.params))
}

/// What of the row does not hold.
fn difference(row: &Value) -> Option<String> {
    let (goal, found) = (&row["goal"], gate(row));
    match (&found, row.get("becomes"), row["refused"].as_array()) {
        (Ok(params), Some(wanted), _) => {
            let number = |value: &Value| value.as_f64();
            let same = params["goal"] == wanted["goal"]
                && number(&params["budget_yuan"]) == number(&wanted["budget_yuan"])
                && number(&params["max_rounds"]) == number(&wanted["max_rounds"]);
            (!same).then(|| format!("{goal} became {params}"))
        }
        (Err(why), None, Some(words)) => {
            let lacking: Vec<&str> = words.iter().filter_map(Value::as_str).filter(|word| !why.contains(word)).collect();
            (!lacking.is_empty()).then(|| format!("{goal}: {lacking:?} not in “{why}”"))
        }
        _ => Some(format!("{goal}: {found:?}")),
    }
}

#[test]
fn goals_are_accepted_or_refused_with_what_is_missing() {
    let all = json_file(&home().join("tests/cases/loop/goals.json"));
    let rows = all["rows"].as_array().expect("rows");
    assert!(rows.len() > 40);
    let wrong: Vec<String> = rows.iter().filter_map(difference).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
