//! Git through the door to the world: real repositories, compared with what the git program says about them.

use rsf::world::FaultKind;
use rsf::world::git::{CommitRequest, Repo};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Runs git with no configuration but the repository's.
fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(dir).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env_remove("GIT_DIR");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn repository() -> (TempDir, Repo) {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    git(dir.path(), &["config", "user.name", "A Person"]);
    git(dir.path(), &["config", "user.email", "a@example.org"]);
    let repo = Repo::require(dir.path()).unwrap();
    (dir, repo)
}

fn write(dir: &TempDir, path: &str, text: &str) {
    let full = dir.path().join(path);
    fs::create_dir_all(full.parent().unwrap()).unwrap();
    fs::write(full, text).unwrap();
}

fn commit(repo: &Repo, message: &str) -> rsf::world::git::Committed {
    repo.commit(&CommitRequest { message, wanted: &|_| true, recorded_heads: &[] }).unwrap()
}

/// Commits files with these contents and gives the commit's id.
fn commit_files(dir: &TempDir, repo: &Repo, message: &str, files: &[(&str, &str)]) -> String {
    for (path, text) in files {
        write(dir, path, text);
    }
    commit(repo, message).sha.unwrap()
}

const ODD: [&str; 7] = ["with blank", "tab\there", "line\nfeed", "quo\"te", "n\u{303}fd ü", "-dash", "u\u{2028}sep"];

#[test]
fn an_unborn_branch_and_a_first_commit() {
    let (dir, repo) = repository();
    let before = repo.status().unwrap();
    assert!(before.unborn && before.head.is_none() && !before.detached && before.identity);
    assert_eq!(before.branch.as_deref(), Some("main"));
    assert!(repo.log(None, None, 5).unwrap().is_empty());
    assert!(commit(&repo, "nothing").sha.is_none(), "no empty first commit");
    write(&dir, "a", "1\n");
    assert_eq!(repo.diff(None, None, &|_| true, 9999).unwrap().files[0].added, 1);
    let sha = commit(&repo, "first\n\nbody").sha.unwrap();
    assert_eq!(repo.status().unwrap().head.as_deref(), Some(sha.as_str()));
    assert_eq!(repo.diff(Some("HEAD~1"), Some("HEAD"), &|_| true, 9999).unwrap().files[0].status, "added");
    assert!(repo.patch(&sha, 9999).unwrap().text.contains("new file mode 100644"));
    assert!(repo.diff(Some("nonsense~1"), None, &|_| true, 9999).is_err());
    assert_eq!(git(dir.path(), &["log", "--format=%an|%ae|%s"]).trim(), "A Person|a@example.org|first");
    assert_eq!(git(dir.path(), &["status", "--porcelain"]), "");
    git(dir.path(), &["fsck", "--strict"]);
}

#[test]
fn odd_names_kinds_and_deletions_are_committed_as_git_would() {
    let (dir, repo) = repository();
    commit_files(&dir, &repo, "first", &[("gone", "x"), ("folder/deep/gone", "x"), ("turns", "into a folder")]);
    for name in ODD {
        write(&dir, &format!("d/{name}"), name);
    }
    write(&dir, "run.sh", "#!/bin/sh\n");
    fs::set_permissions(dir.path().join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("nowhere", dir.path().join("link")).unwrap();
    fs::remove_file(dir.path().join("gone")).unwrap();
    fs::remove_dir_all(dir.path().join("folder")).unwrap();
    fs::remove_file(dir.path().join("turns")).unwrap();
    write(&dir, "turns/inside", "x");
    let done = commit(&repo, "odd");
    assert_eq!(done.files_changed.len(), ODD.len() + 6, "{:?}", done.files_changed);
    assert_eq!(git(dir.path(), &["status", "--porcelain", "-z"]), "");
    let tree = git(dir.path(), &["ls-tree", "-r", "-z", "HEAD"]);
    for name in ODD {
        assert!(tree.contains(&format!("\td/{name}\0")), "{name:?}");
    }
    assert!(tree.contains("100755 blob") && tree.contains("120000 blob") && !tree.contains("gone"));
    git(dir.path(), &["fsck", "--strict"]);
}

#[test]
fn only_wanted_paths_go_in_and_what_is_staged_stays_staged() {
    let (dir, repo) = repository();
    commit_files(&dir, &repo, "first", &[("src/a", "1"), ("mine", "1")]);
    write(&dir, "mine", "2");
    git(dir.path(), &["add", "mine"]);
    write(&dir, "src/a", "2");
    write(&dir, "src/new", "2");
    write(&dir, "other", "2");
    let done = repo.commit(&CommitRequest { message: "part", wanted: &|path| path.starts_with("src/"), recorded_heads: &[] }).unwrap();
    assert_eq!(done.files_changed, ["src/a", "src/new"]);
    assert_eq!(done.left, ["mine", "other"]);
    assert_eq!(git(dir.path(), &["status", "--porcelain"]), "M  mine\n?? other\n");
    assert_eq!(git(dir.path(), &["show", "HEAD:mine"]), "1");
}

#[test]
fn nothing_to_commit_is_no_commit_unless_the_call_had_made_one() {
    let (dir, repo) = repository();
    let first = commit_files(&dir, &repo, "first", &[("a", "1")]);
    assert!(commit(&repo, "same").sha.is_none());
    let second = commit_files(&dir, &repo, "second", &[("a", "2")]);
    let again = |message, heads: &[String]| repo.commit(&CommitRequest { message, wanted: &|_| true, recorded_heads: heads }).unwrap();
    let found = again("second", std::slice::from_ref(&first));
    assert_eq!((found.sha, found.files_changed), (Some(second.clone()), vec!["a".to_owned()]));
    assert!(again("other", &[first]).sha.is_none() && again("second", &[second]).sha.is_none() && again("second", &[]).sha.is_none());
    assert_eq!(git(dir.path(), &["rev-list", "--count", "HEAD"]).trim(), "2");
}

#[test]
fn nested_repositories_are_left_out() {
    let (dir, repo) = repository();
    commit_files(&dir, &repo, "first", &[("a", "1")]);
    write(&dir, "nested/file", "x");
    git(&dir.path().join("nested"), &["init", "-q"]);
    assert_eq!(repo.status().unwrap().dirty, ["nested/"]);
    write(&dir, "a", "2");
    let done = commit(&repo, "second");
    assert_eq!((done.files_changed, done.left), (vec!["a".to_owned()], vec!["nested/".to_owned()]));
    assert!(!git(dir.path(), &["ls-tree", "-r", "HEAD"]).contains("160000"));
}

#[test]
fn commits_that_would_get_lost_or_have_no_author_are_refused() {
    let (dir, repo) = repository();
    commit_files(&dir, &repo, "first", &[("a", "1")]);
    write(&dir, "a", "2");
    let refused =
        |repo: &Repo, message| repo.commit(&CommitRequest { message, wanted: &|_| true, recorded_heads: &[] }).unwrap_err().message;
    assert!(refused(&repo, " \n").contains("empty") && refused(&repo, "a\0b").contains("NUL"));
    git(dir.path(), &["checkout", "-q", "--detach"]);
    assert!(repo.status().unwrap().detached);
    assert!(refused(&repo, "x").contains("git switch"));
    git(dir.path(), &["checkout", "-q", "main"]);
    fs::write(dir.path().join(".git/index.lock"), "").unwrap();
    assert!(refused(&repo, "x").contains("index.lock"));
    assert!(dir.path().join(".git/index.lock").exists(), "somebody else's lock is never removed");
    fs::remove_file(dir.path().join(".git/index.lock")).unwrap();
    git(dir.path(), &["config", "user.name", ""]);
    let anonymous = Repo::require(dir.path()).unwrap();
    assert!(!anonymous.status().unwrap().identity);
    assert!(refused(&anonymous, "x").contains("user.name"));
    assert_eq!(git(dir.path(), &["rev-list", "--count", "HEAD"]).trim(), "1");
}

#[test]
fn nothing_the_repository_names_is_executed() {
    let (dir, repo) = repository();
    commit_files(&dir, &repo, "first", &[("a.txt", "1\n")]);
    let trap = dir.path().join("trap.sh");
    let marker = dir.path().join("executed");
    fs::write(&trap, format!("#!/bin/sh\ntouch {}\ncat\n", marker.display())).unwrap();
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
    for hook in ["pre-commit", "commit-msg", "post-commit", "post-checkout", "reference-transaction", "post-index-change"] {
        fs::create_dir_all(dir.path().join(".git/hooks")).unwrap();
        fs::copy(&trap, dir.path().join(".git/hooks").join(hook)).unwrap();
    }
    let program = trap.to_str().unwrap();
    for key in
        ["core.fsmonitor", "diff.external", "filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "gpg.program", "core.editor"]
    {
        git(dir.path(), &["config", key, program]);
    }
    git(dir.path(), &["config", "commit.gpgsign", "true"]);
    write(&dir, ".gitattributes", "* filter=evil diff=evil\n");
    write(&dir, "a.txt", "2\n");
    let repo = Repo::require(dir.path()).unwrap();
    repo.diff(None, None, &|_| true, 9999).unwrap();
    let filtered = repo.commit(&CommitRequest { message: "second", wanted: &|_| true, recorded_heads: &[] }).unwrap_err();
    assert!(filtered.message.contains("filter `evil`"), "{filtered}");
    write(&dir, ".gitattributes", "* diff=evil filter=unknown\n");
    let sha = commit(&repo, "second").sha.unwrap();
    repo.tag("t", None, Some("x")).unwrap();
    let target = tempfile::tempdir().unwrap();
    repo.export(&sha, target.path()).unwrap();
    repo.revert(&sha, None, &|_| Ok(())).unwrap();
    assert!(!marker.exists());
    let unused = repo.unused_settings();
    assert!(unused.contains(&"commit.gpgsign".to_owned()) && unused.contains(&"hook pre-commit".to_owned()), "{unused:?}");
}

#[test]
fn a_revert_undoes_one_commit_and_only_that() {
    let (dir, repo) = repository();
    commit_files(&dir, &repo, "first", &[("a", "1\n"), ("old/x", "x")]);
    fs::remove_dir_all(dir.path().join("old")).unwrap();
    let second = commit_files(&dir, &repo, "second", &[("a", "2\n"), ("new/deep/b", "b")]);
    commit_files(&dir, &repo, "third", &[("c", "c")]);
    write(&dir, "untouched", "mine");
    write(&dir, "c", "edited");
    git(dir.path(), &["add", "c"]);
    let done = repo.revert(&second, Some("undo"), &|_| Ok(())).unwrap();
    assert!(!done.conflict);
    assert_eq!(done.files, ["a", "new/deep/b", "old/x"]);
    assert_eq!(fs::read_to_string(dir.path().join("a")).unwrap(), "1\n");
    assert!(!dir.path().join("new").exists() && dir.path().join("old/x").exists());
    assert_eq!(git(dir.path(), &["status", "--porcelain"]), "M  c\n?? untouched\n");
    assert_eq!(git(dir.path(), &["log", "-1", "--format=%B"]).trim(), format!("undo\n\nThis reverts commit {second}."));
    assert_eq!(repo.revert(&second, None, &|_| Ok(())).unwrap().sha, done.sha, "the same call again finds its trace");
    let other = commit_files(&dir, &repo, "fourth", &[("d", "d")]);
    assert_eq!(repo.revert(&second, None, &|_| Ok(())).unwrap().sha, None, "undone already");
    assert_eq!(repo.status().unwrap().head, Some(other));
    git(dir.path(), &["fsck", "--strict"]);
}

#[test]
fn a_revert_that_cannot_be_made_leaves_everything_as_it_was() {
    let (dir, repo) = repository();
    let first = commit_files(&dir, &repo, "first", &[("a", "1\n")]);
    let second = commit_files(&dir, &repo, "second", &[("a", "2\n"), ("b", "b\n")]);
    write(&dir, "b", "my work\n");
    let before = git(dir.path(), &["status", "--porcelain"]);
    let refused = repo.revert(&second, None, &|_| Ok(())).unwrap_err();
    assert!(refused.message.contains('b') && refused.message.contains("uncommitted"), "{refused}");
    assert_eq!(fs::read_to_string(dir.path().join("b")).unwrap(), "my work\n");
    assert_eq!(fs::read_to_string(dir.path().join("a")).unwrap(), "2\n");
    git(dir.path(), &["checkout", "-q", "b"]);
    commit_files(&dir, &repo, "third", &[("a", "3\n")]);
    write(&dir, "mine", "x");
    let done = repo.revert(&second, None, &|_| Ok(())).unwrap();
    assert!(done.conflict && done.sha.is_none() && done.files == ["a"], "{done:?}");
    assert_eq!(git(dir.path(), &["status", "--porcelain"]), "?? mine\n");
    assert!(!dir.path().join(".git/REVERT_HEAD").exists());
    assert_ne!(before, "");
    let protected = repo.revert("HEAD", None, &|path| Err(rsf::world::Fault::denied(path))).unwrap_err();
    assert_eq!(protected.kind, FaultKind::Denied);
    git(dir.path(), &["checkout", "-q", "-b", "side", &first]);
    commit_files(&dir, &repo, "side", &[("s", "s")]);
    git(dir.path(), &["checkout", "-q", "main"]);
    git(dir.path(), &["merge", "-q", "--no-edit", "side"]);
    assert!(repo.revert("HEAD", None, &|_| Ok(())).unwrap_err().message.contains("merge"));
    assert!(repo.revert("no-such", None, &|_| Ok(())).is_err());
}

#[test]
fn an_ignored_file_in_the_way_of_a_revert_is_kept() {
    let (dir, repo) = repository();
    commit_files(&dir, &repo, "first", &[("data", "old"), ("a", "1")]);
    fs::remove_file(dir.path().join("data")).unwrap();
    let second = commit_files(&dir, &repo, "second", &[(".gitignore", "data\n")]);
    write(&dir, "data", "precious");
    assert!(repo.revert(&second, None, &|_| Ok(())).is_err());
    assert_eq!(fs::read_to_string(dir.path().join("data")).unwrap(), "precious");
}

#[test]
fn a_half_done_revert_is_finished() {
    let (dir, repo) = repository();
    commit_files(&dir, &repo, "first", &[("a", "1\n")]);
    let second = commit_files(&dir, &repo, "second", &[("a", "2\n"), ("b", "b")]);
    write(&dir, "a", "1\n");
    fs::remove_file(dir.path().join("b")).unwrap();
    assert!(repo.revert(&second, None, &|_| Ok(())).unwrap().sha.is_some());
    assert_eq!(git(dir.path(), &["status", "--porcelain"]), "");
}

#[test]
fn a_tag_is_never_moved() {
    let (dir, repo) = repository();
    let first = commit_files(&dir, &repo, "first", &[("a", "1")]);
    commit_files(&dir, &repo, "second", &[("a", "2")]);
    assert!(!repo.tag("v1", Some(&first), Some("note")).unwrap().existed);
    let again = repo.tag("v1", Some(&first), None).unwrap();
    assert!(again.existed && again.commit == first);
    assert!(repo.tag("v1", None, None).unwrap_err().message.contains(&first));
    for bad in ["", "a b", "-x", "a..b", "x.lock", "a~1"] {
        assert!(repo.tag(bad, None, None).is_err(), "{bad:?}");
    }
    assert_eq!(git(dir.path(), &["cat-file", "-t", "v1"]).trim(), "tag");
}

#[test]
fn an_export_holds_the_commit_and_leaves_no_mark() {
    let (dir, repo) = repository();
    let first = commit_files(&dir, &repo, "first", &[("a", "1"), ("only/first", "x"), ("d/ü b", "x")]);
    fs::remove_dir_all(dir.path().join("only")).unwrap();
    commit_files(&dir, &repo, "second", &[("a", "2")]);
    write(&dir, "a", "dirty");
    let target = tempfile::tempdir().unwrap();
    repo.export(&first, &target.path().join("x")).unwrap();
    let at = |path: &str| fs::read_to_string(target.path().join("x").join(path)).unwrap();
    assert_eq!((at("a"), at("only/first"), at("d/ü b")), ("1".to_owned(), "x".to_owned(), "x".to_owned()));
    assert!(!target.path().join("x/.git").exists());
    assert_eq!(fs::read_to_string(dir.path().join("a")).unwrap(), "dirty");
    assert_eq!(git(dir.path(), &["status", "--porcelain"]), " M a\n");
    assert_eq!(git(dir.path(), &["worktree", "list"]).lines().count(), 1);
    assert!(repo.export(&first, &target.path().join("x")).is_err(), "never into a folder that has something");
    assert!(repo.export(&"0".repeat(40), &target.path().join("y")).is_err());
}

#[test]
fn patches_apply_with_binary_content() {
    let (dir, repo) = repository();
    let first = commit_files(&dir, &repo, "first", &[("a", "1\n"), ("with \"quote\"", "q\n")]);
    fs::write(dir.path().join("bin"), [0_u8, 1, 2, 255, 0]).unwrap();
    fs::write(dir.path().join("latin"), b"caf\xe9\n").unwrap();
    fs::remove_file(dir.path().join("with \"quote\"")).unwrap();
    let second = commit_files(&dir, &repo, "second", &[("a", "2\n"), ("no newline", "x")]);
    let other = tempfile::tempdir().unwrap();
    git(other.path(), &["init", "-q"]);
    for sha in [&first, &second] {
        let patch = repo.patch(sha, 1 << 20).unwrap();
        assert!(!patch.truncated);
        fs::write(other.path().join(".git/p"), patch.text).unwrap();
        git(other.path(), &["apply", ".git/p"]);
    }
    assert_eq!(fs::read(other.path().join("bin")).unwrap(), [0_u8, 1, 2, 255, 0]);
    assert_eq!(fs::read(other.path().join("latin")).unwrap(), b"caf\xe9\n", "other encodings survive");
    assert_eq!(fs::read_to_string(other.path().join("a")).unwrap(), "2\n");
    assert!(!other.path().join("with \"quote\"").exists());
}

#[test]
fn differences_count_filter_and_are_cut() {
    let (dir, repo) = repository();
    let first = commit_files(&dir, &repo, "first", &[("a", "1\n2\n3\n"), ("b", "b\n")]);
    write(&dir, "a", "1\nx\ny\n3\n");
    write(&dir, "new", "n\n");
    let now = repo.diff(None, None, &|_| true, 9999).unwrap();
    let counts: Vec<_> = now.files.iter().map(|file| (file.path.as_str(), file.status, file.added, file.removed)).collect();
    assert_eq!(counts, [("a", "modified", 2, 1), ("new", "added", 1, 0)]);
    assert!(now.text.contains("+x\n") && now.text.contains("+n\n") && !now.truncated);
    let only = repo.diff(None, None, &|path| path == "new", 9999).unwrap();
    assert!(only.files.len() == 1 && !only.text.contains("+x"));
    let cut = repo.diff(None, None, &|_| true, 40).unwrap();
    assert!(cut.truncated && cut.text.len() <= 40 && cut.files.len() == 2);
    assert!(repo.diff(Some(&first), Some("HEAD"), &|_| true, 9999).unwrap().files.is_empty());
}

#[test]
fn history_and_single_files() {
    let (dir, repo) = repository();
    let first = commit_files(&dir, &repo, "first line\n\n- point\n", &[("d/a", "1")]);
    let second = commit_files(&dir, &repo, "second", &[("d/a", "2")]);
    let log = repo.log(None, None, 10).unwrap();
    assert_eq!(log.iter().map(|commit| commit.sha.as_str()).collect::<Vec<_>>(), [&second, &first]);
    assert!(log[0].parents == [first.clone()] && log[1].author == "A Person <a@example.org>" && log[1].time.ends_with('Z'));
    assert_eq!(repo.log(None, Some("point"), 10).unwrap().len(), 1);
    assert_eq!(repo.log(Some(&first), None, 10).unwrap().len(), 1);
    assert_eq!(repo.file_at(&first, "d/a", 9).unwrap(), Some(b"1".to_vec()));
    assert_eq!(repo.file_at(&first, "none", 9).unwrap(), None);
    assert!(repo.file_at(&first, "d", 9).is_err());
    for bad in ["", "HEAD..HEAD", "HEAD:d/a", ":/first", "-x", "HEAD@{0}", "main\0"] {
        assert!(repo.resolve(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_project_below_the_top_sees_its_own_part() {
    let (dir, repo) = repository();
    commit_files(&dir, &repo, "first", &[("top", "1"), ("sub/a", "1")]);
    let sub = Repo::require(&dir.path().join("sub")).unwrap();
    write(&dir, "top", "2");
    write(&dir, "sub/a", "2");
    assert_eq!(sub.status().unwrap().dirty, ["a"]);
    assert_eq!(sub.diff(None, None, &|_| true, 999).unwrap().files[0].path, "a");
    let done = sub.commit(&CommitRequest { message: "sub", wanted: &|_| true, recorded_heads: &[] }).unwrap();
    assert_eq!((done.files_changed, done.left), (vec!["a".to_owned()], vec![]));
    assert_eq!(sub.file_at("HEAD", "a", 9).unwrap(), Some(b"2".to_vec()));
    assert_eq!(sub.export_subfolder(), "sub");
    git(dir.path(), &["checkout", "-q", "top"]);
    let both = commit_files(&dir, &repo, "both", &[("top", "3"), ("sub/a", "3")]);
    assert_eq!(sub.revert(&both, None, &|_| Ok(())).unwrap_err().kind, FaultKind::Denied);
    sub.ensure_excluded(&[".rsf/"]).unwrap();
    sub.ensure_excluded(&[".rsf/"]).unwrap();
    let exclude = fs::read_to_string(dir.path().join(".git/info/exclude")).unwrap();
    assert_eq!(exclude.matches("/sub/.rsf/\n").count(), 1);
    write(&dir, "sub/.rsf/x", "x");
    assert!(sub.status().unwrap().dirty.is_empty());
}

#[test]
fn no_repository_is_told_apart_from_a_broken_one() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Repo::open(dir.path()).unwrap().is_none());
    assert!(Repo::require(dir.path()).is_err());
    git(dir.path(), &["init", "-q", "--bare"]);
    assert!(Repo::open(dir.path()).is_err());
    let (elsewhere, _) = repository();
    git(elsewhere.path(), &["config", "core.worktree", "/"]);
    let (project, _) = repository();
    git(project.path(), &["config", "core.worktree", elsewhere.path().to_str().unwrap()]);
    assert!(Repo::open(project.path()).is_err(), "a work tree elsewhere is not this project");
}

#[test]
fn pipes_in_the_work_tree_are_no_files_and_nothing_waits_for_them() {
    let (dir, repo) = repository();
    commit_files(&dir, &repo, "first", &[("a", "1"), ("tracked", "x")]);
    assert!(Command::new("mkfifo").arg(dir.path().join("pipe")).status().unwrap().success());
    fs::remove_file(dir.path().join("tracked")).unwrap();
    assert!(Command::new("mkfifo").arg(dir.path().join("tracked")).status().unwrap().success());
    write(&dir, "a", "2");
    repo.diff(None, None, &|_| true, 9999).unwrap();
    let done = commit(&repo, "second");
    assert!(done.sha.is_some() && done.files_changed.contains(&"a".to_owned()), "{done:?}");
    assert!(!git(dir.path(), &["ls-tree", "-r", "HEAD"]).contains("pipe"));
}

#[test]
fn a_link_in_a_folders_place_leads_nowhere() {
    let (dir, repo) = repository();
    commit_files(&dir, &repo, "first", &[("d/f", "1"), ("a", "1")]);
    let second = commit_files(&dir, &repo, "second", &[("d/f", "2")]);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("f"), "1").unwrap();
    fs::remove_dir_all(dir.path().join("d")).unwrap();
    symlink(outside.path(), dir.path().join("d")).unwrap();
    assert!(repo.revert(&second, None, &|_| Ok(())).is_err());
    fs::write(outside.path().join("f"), "outside").unwrap();
    let done = commit(&repo, "third");
    assert!(done.sha.is_some(), "{done:?}");
    let tree = git(dir.path(), &["ls-tree", "-r", "HEAD"]);
    assert!(tree.contains("120000") && !tree.contains("d/f"), "{tree}");
    assert_eq!(fs::read_to_string(outside.path().join("f")).unwrap(), "outside");
    assert!(repo.revert(&second, None, &|_| Ok(())).unwrap().conflict);
    assert_eq!(git(dir.path(), &["status", "--porcelain"]), "");
}
