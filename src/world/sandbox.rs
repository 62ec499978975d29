//! Confining a child process: which files, which network and how much of the machine it may use, kept by the kernel (Linux: Landlock,
//! seccomp, resource limits).
//!
//! The restriction is laid on a thread that exists for one start only; the child inherits it and cannot take it off, nor can what it
//! starts. What is not granted is refused. Where the kernel cannot do it, [`Support`] says so; nothing here pretends.

use std::path::PathBuf;

/// What a confined process may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Files and folders it may read, and start programs from.
    pub read: Vec<PathBuf>,
    /// Folders whose entries' names it may list, with those below; nothing is read by that.
    pub list: Vec<PathBuf>,
    /// Folders it may change files in, and files it may change.
    pub write: Vec<PathBuf>,
    /// Whether it may use the network, local sockets included.
    pub network: bool,
}

/// What this machine's kernel can keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Support {
    /// Files are guarded.
    pub files: bool,
    /// Network ports are guarded.
    pub network: bool,
    /// Signals to processes outside are refused.
    pub signals: bool,
}

impl Support {
    /// Everything a red line needs.
    #[must_use]
    pub fn is_full(self) -> bool {
        self.files && self.network && self.signals
    }

    /// What is kept and what is not, as a lower-case sentence.
    #[must_use]
    pub fn in_words(self) -> String {
        let guarded = [(self.files, "files"), (self.network, "network"), (self.signals, "signals")];
        let names = |wanted: bool| guarded.iter().filter(|(kept, _)| *kept == wanted).map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
        match (names(true), names(false)) {
            (kept, lost) if lost.is_empty() => format!("programs of a role run confined by the kernel: {kept}"),
            (kept, lost) if kept.is_empty() => {
                format!("this machine cannot confine programs ({lost}): permissions bind the tools, not the programs they start")
            }
            (kept, lost) => format!("programs of a role run confined by the kernel for {kept}, but not for {lost}: this kernel is too old"),
        }
    }
}

#[cfg(target_os = "linux")]
pub use linux::support;
#[cfg(target_os = "linux")]
pub(super) use linux::{limited, restrict_this_thread};

/// Nothing is kept here.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn support() -> Support {
    Support::default()
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{Confinement, Support};
    use crate::base::limits::{CHILD_DATA_BYTES, CHILD_FILE_BYTES, CHILD_OPEN_FILES, CHILD_TASKS};
    use landlock::{
        ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr,
        RulesetError, Scope, make_bitflags, path_beneath_rules,
    };
    use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
    use seccompiler::{SeccompAction, SeccompFilter};
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::PathBuf;

    /// What is asked of the kernel; an older one gives what it has.
    const NEWEST: ABI = ABI::V6;

    /// System folders and files any program may need. Of `/etc` only what is public; nothing of `/home`, `/root`, `/proc`, `/sys`, `/var`, `/run`.
    const SYSTEM: [&str; 47] = [
        "/usr",
        "/bin",
        "/sbin",
        "/lib",
        "/lib32",
        "/lib64",
        "/opt",
        "/nix/store",
        "/gnu/store",
        "/etc/ld.so.cache",
        "/etc/ld.so.conf",
        "/etc/ld.so.conf.d",
        "/etc/ld.so.preload",
        "/etc/alternatives",
        "/etc/ssl/certs",
        "/etc/ssl/openssl.cnf",
        "/etc/ca-certificates",
        "/etc/pki/tls/certs",
        "/etc/pki/ca-trust",
        "/etc/passwd",
        "/etc/group",
        "/etc/nsswitch.conf",
        "/etc/resolv.conf",
        "/etc/hosts",
        "/etc/host.conf",
        "/etc/gai.conf",
        "/etc/services",
        "/etc/protocols",
        "/etc/localtime",
        "/etc/timezone",
        "/etc/mime.types",
        "/etc/locale.alias",
        "/etc/os-release",
        "/etc/debian_version",
        "/etc/python3",
        "/etc/python3.11",
        "/etc/python3.12",
        "/etc/python3.13",
        "/etc/java",
        "/etc/terminfo",
        "/etc/inputrc",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/proc/stat",
        "/proc/version",
        "/proc/sys/vm/overcommit_memory",
        "/proc/filesystems",
    ];
    /// Devices that hold nothing.
    const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

    /// What the kernel answers when it is asked for each part alone.
    #[must_use]
    pub fn support() -> Support {
        let asked = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let files = |ruleset: Ruleset| ruleset.handle_access(AccessFs::from_all(ABI::V3))?.create();
        let network = |ruleset: Ruleset| ruleset.handle_access(AccessNet::from_all(ABI::V4))?.create();
        let signals = |ruleset: Ruleset| ruleset.scope(Scope::Signal)?.create();
        Support { files: files(asked()).is_ok(), network: network(asked()).is_ok(), signals: signals(asked()).is_ok() }
    }

    /// Restricts the calling thread and whatever it starts from now on, for good.
    pub(in crate::world) fn restrict_this_thread(confinement: &Confinement) -> io::Result<()> {
        files_and_ports(confinement).map_err(io::Error::other)?;
        if confinement.network { Ok(()) } else { no_sockets() }
    }

    fn files_and_ports(confinement: &Confinement) -> Result<(), RulesetError> {
        let read = make_bitflags!(AccessFs::{ReadFile | ReadDir | Execute});
        // No devices: one made in a granted folder would be a way to the whole disk.
        let change: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
            WriteFile | Truncate | RemoveDir | RemoveFile | MakeDir | MakeReg | MakeSym | MakeFifo | MakeSock | Refer
        });
        let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(NEWEST))?.scope(Scope::Signal)?;
        if !confinement.network {
            ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?.scope(Scope::AbstractUnixSocket)?;
        }
        ruleset
            .create()?
            .add_rules(path_beneath_rules(SYSTEM, read))?
            .add_rules(path_beneath_rules(DEVICES, make_bitflags!(AccessFs::{ReadFile | WriteFile})))?
            .add_rules(beneath(&confinement.read, read))?
            .add_rules(beneath(&confinement.list, make_bitflags!(AccessFs::{ReadDir})))?
            .add_rules(beneath(&confinement.write, change))?
            .restrict_self()?;
        Ok(())
    }

    /// Rules for folders and regular files. A path with a link on its way is none of ours and grants nothing: what it leads to was not
    /// looked at, and a program may have put it there.
    fn beneath(paths: &[PathBuf], access: BitFlags<AccessFs>) -> impl Iterator<Item = Result<PathBeneath<OwnedFd>, RulesetError>> {
        let of_a_file = make_bitflags!(AccessFs::{ReadFile | Execute | WriteFile | Truncate});
        let open = |path: &PathBuf| openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok();
        paths.iter().filter_map(open).filter_map(move |place| {
            let access = match FileType::from_raw_mode(fstat(&place).ok()?.st_mode) {
                FileType::Directory => access,
                FileType::RegularFile => access & of_a_file,
                _ => return None,
            };
            Some(Ok(PathBeneath::new(place, access)))
        })
    }

    /// No socket of any family, since a local one leads to services that do as they are told; and no ring that would make one unseen.
    fn no_sockets() -> io::Result<()> {
        let rules = [i64::from(libc_socket()), i64::from(IO_URING_SETUP)].into_iter().map(|call| (call, Vec::new())).collect();
        // EACCES, as for files.
        let refuse = SeccompAction::Errno(13);
        let arch = std::env::consts::ARCH
            .try_into()
            .map_err(|_| io::Error::other("programs cannot be kept from the network on this processor"))?;
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).map_err(io::Error::other)?;
        let program: seccompiler::BpfProgram = filter.try_into().map_err(io::Error::other)?;
        seccompiler::apply_filter(&program).map_err(io::Error::other)
    }

    /// The same number on every processor.
    const IO_URING_SETUP: u32 = 425;

    fn libc_socket() -> u32 {
        if cfg!(target_arch = "x86_64") { 41 } else { 198 }
    }

    /// The command behind a shell that lowers its own limits and then becomes the command: no moment in which it runs without them.
    pub(in crate::world) fn limited(argv: Vec<String>) -> Vec<String> {
        // Each by itself: a limit that is lower already stays. Shells call the number of processes `-u` or `-p`.
        let line = format!(
            "ulimit -c 0; ulimit -f {} 2>/dev/null; ulimit -d {} 2>/dev/null; ulimit -n {CHILD_OPEN_FILES} 2>/dev/null; \
             ulimit -u {tasks} 2>/dev/null || ulimit -p {tasks} 2>/dev/null; exec \"$@\"",
            CHILD_FILE_BYTES / 512,
            CHILD_DATA_BYTES / 1024,
            tasks = running_tasks() + CHILD_TASKS,
        );
        ["/bin/sh".to_owned(), "-c".to_owned(), line, "sh".to_owned()].into_iter().chain(argv).collect()
    }

    /// Tasks that run on this machine: the limit counts all of a user's.
    fn running_tasks() -> u64 {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        load.split_whitespace().nth(3).and_then(|tasks| tasks.split_once('/')?.1.parse().ok()).unwrap_or(4096)
    }
}
