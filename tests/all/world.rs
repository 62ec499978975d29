//! The doors to the world: confined files, processes, requirements. Real folders, real children.

use rsf::world::project::preflight;
use rsf::world::{Cancel, FaultKind, Finished, Kind, ProcessSpec, Root, clean_text, inherited_env, run_process};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

fn folder() -> (TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::open(dir.path()).unwrap();
    (dir, root)
}

fn denied<T: std::fmt::Debug>(result: Result<T, rsf::world::Fault>) {
    assert_eq!(result.unwrap_err().kind, FaultKind::Denied);
}

mod files {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_written_is_read_and_nothing_else_stays() {
        let (dir, root) = folder();
        root.write_atomic("a/b c/ü.txt", b"one").unwrap();
        root.write_atomic("a/b c/ü.txt", b"two").unwrap();
        assert_eq!(root.read("a/b c/ü.txt", 100).unwrap(), Some(b"two".to_vec()));
        assert_eq!(root.read("a/none", 100).unwrap(), None);
        assert_eq!(root.read("a/b c/ü.txt/below", 100).unwrap(), None);
        assert_eq!(fs::read_dir(dir.path().join("a/b c")).unwrap().count(), 1, "no temporary file stays");
        assert_eq!(root.read("a/b c/ü.txt", 2).unwrap_err().kind, FaultKind::TooLarge);
        assert!(root.remove("a/b c/ü.txt").unwrap());
        assert!(!root.remove("a/b c/ü.txt").unwrap());
        assert_eq!(root.kind("a/b c").unwrap(), Some(Kind::Folder));
        assert!(root.read("a", 10).is_err() && root.write_atomic("a", b"").is_err());
    }

    #[test]
    fn every_way_out_is_refused() {
        let (outside, _) = folder();
        fs::write(outside.path().join("secret"), "s").unwrap();
        let (dir, root) = folder();
        fs::create_dir_all(dir.path().join(".git/hooks")).unwrap();
        fs::write(dir.path().join(".git/config"), "").unwrap();
        symlink(outside.path(), dir.path().join("out")).unwrap();
        symlink(outside.path().join("secret"), dir.path().join("file")).unwrap();
        symlink(outside.path().join("new"), dir.path().join("dangling")).unwrap();
        symlink("../escape", dir.path().join("up")).unwrap();
        symlink(".git", dir.path().join("inner")).unwrap();
        symlink("loop", dir.path().join("loop")).unwrap();
        for path in [
            "../x",
            "/etc/passwd",
            "a/../../x",
            "out/secret",
            "out/new",
            "file",
            "dangling",
            "up",
            "inner/config",
            ".GIT/config",
            "loop",
            "loop/x",
        ] {
            denied(root.read(path, 10));
            denied(root.write_atomic(path, b"x"));
            denied(root.append(path, b"x\n", false));
            denied(root.create_dir_all(path));
        }
        denied(root.remove("out/secret"));
        denied(root.remove(".git/config"));
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "s");
    }

    #[test]
    fn a_link_inside_is_followed_and_stays_a_link() {
        let (dir, root) = folder();
        fs::write(dir.path().join("real"), "1").unwrap();
        symlink("real", dir.path().join("link")).unwrap();
        assert_eq!(root.resolve("link").unwrap().as_str(), "real");
        root.write_atomic("link", b"2").unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("real")).unwrap(), "2");
        assert!(dir.path().join("link").is_symlink());
        assert!(root.remove("link").unwrap());
        assert!(dir.path().join("real").exists());
    }

    #[test]
    fn pipes_and_devices_are_refused_without_waiting() {
        let (dir, root) = folder();
        assert!(Command::new("mkfifo").arg(dir.path().join("pipe")).status().unwrap().success());
        denied(root.read("pipe", 10));
        denied(root.write_atomic("pipe", b"x"));
        denied(root.append("pipe", b"x", false));
        symlink("/dev/zero", dir.path().join("zero")).unwrap();
        denied(root.read("zero", 10));
    }

    #[test]
    fn writing_breaks_a_hard_link_and_keeps_the_mode() {
        use std::os::unix::fs::PermissionsExt;
        let (outside, _) = folder();
        let (dir, root) = folder();
        fs::write(outside.path().join("shared"), "old").unwrap();
        fs::set_permissions(outside.path().join("shared"), fs::Permissions::from_mode(0o750)).unwrap();
        fs::hard_link(outside.path().join("shared"), dir.path().join("mine")).unwrap();
        root.write_atomic("mine", b"new").unwrap();
        assert_eq!(fs::read_to_string(outside.path().join("shared")).unwrap(), "old");
        assert_eq!(fs::metadata(dir.path().join("mine")).unwrap().permissions().mode() & 0o777, 0o750);
    }

    #[test]
    fn a_torn_last_line_does_not_swallow_the_next_record() {
        let (dir, root) = folder();
        root.append("logs/x.jsonl", b"{1}\n", false).unwrap();
        fs::write(dir.path().join("logs/torn"), "{1}\n{2").unwrap();
        root.append("logs/torn", b"{3}\n", false).unwrap();
        root.append("logs/torn", b"{4}\n", false).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("logs/torn")).unwrap(), "{1}\n{2\n{3}\n{4}\n");
        assert_eq!(fs::read_to_string(dir.path().join("logs/x.jsonl")).unwrap(), "{1}\n");
        // What an interrupted try has left is completed, and a record that is there already is not written again.
        fs::write(dir.path().join("logs/half"), "{1}\n{\"two").unwrap();
        root.append("logs/half", b"{\"two\"}\n", true).unwrap();
        root.append("logs/half", b"{\"two\"}\n", true).unwrap();
        root.append("logs/half", b"{1}\n", true).unwrap();
        root.append("logs/half", b"{3}\n", true).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("logs/half")).unwrap(), "{1}\n{\"two\"}\n{3}\n");
    }

    #[test]
    fn listing_is_sorted_bounded_and_leaves_out_links_git_and_ignored_files() {
        let (dir, root) = folder();
        super::git(dir.path(), &["init", "-q"]);
        for path in ["b/2.py", "b/1.py", "a.py", "build/x.py", "build/keep/y.py", ".hidden/h.py", "sub/.git/z.py", "b/.rsf-tmp-1-1"] {
            fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
            fs::write(dir.path().join(path), "x").unwrap();
        }
        fs::write(dir.path().join(".gitignore"), "build/\n*.log\n").unwrap();
        fs::write(dir.path().join("b/x.log"), "").unwrap();
        symlink("/etc", dir.path().join("etc")).unwrap();
        symlink("b", dir.path().join("c")).unwrap();
        let list = |globs: &[&str], max| root.list(&globs.iter().map(|g| (*g).to_owned()).collect::<Vec<_>>(), max, &|_| true);
        assert_eq!(list(&["**"], 99).unwrap().files, [".gitignore", ".hidden/h.py", "a.py", "b/1.py", "b/2.py"]);
        assert_eq!(list(&["b/*"], 99).unwrap().files, ["b/1.py", "b/2.py"]);
        assert_eq!(list(&["b/x.log"], 99).unwrap().files, ["b/x.log"]);
        assert_eq!(list(&["*.py"], 99).unwrap().files, ["a.py"]);
        assert_eq!(list(&["build/**", "a.py", "a.py"], 99).unwrap().files, ["a.py", "build/keep/y.py", "build/x.py"]);
        assert!(list(&["c/**", "etc/**"], 99).is_err(), "a glob that begins with a link to the outside is told");
        assert!(list(&["c/**"], 99).unwrap().files.is_empty());
        let cut = list(&["**"], 2).unwrap();
        assert!(cut.truncated && cut.files == [".gitignore", ".hidden/h.py"]);
        assert_eq!(list(&["../**"], 9).unwrap_err().kind, FaultKind::Denied);
        assert_eq!(list(&["a[b"], 9).unwrap_err().kind, FaultKind::Invalid);
    }

    #[test]
    fn moving_makes_folders_and_stays_inside() {
        let (dir, root) = folder();
        root.write_atomic("run/state.json", b"1").unwrap();
        root.rename("run/state.json", "runs/x/state.json").unwrap();
        assert!(!root.exists("run/state.json").unwrap() && root.exists("runs/x/state.json").unwrap());
        root.create_dir_all("a/b").unwrap();
        root.rename("runs/x", "a/b/x").unwrap();
        assert!(dir.path().join("a/b/x/state.json").exists());
        denied(root.rename("a", "../a"));
        denied(root.rename("a", ""));
        assert!(root.rename("none", "b").is_err() && root.create_dir_all("a/b/x/state.json").is_err());
    }

    #[test]
    fn a_lock_is_held_until_it_is_dropped() {
        let (_dir, root) = folder();
        let held = root.lock("x/lock", Duration::ZERO).unwrap();
        assert!(root.lock("x/lock", Duration::ZERO).is_err());
        drop(held);
        assert!(root.lock("x/lock", Duration::ZERO).is_ok());
    }
}

mod processes {
    use super::*;

    fn spec(shell: &str) -> ProcessSpec {
        ProcessSpec {
            argv: ["sh", "-c", shell].map(str::to_owned).to_vec(),
            cwd: std::env::temp_dir(),
            env: inherited_env(),
            stdin: None,
            timeout: Duration::from_secs(60),
            keep_bytes: 1000,
            confinement: None,
        }
    }

    async fn run(spec: ProcessSpec) -> Finished {
        run_process(spec, &Cancel::new()).await.unwrap()
    }

    fn alive(pid: &str) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[tokio::test]
    async fn status_streams_input_and_folder() {
        let dir = tempfile::tempdir().unwrap();
        let mut call = spec("cat; pwd >&2; exit 3");
        call.stdin = Some("héllo".to_owned());
        call.cwd = dir.path().canonicalize().unwrap();
        let done = run(call.clone()).await;
        assert_eq!((done.exit, done.signal, done.timed_out), (Some(3), None, false));
        assert_eq!(done.stdout.text, "héllo");
        assert_eq!(done.stderr.text.trim(), call.cwd.to_str().unwrap());
        assert_eq!(run(spec("cat; kill -9 $$")).await.signal, Some(9), "closed input ends at once");
    }

    #[tokio::test]
    async fn what_cannot_start_says_so() {
        let named = |name: &str| ProcessSpec { argv: vec![name.to_owned()], ..spec("") };
        let missing = run_process(named("no-such-program-here"), &Cancel::new()).await.unwrap_err();
        assert!(missing.kind == FaultKind::Missing && missing.message.contains("no-such-program-here"), "{missing}");
        assert!(run_process(named(""), &Cancel::new()).await.is_err());
        assert!(run_process(named("a\0b"), &Cancel::new()).await.is_err());
        let nowhere = ProcessSpec { cwd: "/no/such/folder".into(), ..spec("true") };
        assert!(run_process(nowhere, &Cancel::new()).await.is_err());
    }

    #[tokio::test]
    async fn keys_do_not_reach_a_child() {
        let names: Vec<String> = inherited_env().into_keys().collect();
        assert!(
            names.iter().all(|name| ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "TERM"].contains(&name.as_str()) || name.starts_with("LC_"))
        );
        let seen = run(spec("env")).await.stdout.text;
        assert!(!seen.contains("CARGO"), "cargo test sets CARGO…, which is not on the list: {seen}");
    }

    #[tokio::test]
    async fn endless_output_is_capped_and_does_not_block_the_child() {
        let line = run(spec("head -c 50000000 /dev/zero | tr '\\0' x; echo end; echo done >&2")).await;
        assert_eq!(line.exit, Some(0));
        assert_eq!(line.stdout.total, 50_000_004);
        assert!(line.stdout.text.len() < 1100 && line.stdout.text.ends_with("xend\n") && line.stdout.omitted == 50_000_004 - 1000);
        assert_eq!(line.stderr.text, "done\n");
        let odd = run(spec("printf '\\377\\376caf\\351'")).await;
        assert_eq!(odd.stdout.text, "\u{fffd}\u{fffd}caf\u{fffd}");
    }

    #[tokio::test]
    async fn a_time_out_ends_the_group_even_if_it_will_not() {
        let dir = tempfile::tempdir().unwrap();
        let mut call = spec(
            "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > inner; while :; do sleep 0.1; done' & echo begun; while :; do sleep 0.1; done",
        );
        call.cwd = dir.path().to_owned();
        call.timeout = Duration::from_secs(3);
        let done = run(call).await;
        assert!(done.timed_out && done.signal == Some(9) && done.stdout.text.contains("begun"), "{done:?}");
        assert!(!alive(&fs::read_to_string(dir.path().join("inner")).unwrap()));
        let mut polite = spec("trap 'echo bye; exit 7' TERM; while :; do sleep 0.1; done");
        polite.timeout = Duration::from_secs(3);
        let done = run(polite).await;
        assert!(done.timed_out && done.exit == Some(7) && done.stdout.text.contains("bye"), "{done:?}");
    }

    #[tokio::test]
    async fn a_grandchild_that_holds_the_pipe_is_not_waited_for_and_ends() {
        let dir = tempfile::tempdir().unwrap();
        let mut call = spec("sh -c 'echo $$ > inner; exec sleep 600' & while [ ! -s inner ]; do sleep 0.05; done; echo here");
        call.cwd = dir.path().to_owned();
        let done = run(call).await;
        assert_eq!((done.exit, done.stdout.text.as_str()), (Some(0), "here\n"));
        assert!(!alive(&fs::read_to_string(dir.path().join("inner")).unwrap()));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_daemon_of_its_own_session_ends_too() {
        let dir = tempfile::tempdir().unwrap();
        let mut call = spec("setsid sh -c 'echo $$ > inner; exec sleep 600' >/dev/null 2>&1 & while [ ! -s inner ]; do sleep 0.05; done");
        call.cwd = dir.path().to_owned();
        assert_eq!(run(call).await.exit, Some(0));
        let pid = fs::read_to_string(dir.path().join("inner")).unwrap();
        for _ in 0..100 {
            if !alive(&pid) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the daemon still lives");
    }

    #[tokio::test]
    async fn cancelling_and_dropping_end_the_group() {
        for drop_it in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let mut call = spec("echo $$ > inner; exec sleep 600");
            call.cwd = dir.path().to_owned();
            let cancel = Cancel::new();
            let token = cancel.clone();
            let task = tokio::spawn(async move { run_process(call, &token).await });
            let pid = loop {
                match fs::read_to_string(dir.path().join("inner")) {
                    Ok(pid) if pid.ends_with('\n') => break pid,
                    _ => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            };
            if drop_it {
                task.abort();
                assert!(task.await.unwrap_err().is_cancelled());
            } else {
                cancel.cancel();
                assert_eq!(task.await.unwrap().unwrap_err().kind, FaultKind::Cancelled);
            }
            let mut tries = 0;
            while alive(&pid) {
                tries += 1;
                assert!(tries < 200, "still alive");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    #[test]
    fn text_for_models_is_plain() {
        assert_eq!(clean_text("\u{1b}[1;31mE\u{1b}[0m 10%\r 20%\rdone\r\n\0x\u{7}\u{9b}1m!"), "done\nx!");
    }
}

fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(dir).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env_remove("GIT_DIR");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

mod requirements {
    use super::*;
    use serde_json::{Value, json};

    async fn unmet(dir: &TempDir, requires: Value) -> Vec<String> {
        let found = preflight(dir.path(), requires.as_object().unwrap(), "python3").await;
        found.into_iter().map(|unmet| format!("{}|{}", unmet.requirement, unmet.message)).collect()
    }

    #[tokio::test]
    async fn each_requirement_is_told_with_its_sentence() {
        let (dir, _root) = folder();
        git(dir.path(), &["init", "-q", "-b", "main"]);
        git(dir.path(), &["config", "user.name", "A Person"]);
        git(dir.path(), &["config", "user.email", "a@example.org"]);
        let wanted = json!({
            "commands": [{ "run": ["sh", "-c", "exit 0"], "hint": "h" }, { "run": ["no-such-program"], "hint": "install it" }, { "run": ["sh", "-c", "exit 9"], "hint": "broken" }],
            "git": { "repository": "R", "clean": "C", "branch": "B", "identity": "I", "ignore": ["**/__pycache__/**", "cache/**"] },
            "python": { "modules": ["json", "no_such_module; import os"], "hint": "pip install" },
            "moon": true
        });
        let found = unmet(&dir, wanted.clone()).await;
        assert_eq!(found.len(), 5, "{found:#?}");
        assert!(found[0].starts_with("commands: no-such-program|install it"));
        assert!(found[1].contains("broken") && found[1].contains('9'));
        assert!(found[2].starts_with("git: branch|B") && found[3].contains("pip install") && found[4].contains("moon"));
        let write = |path: &str, text: &str| {
            let full = dir.path().join(path);
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(full, text).unwrap();
        };
        write("a", "1");
        git(dir.path(), &["add", "a"]);
        git(dir.path(), &["commit", "-q", "-m", "first"]);
        write("x/__pycache__/y", "");
        write("cache/y", "");
        let git_only = |wanted: &Value| json!({ "git": wanted["git"] });
        assert!(unmet(&dir, git_only(&wanted)).await.is_empty());
        write("a", "2");
        assert_eq!(unmet(&dir, git_only(&wanted)).await, ["git: clean|C (a)"]);
        git(dir.path(), &["checkout", "-q", "--detach"]);
        assert_eq!(unmet(&dir, git_only(&wanted)).await, ["git: branch|B (HEAD is detached)", "git: clean|C (a)"]);
        let plain = tempfile::tempdir().unwrap();
        assert_eq!(unmet(&plain, git_only(&wanted)).await, ["git: repository|R"]);
        assert_eq!(unmet(&plain, json!({ "git": { "ignore": [] } })).await, [""; 0]);
    }
}
