//! The program itself in a project of its own: for tests that run the real binary. Nothing of the person at the keyboard reaches it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A temporary folder with a project `project` and a home of its own.
pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// A repository with one commit of a few files.
    pub fn new() -> Self {
        let place = Self::bare();
        place.git(&["init", "-q", "-b", "main"]);
        place.git(&["config", "user.name", "A Person"]);
        place.git(&["config", "user.email", "person@example.invalid"]);
        place.commit();
        place
    }

    /// The same without a repository.
    pub fn bare() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(place.project().join("src")).unwrap();
        std::fs::create_dir_all(place.folder.path().join("home")).unwrap();
        place.write("notes.md", "one\n");
        place.write("src/code.py", "def one():\n    return 1\n");
        place
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.project().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.project().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "a commit"]);
    }

    pub fn git(&self, args: &[&str]) -> String {
        let output = self.own(Command::new("git")).args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The program, in the project's folder.
    pub fn rsf(&self, args: &[&str]) -> Command {
        let mut command = self.own(Command::new(env!("CARGO_BIN_EXE_rsf")));
        command.args(args);
        command
    }

    /// Another program with the same surroundings.
    pub fn own(&self, mut command: Command) -> Command {
        command.current_dir(self.project()).env("HOME", self.folder.path().join("home"));
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("TERM", "xterm");
        // A run that a test kills stays dead until the test goes on with it.
        command.env("RSF_NO_WATCHDOG", "1");
        for name in ["DEEPSEEK_API_KEY", "ZAI_API_KEY", "NO_COLOR", "EMAIL", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs it to its end.
    pub fn run(&self, args: &[&str]) -> Ended {
        Ended::of(&self.rsf(args).output().unwrap())
    }

    /// Every file and folder below the temporary one, with its content.
    pub fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        walk(self.folder.path(), &mut found);
        found
    }

    /// The folder of the only run below the project's run directory.
    pub fn run_folder(&self, dir: &str) -> PathBuf {
        let mut runs: Vec<PathBuf> =
            std::fs::read_dir(self.project().join(dir).join("runs")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }
}

fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() || path.is_file() {
            let bytes = std::fs::read(&path).unwrap_or_default();
            found.insert(path, bytes);
        } else {
            found.insert(path.clone(), Vec::new());
            walk(&path, found);
        }
    }
}

/// How the program ended and what it said.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ended {
    pub fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// What it said on both streams.
    pub fn said(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

/// A workflow of `tests/cases/run`.
pub fn case(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/run").join(path).to_string_lossy().into_owned()
}
