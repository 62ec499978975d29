//! What the processes of a call may reach: the folders that a role's globs reduce to, the call's own scratch folders, and the programs of
//! the machine.
//!
//! The kernel knows folders, not globs: `src/**` and `pyproject.toml` become grants, `**/*.py` binds the tools only. A folder that holds
//! something masked (`.git`, the run directory, the workflow's files) is granted by its other entries. Nothing here follows a link.

use super::{Gate, tool_error};
use crate::model::tool::ToolError;
use crate::world::{Confinement, Root, compile_globs, is_git_component};
use globset::GlobSet;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Most entries that a call's grants are split into; what lies beyond is not granted.
const MAX_GRANTS: usize = 20_000;
/// Entries of one folder of programs that are looked at.
const MAX_PROGRAMS: usize = 5000;

/// What part of a folder a list of globs grants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// The folder and everything below it; the empty text is the project.
    Tree(String),
    /// One file.
    File(String),
}

/// Globs of a role that bind tools but no process, because they are no folder.
#[must_use]
pub fn unbound(globs: &[String]) -> Vec<String> {
    globs.iter().filter(|glob| part(glob).is_none()).cloned().collect()
}

/// The grants of a call's processes in the project (`masks` are globs of what is left out) or in a checkout of their own (no masks).
pub(super) fn project(gate: &Gate, root: &Root, masks: &[String]) -> Result<Confinement, ToolError> {
    let masks = Masks::new(masks)?;
    let paths = |layers: Vec<&[String]>| {
        let mut found = BTreeSet::new();
        for part in parts(&layers) {
            grant(root.path(), &part, &masks, &mut found);
        }
        found.into_iter().collect::<Vec<PathBuf>>()
    };
    let (read, write) = gate.layers();
    // Test runners and compilers list the folder they work in; the kernel knows no listing of one folder alone.
    let list = vec![root.path().to_path_buf()];
    Ok(Confinement { read: paths(read), list, write: paths(write), network: gate.network() })
}

/// The grants in a checkout: it is thrown away, so everything in it may be written.
pub(super) fn checkout(gate: &Gate, root: &Root) -> Result<Confinement, ToolError> {
    let mut confinement = project(gate, root, &[])?;
    confinement.write = vec![root.path().to_path_buf()];
    Ok(confinement)
}

/// Folders of programs on `PATH` and of the one that is called, with the libraries beside them; never a home folder or what holds one.
pub(super) fn programs(env: &BTreeMap<String, String>, called: &[PathBuf], home: Option<&Path>, never: &[&Path]) -> Vec<PathBuf> {
    let on_path = env.get("PATH").map(String::as_str).unwrap_or_default().split(':').filter(|folder| folder.starts_with('/'));
    let mut folders: BTreeSet<PathBuf> = on_path.map(PathBuf::from).collect();
    // A role may name any program; only the interpreter of a virtual environment brings its folder along.
    let environment = |folder: &&Path| folder.parent().is_some_and(|above| above.join("pyvenv.cfg").is_file());
    folders.extend(called.iter().filter_map(|program| program.parent()).filter(environment).map(Path::to_path_buf));
    let real: BTreeSet<PathBuf> = folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
    let linked: BTreeSet<PathBuf> = real.iter().filter(|folder| !is_system(folder)).flat_map(|folder| targets(folder)).collect();
    let mut out = BTreeSet::new();
    for folder in real.iter().chain(&linked).filter(|folder| !is_system(folder)) {
        out.extend(installation(folder, home).into_iter().filter(|path| !never.iter().any(|place| place.starts_with(path))));
    }
    if let Some(home) = home {
        // Interpreters and tool chains that programs on PATH lead to.
        out.extend([".local/lib", ".rustup/toolchains", ".rustup/settings.toml"].map(|name| home.join(name)));
    }
    out.into_iter().filter_map(|path| path.canonicalize().ok()).collect()
}

/// Folders of the programs that links in `folder` lead to: a virtual environment's interpreter lies elsewhere.
fn targets(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_PROGRAMS);
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links.filter_map(|entry| entry.path().canonicalize().ok()?.parent().map(Path::to_path_buf)).collect()
}

/// What belongs to a folder of programs: the whole installation `X` of `X/bin`, or its parts where `X` also holds what is not for programs.
fn installation(folder: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    const SHARED: [&str; 3] = [".local", ".cargo", "share"];
    let named = |path: &Path, names: &[&str]| path.file_name().and_then(|name| name.to_str()).is_some_and(|name| names.contains(&name));
    let whole = named(folder, &["bin", "sbin", "shims", ".bin", "Scripts"]);
    let Some(above) = folder.parent().filter(|_| whole) else { return vec![folder.to_path_buf()] };
    let holds_home = home.is_some_and(|home| home.starts_with(above));
    if holds_home || named(above, &SHARED) || above.parent().is_none() {
        return vec![folder.to_path_buf()];
    }
    vec![above.to_path_buf()]
}

fn is_system(folder: &Path) -> bool {
    ["/usr", "/bin", "/sbin", "/lib", "/opt", "/nix/store", "/gnu/store"].iter().any(|system| folder.starts_with(system))
}

/// The parts that every layer grants.
fn parts(layers: &[&[String]]) -> BTreeSet<Part> {
    let mut layers = layers.iter().map(|globs| globs.iter().filter_map(|glob| part(glob)).collect::<BTreeSet<Part>>());
    let Some(first) = layers.next() else { return BTreeSet::new() };
    layers.fold(first, |all, layer| {
        all.iter().flat_map(|left| layer.iter().filter_map(|right| both(left, right)).collect::<Vec<_>>()).collect()
    })
}

fn both(left: &Part, right: &Part) -> Option<Part> {
    match (left, right) {
        (Part::Tree(outer), Part::Tree(inner) | Part::File(inner)) if within(inner, outer) => Some(right.clone()),
        (Part::Tree(inner) | Part::File(inner), Part::Tree(outer)) if within(inner, outer) => Some(left.clone()),
        (Part::File(one), Part::File(other)) if one == other => Some(left.clone()),
        _ => None,
    }
}

fn within(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What a glob grants, if it is a folder or a file.
fn part(glob: &str) -> Option<Part> {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let literal = |text: &str| !text.contains(['*', '?', '[', ']', '{', '}', '\\', '!']);
    let plain = |text: &str| literal(text) && text.split('/').all(|name| !matches!(name, "" | "." | "..") && !is_git_component(name));
    let folder = glob.strip_suffix("/**/*").or_else(|| glob.strip_suffix("/**"));
    match folder {
        _ if matches!(glob, "**" | "**/*") => Some(Part::Tree(String::new())),
        Some(folder) => plain(folder).then(|| Part::Tree(folder.to_owned())),
        None => plain(glob).then(|| Part::File(glob.to_owned())),
    }
}

/// What no process reaches.
struct Masks {
    whole: GlobSet,
    /// Each mask's components as globs: tells whether a folder may hold something masked.
    steps: Vec<Vec<Option<GlobSet>>>,
}

impl Masks {
    fn new(globs: &[String]) -> Result<Self, ToolError> {
        let step = |name: &str| (name != "**").then(|| compile_globs(&[name.to_owned()], true)).transpose().map_err(tool_error);
        let steps = globs.iter().map(|glob| glob.split('/').filter(|name| !name.is_empty()).map(step).collect());
        Ok(Self { whole: compile_globs(globs, true).map_err(tool_error)?, steps: steps.collect::<Result<_, _>>()? })
    }

    fn hides(&self, path: &str) -> bool {
        path.split('/').any(is_git_component) || self.whole.is_match(path)
    }

    /// Whether something below the folder is masked. Only the project itself is looked at for `.git`.
    fn reach_into(&self, folder: &str) -> bool {
        let names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
        let leads = |steps: &Vec<Option<GlobSet>>| {
            for (at, step) in steps.iter().enumerate() {
                match (step, names.get(at)) {
                    (None, _) | (Some(_), None) => return true,
                    (Some(step), Some(name)) if !step.is_match(name) => return false,
                    _ => {}
                }
            }
            false
        };
        names.is_empty() || self.steps.iter().any(leads)
    }
}

/// Adds what grants the part and nothing that is masked.
fn grant(root: &Path, part: &Part, masks: &Masks, found: &mut BTreeSet<PathBuf>) {
    let (Part::Tree(start) | Part::File(start)) = part;
    let mut waiting = vec![start.clone()];
    while let Some(path) = waiting.pop() {
        let place = if path.is_empty() { root.to_path_buf() } else { root.join(&path) };
        let Ok(kind) = place.symlink_metadata().map(|found| found.file_type()) else { continue };
        let wanted = if matches!(part, Part::File(_)) { kind.is_file() } else { kind.is_dir() || kind.is_file() };
        if !wanted || (!path.is_empty() && masks.hides(&path)) || found.len() >= MAX_GRANTS {
            continue;
        }
        if kind.is_file() || (!masks.steps.is_empty() && !masks.reach_into(&path)) || masks.steps.is_empty() {
            found.insert(place);
            continue;
        }
        let entries = fs::read_dir(&place).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        waiting.extend(names.map(|name| if path.is_empty() { name } else { format!("{path}/{name}") }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(globs: &[&str]) -> Vec<String> {
        globs.iter().map(|glob| (*glob).to_owned()).collect()
    }

    #[test]
    fn globs_reduce_to_folders_and_files() {
        for (glob, expected) in [
            ("**", Some(Part::Tree(String::new()))),
            ("./src/**", Some(Part::Tree("src".into()))),
            ("src/a b/**/*", Some(Part::Tree("src/a b".into()))),
            ("pyproject.toml", Some(Part::File("pyproject.toml".into()))),
            ("**/*.py", None),
            ("src/*", None),
            ("{a,b}/**", None),
            ("../**", None),
            (".git/**", None),
            ("a/.GIT/**", None),
            ("/etc/**", None),
        ] {
            assert_eq!(part(glob), expected, "{glob}");
        }
        assert_eq!(unbound(&list(&["src/**", "**/*.py"])), list(&["**/*.py"]));
    }

    #[test]
    fn layers_intersect() {
        let (one, two, three) = (list(&["**"]), list(&["src/**", "docs/**", "x"]), list(&["src/deep/**", "x", "doc/**"]));
        let found: Vec<Part> = parts(&[&one, &two, &three]).into_iter().collect();
        assert_eq!(found, [Part::Tree("src/deep".into()), Part::File("x".into())]);
        assert!(parts(&[]).is_empty() && parts(&[&one, &[]]).is_empty());
    }

    #[test]
    fn what_is_masked_is_granted_around() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for path in [".git/config", ".Rsf/x/STOP", "flow/a.json", "flow/b.json", "flow/deep/c", "src/x/y", "plain"] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc", root.join("sly")).unwrap();
        let masks = Masks::new(&list(&[".rsf", "flow/a.json"])).unwrap();
        let granted = |part: Part| {
            let mut found = BTreeSet::new();
            grant(&root, &part, &masks, &mut found);
            found.into_iter().map(|path| path.strip_prefix(&root).unwrap().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(granted(Part::Tree(String::new())), ["flow/b.json", "flow/deep", "plain", "src"]);
        assert_eq!(granted(Part::Tree("flow".into())), ["flow/b.json", "flow/deep"]);
        assert_eq!(granted(Part::Tree("src/x".into())), ["src/x"]);
        assert_eq!(granted(Part::File("src".into())), Vec::<String>::new());
        assert_eq!(granted(Part::Tree(".rsf".into())), Vec::<String>::new());
        #[cfg(unix)]
        assert_eq!(granted(Part::Tree("sly".into())), Vec::<String>::new());
    }
}
