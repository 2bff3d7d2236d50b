//! File systems for commands, and the programs of this machine that mount them.

use crate::harness::TortureError;
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Folders of programs that the search path of a user may lack. `mounted.sh` has them as well.
const ADMINISTRATION: [&str; 2] = ["/usr/sbin", "/sbin"];

/// The file systems that a drive can be given.
const FILE_SYSTEMS: [&str; 5] = ["ext4", "xfs", "btrfs", "fuse2fs", "none"];

/// A file system on the drive for commands, written as `KIND` or `KIND:OPTIONS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Its name, as `mkfs` and `mount` know it, `fuse2fs`, or `none` for the drive as a plain file.
    pub(super) kind: String,
    /// The options for `mount -o`.
    pub(super) options: String,
}

impl FromStr for Mount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, options) = text.split_once(':').unwrap_or((text, ""));
        if !FILE_SYSTEMS.contains(&kind) {
            return Err(format!("`{kind}` is none of {}", FILE_SYSTEMS.join(", ")));
        }
        Ok(Self { kind: kind.to_owned(), options: options.to_owned() })
    }
}

impl fmt::Display for Mount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.options.is_empty() { "" } else { ":" };
        write!(out, "{}{colon}{}", self.kind, self.options)
    }
}

impl Mount {
    /// Checks that this machine has everything that mounting takes, before anything runs. A part missing later would
    /// leave half of it mounted. `is_served`: commands find a drive that is served, and not images of it alone.
    pub(super) fn check(&self, is_served: bool) -> Result<(), TortureError> {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let missing = self.missing(is_served, &folders);
        if !missing.is_empty() {
            let missing: Vec<String> =
                missing.into_iter().map(|(program, package)| format!("{program} (package {package})")).collect();
            return Err(TortureError::Usage(format!("--mount needs {}", missing.join(", "))));
        }
        if self.is_of_the_kernel() && !geteuid().is_root() {
            return Err(TortureError::Usage(format!("--mount {} needs root; --mount fuse2fs does not", self.kind)));
        }
        Ok(())
    }

    /// Whether several states of one file system may be mounted at once: the kernel mounts no two XFS or Btrfs file
    /// systems with the same UUID.
    pub(super) fn is_shared(&self) -> bool {
        !["xfs", "btrfs"].contains(&self.kind.as_str())
    }

    fn is_of_the_kernel(&self) -> bool {
        !["none", "fuse2fs"].contains(&self.kind.as_str())
    }

    /// Programs that are in none of these folders, with their packages in Debian.
    fn missing(&self, is_served: bool, folders: &OsStr) -> Vec<(String, &'static str)> {
        let mut programs = Vec::new();
        let mut need = |program: &str, package| programs.push((program.to_owned(), package));
        if is_served {
            need("nbdfuse", "libnbd-bin");
            need("fusermount3", "fuse3");
            if !self.is_of_the_kernel() {
                need("nbdkit", "nbdkit");
            }
        }
        match self.kind.as_str() {
            "none" => {}
            "fuse2fs" => {
                need("fuse2fs", "fuse2fs");
                need("fusermount", "fuse3");
                need("mkfs.ext4", "e2fsprogs");
                need("e2fsck", "e2fsprogs");
            }
            kind => {
                let package = match kind {
                    "xfs" => "xfsprogs",
                    "btrfs" => "btrfs-progs",
                    _ => "e2fsprogs",
                };
                need(&format!("mkfs.{kind}"), package);
                need("losetup", "mount");
                need("mount", "mount");
            }
        }
        let folders: Vec<PathBuf> = std::env::split_paths(folders).chain(ADMINISTRATION.map(PathBuf::from)).collect();
        programs.retain(|(program, _)| !folders.iter().any(|folder| is_program(&folder.join(program))));
        programs
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
