//! What a session asks, tolerates and refuses. Holds no state; every test drives its own session.

use super::*;
use serde_json::json;

fn tool(name: &str) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: String::new(), parameters: json!({"type": "object", "required": ["path"]}) }
}

/// A session whose output must be an object with the boolean `passed`.
fn spec() -> SessionSpec {
    let check = |value: &Value| match value.get("passed") {
        Some(Value::Bool(_)) => Vec::new(),
        other => vec![format!("/passed: expected a boolean, got {}", other.unwrap_or(&Value::Null))],
    };
    SessionSpec {
        asker: Asker { role: "judge".into(), turn: 99, ..Asker::default() },
        session_id: "s1".into(),
        model: "m".into(),
        system: "be strict".into(),
        prompt: "judge".into(),
        tools: vec![tool("read"), tool("git_diff"), tool("ask_user")],
        output: OutputContract { schema: json!({"type": "object", "required": ["passed"]}), check: Arc::new(check) },
        max_turns: 10,
        max_repairs: 2,
        output_bytes: 60,
        governor: None,
    }
}

fn text(text: &str) -> Result<ModelReply, Failure> {
    let tokens = crate::agent::Tokens { input: 10, cached: 4, output: 3, estimated: false };
    Ok(ModelReply { text: Some(text.into()), tokens, model: "m-answering".into(), latency_ms: 5, ..ModelReply::default() })
}

fn calls(calls: &[(&str, &str, Value)]) -> Result<ModelReply, Failure> {
    let calls = calls.iter().map(|(id, name, arguments)| ToolCall { id: (*id).into(), name: (*name).into(), arguments: arguments.clone() });
    Ok(ModelReply { calls: calls.collect(), finish: Finish::ToolCalls, ..ModelReply::default() })
}

fn asked(next: Next) -> ModelRequest {
    match next {
        Next::Ask(request) => request,
        other => panic!("expected a question, got {other:?}"),
    }
}

fn last_text(request: &ModelRequest) -> &str {
    match request.messages.last() {
        Some(Message::User { text }) => text,
        Some(Message::Tool { content, .. }) => content,
        other => panic!("expected something said to the model, got {other:?}"),
    }
}

fn failed(next: &Next) -> (FailureKind, &str) {
    match next {
        Next::Failed(failure) => (failure.kind, &failure.message),
        other => panic!("expected a failure, got {other:?}"),
    }
}

#[test]
fn the_first_question_carries_what_was_given() {
    let request = asked(Session::new(spec()).start());
    assert_eq!((request.asker.turn, request.asker.role.as_str(), request.timeout_ms), (1, "judge", 0));
    assert_eq!((request.system.as_str(), request.model.as_str(), request.tools.len()), ("be strict", "m", 3));
    assert_eq!(*request.messages, vec![Message::User { text: "judge".into() }]);
    assert_eq!(request.output, spec().output.schema);
}

#[test]
fn an_accepted_output_ends_the_session() {
    let mut session = Session::new(spec());
    session.start();
    assert_eq!(session.model(text("```json\n{\"passed\": true}\n```")), Next::Done { output: json!({"passed": true}) });
    let record = session.record();
    assert_eq!((record.turns, record.model.as_str(), record.latency_ms), (1, "m-answering", 5));
    assert!(record.failures.is_empty());
    assert_eq!(failed(&session.model(text("{}"))).0, FailureKind::Crash);
}

#[test]
fn the_record_has_the_form_documents_read() {
    let mut session = Session::new(spec());
    session.start();
    session.model(calls(&[
        ("a", "git_diff", json!({"path": "x"})),
        ("b", "read", json!({"path": "x"})),
        ("c", "read", json!({"path": "y"})),
    ]));
    for _ in 0..3 {
        session.tool(Ok(json!(1)));
    }
    session.model(text("{\"passed\": false}"));
    let expected = json!({"id": "s1", "model": "m-answering", "turns": 2, "tools_used": ["git.diff", "read"], "tool_calls": 3, "failures": [],
        "latency_ms": 5, "tokens": {"input": 10, "cached": 4, "output": 3, "total": 13}, "risk_flags": []});
    assert_eq!(serde_json::to_value(session.record()).unwrap(), expected);
}

#[test]
fn calls_are_made_one_after_another_and_answered_in_order() {
    let mut session = Session::new(spec());
    session.start();
    let next = session.model(calls(&[("a", "read", json!({"path": "x"})), ("b", "git_diff", json!({"path": "y"}))]));
    assert!(matches!(&next, Next::Call { call } if call.id == "a" && call.arguments == json!({"path": "x"})), "{next:?}");
    let next = session.tool(Ok(json!({"text": "1"})));
    assert!(matches!(&next, Next::Call { call } if call.id == "b" && call.name == "git_diff"), "{next:?}");
    let request = asked(session.tool(Err(ToolError { kind: ToolErrorKind::Denied, message: "the role may not read git".into() })));
    let answers: Vec<_> = request.messages.iter().filter(|message| matches!(message, Message::Tool { .. })).cloned().collect();
    let answer = |call: &str, name: &str, content: &str| Message::Tool { call: call.into(), name: name.into(), content: content.into() };
    assert_eq!(answers, [answer("a", "read", "{\"text\":\"1\"}"), answer("b", "git_diff", "error: the role may not read git")]);
    assert_eq!(session.record().risk_flags, ["git.diff: the role may not read git"]);
    assert_eq!(session.record().failures, ["git.diff: the role may not read git"]);
}

#[test]
fn an_unknown_tool_is_answered_with_the_list_and_the_others_are_made() {
    let mut session = Session::new(SessionSpec { output_bytes: 1000, ..spec() });
    session.start();
    let next = session.model(calls(&[("a", "shell", json!({})), ("b", "read", json!({"path": "x"}))]));
    assert!(matches!(&next, Next::Call { call } if call.id == "b"), "{next:?}");
    let request = asked(session.tool(Ok(json!(null))));
    let first = request.messages.iter().find_map(|message| match message {
        Message::Tool { call, content, .. } if call == "a" => Some(content.clone()),
        _ => None,
    });
    let listed = "error: there is no tool `shell`; you have: read, git_diff, ask_user";
    assert_eq!(first.as_deref(), Some(listed));
    assert_eq!(session.record().failures, [&listed[7..]]);
    assert_eq!(session.record().tool_calls, 1);
}

#[test]
fn names_with_dots_or_stray_tags_are_understood_and_odd_ones_stay_out_of_the_history() {
    let mut session = Session::new(spec());
    session.start();
    let next = session.model(calls(&[
        ("a", "git.diff", json!({"path": "x"})),
        ("b", "read<|end|>", json!({"path": "x"})),
        ("c", "no such!", json!({})),
    ]));
    assert!(matches!(&next, Next::Call { call } if call.name == "git_diff"), "{next:?}");
    let next = session.tool(Ok(json!(1)));
    assert!(matches!(&next, Next::Call { call } if call.name == "read"), "{next:?}");
    let request = asked(session.tool(Ok(json!(1))));
    assert!(matches!(request.messages.last(), Some(Message::Tool { name, .. }) if name == "no_such_"));
}

#[test]
fn arguments_with_one_reading_are_repaired_and_marked() {
    for (written, marks) in [
        ("{\"path\": \"x\",}", 1),
        ("```json\n{\"path\": \"x\"}\n```", 0),
        ("\"{\\\"path\\\": \\\"x\\\"}\"", 0),
        ("{\"path\": \"x\"} // done", 1),
    ] {
        let mut session = Session::new(spec());
        session.start();
        let next = session.model(calls(&[("a", "read", json!(written))]));
        assert!(matches!(&next, Next::Call { call } if call.arguments == json!({"path": "x"})), "{written}: {next:?}");
        assert_eq!(session.record().failures.len(), marks, "{written}");
    }
}

#[test]
fn unreadable_arguments_never_become_a_call() {
    for (written, told) in [
        (json!("{'path': 'x'}"), "no JSON"),
        (json!("{\"path\": \"a\", \"path\": \"b\"}"), "given twice"),
        (json!("[1]"), "one JSON object"),
        (json!(7), "one JSON object"),
        (json!("{\"path\": \"src/a"), "cut off"),
        (json!(""), "`path` is missing"),
        (Value::Null, "`path` is missing"),
        (json!({}), "`path` is missing"),
    ] {
        let mut session = Session::new(SessionSpec { output_bytes: 1000, ..spec() });
        session.start();
        let request = asked(session.model(calls(&[("a", "read", written.clone())])));
        assert!(last_text(&request).contains(told), "{written}: {}", last_text(&request));
        assert_eq!((session.record().failures.len(), session.record().tool_calls), (1, 0));
    }
}

#[test]
fn nothing_is_taken_for_no_arguments_when_the_length_limit_cut_the_turn() {
    let mut session = Session::new(SessionSpec { output_bytes: 1000, ..spec() });
    session.start();
    let reply = calls(&[("a", "read", json!(""))]).map(|reply| ModelReply { finish: Finish::Length, ..reply });
    assert!(last_text(&asked(session.model(reply))).contains("cut off"));
}

#[test]
fn turns_without_a_usable_call_are_bounded() {
    let mut session = Session::new(spec());
    session.start();
    for _ in 0..2 {
        asked(session.model(calls(&[("a", "shell", json!({}))])));
    }
    let next = session.model(calls(&[("a", "shell", json!({}))]));
    assert_eq!(failed(&next).0, FailureKind::Schema);
    assert!(failed(&next).1.contains("no tool `shell`"));
}

#[test]
fn equal_and_missing_ids_become_unique() {
    let mut session = Session::new(spec());
    session.start();
    session.model(calls(&[
        ("same", "read", json!({"path": "x"})),
        ("same", "read", json!({"path": "y"})),
        ("", "read", json!({"path": "z"})),
    ]));
    session.tool(Ok(json!(1)));
    session.tool(Ok(json!(2)));
    let request = asked(session.tool(Ok(json!(3))));
    let answered: Vec<&str> = request
        .messages
        .iter()
        .filter_map(|message| if let Message::Tool { call, .. } = message { Some(call.as_str()) } else { None })
        .collect();
    let Some(Message::Assistant { calls, .. }) = request.messages.get(1) else { panic!("no assistant message") };
    assert_eq!(answered, calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>());
    assert_eq!(answered.iter().collect::<BTreeSet<_>>().len(), 3);
}

#[test]
fn long_tool_answers_are_capped_with_a_note() {
    let mut session = Session::new(spec());
    session.start();
    session.model(calls(&[("a", "read", json!({"path": "x"}))]));
    let request = asked(session.tool(Ok(json!("é".repeat(1000)))));
    let content = last_text(&request);
    assert!(content.contains("of 2002 bytes left out") && content.len() < 120, "{content}");
    assert!(content.starts_with("\"é") && content.ends_with("é\""));
}

#[test]
fn an_invalid_output_is_sent_back_with_its_faults_at_most_n_times() {
    let mut session = Session::new(spec());
    session.start();
    let request = asked(session.model(text("{\"passed\": \"false\"}")));
    assert!(last_text(&request).contains("- /passed: expected a boolean, got \"false\""));
    assert!(matches!(request.messages.get(1), Some(Message::Assistant { text: Some(said), .. }) if said.contains("\"false\"")));
    assert_eq!(request.asker.turn, 2);
    asked(session.model(text("no JSON at all")));
    let next = session.model(text("{\"passed\": 1}"));
    let (kind, message) = failed(&next);
    assert_eq!(kind, FailureKind::Schema);
    assert!(message.contains("after 2 requests for repair") && message.contains("/passed: expected a boolean, got 1"), "{message}");
    assert_eq!(session.record().failures.len(), 3);
}

#[test]
fn an_empty_answer_is_told_to_answer() {
    for empty in ["", "  \n "] {
        let mut session = Session::new(spec());
        session.start();
        let request = asked(session.model(text(empty)));
        assert!(last_text(&request).contains("answered nothing"));
        assert_eq!(request.messages.len(), 2, "an empty answer does not enter the history");
    }
}

#[test]
fn a_cut_output_fails_after_the_repairs() {
    let mut session = Session::new(SessionSpec { max_repairs: 1, ..spec() });
    session.start();
    let cut = || text("{\"passed\": tr").map(|reply| ModelReply { finish: Finish::Length, ..reply });
    assert!(last_text(&asked(session.model(cut()))).contains("length limit"));
    let next = session.model(cut());
    assert_eq!(failed(&next).0, FailureKind::Schema);
}

#[test]
fn a_whole_output_at_the_length_limit_is_usable() {
    let mut session = Session::new(spec());
    session.start();
    let whole = text("{\"passed\": true}").map(|reply| ModelReply { finish: Finish::Length, ..reply });
    assert!(matches!(session.model(whole), Next::Done { .. }));
}

#[test]
fn a_repaired_output_is_marked() {
    let mut session = Session::new(spec());
    session.start();
    assert!(matches!(session.model(text("{\"passed\": true,}")), Next::Done { .. }));
    assert_eq!(session.record().failures, ["repaired a trailing comma in the answer"]);
}

#[test]
fn a_text_is_an_output_where_the_schema_says_so() {
    let output = OutputContract { schema: json!({"type": "string"}), check: Arc::new(|_| Vec::new()) };
    let mut session = Session::new(SessionSpec { output, ..spec() });
    session.start();
    assert_eq!(session.model(text("A draft.")), Next::Done { output: json!("A draft.") });
}

#[test]
fn failures_of_the_model_end_the_session() {
    let filtered = Ok(ModelReply { finish: Finish::Filtered, ..ModelReply::default() });
    let refused = Err(Failure::new(FailureKind::Refusal, "no"));
    let broke = Err(Failure::new(FailureKind::Money, "no money"));
    for (result, kind) in [(filtered, FailureKind::Refusal), (refused, FailureKind::Refusal), (broke, FailureKind::Money)] {
        let mut session = Session::new(spec());
        session.start();
        let next = session.model(result);
        assert_eq!(failed(&next).0, kind);
        assert_eq!(session.record().failures.len(), 1);
    }
}

#[test]
fn turns_are_bounded() {
    let mut session = Session::new(SessionSpec { max_turns: 2, ..spec() });
    session.start();
    for turn in 0..2 {
        session.model(calls(&[("", "read", json!({"path": turn.to_string()}))]));
        if turn == 0 {
            asked(session.tool(Ok(json!(1))));
        }
    }
    let next = session.tool(Ok(json!(1)));
    assert_eq!(failed(&next).0, FailureKind::Fail);
    assert!(failed(&next).1.contains("all 2 turns"));
    let next = Session::new(SessionSpec { max_turns: 0, ..spec() }).start();
    assert_eq!(failed(&next).0, FailureKind::Fail);
}

#[test]
fn feeding_what_is_not_due_is_a_failure_and_no_panic() {
    let mut session = Session::new(spec());
    assert_eq!(failed(&session.tool(Ok(json!(1)))).0, FailureKind::Crash);
    let mut session = Session::new(spec());
    assert_eq!(failed(&session.model(text("{}"))).0, FailureKind::Crash);
    let mut session = Session::new(spec());
    session.start();
    assert_eq!(failed(&session.start()).0, FailureKind::Crash);
}

#[test]
fn the_history_is_shared_not_copied() {
    let mut session = Session::new(spec());
    let first = asked(session.start());
    let second = asked(session.model(text("")));
    assert_eq!(first.messages.len(), 1, "a question once asked does not change");
    assert_eq!(second.messages.len(), 2);
}

#[test]
fn calls_beyond_what_a_turn_may_hold_are_dropped_and_told() {
    let mut session = Session::new(spec());
    session.start();
    let many: Vec<(&str, &str, Value)> = (0..CALLS_PER_TURN + 3).map(|_| ("", "read", json!({"path": "x"}))).collect();
    let mut next = session.model(calls(&many));
    while let Next::Call { .. } = next {
        next = session.tool(Ok(json!(1)));
    }
    assert!(last_text(&asked(next)).contains("3 were not"));
    let record = session.record();
    assert_eq!((record.tool_calls as usize, record.failures.len()), (CALLS_PER_TURN, 1));
}

/// Every call of the history is answered exactly once, in order, before anything else is said.
fn assert_answered(messages: &[Message]) {
    let mut due: VecDeque<&str> = VecDeque::new();
    let mut seen = BTreeSet::new();
    for message in messages {
        match message {
            Message::Assistant { calls, .. } => {
                assert!(due.is_empty());
                for call in calls {
                    assert!(seen.insert(call.id.as_str()), "id {} is used twice", call.id);
                    due.push_back(&call.id);
                }
            }
            Message::Tool { call, .. } => assert_eq!(due.pop_front(), Some(call.as_str())),
            Message::User { .. } => assert!(due.is_empty()),
        }
    }
    assert!(due.is_empty());
}

/// One reply of a model that does as it likes, from a few numbers.
fn any_reply(kind: u8, parts: &[u8]) -> ModelReply {
    let finish = [Finish::Stop, Finish::ToolCalls, Finish::Length][usize::from(kind % 3)];
    let texts = ["", "words", "{\"passed\": 1}", "{\"passed\": tr", "{} {\"a\": 1}"];
    let names = ["read", "git.diff", "shell", "", "read<x>"];
    let arguments = [json!({"path": "x"}), json!("{\"path\": \"x\""), json!(""), Value::Null, json!("\"{}\""), json!([])];
    let calls = parts.iter().map(|part| ToolCall {
        id: ["", "a", "call_1_1"][usize::from(part % 3)].to_owned(),
        name: names[usize::from(part % 5)].to_owned(),
        arguments: arguments[usize::from(part % 6)].clone(),
    });
    ModelReply { text: Some(texts[usize::from(kind % 5)].to_owned()), calls: calls.collect(), finish, ..ModelReply::default() }
}

proptest::proptest! {
    #[test]
    fn every_session_ends_and_answers_every_call(replies in proptest::collection::vec((0u8..30, proptest::collection::vec(0u8..30, 0..4)), 1..12)) {
        let mut session = Session::new(spec());
        let mut next = session.start();
        let mut replies = replies.iter().cycle();
        for _ in 0..200 {
            next = match next {
                Next::Ask(request) => {
                    assert_answered(&request.messages);
                    let (kind, parts) = replies.next().expect("the replies are repeated without end");
                    session.model(Ok(any_reply(*kind, parts)))
                }
                Next::Call { call } => {
                    assert!(call.arguments.is_object() && ["read", "git_diff"].contains(&call.name.as_str()));
                    session.tool(Ok(json!("done")))
                }
                end => end,
            };
        }
        assert!(matches!(next, Next::Done { .. } | Next::Failed(_)), "the session does not end");
    }
}
