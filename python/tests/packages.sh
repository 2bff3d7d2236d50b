#!/usr/bin/env bash
# Builds a program from packaged crates, as somebody does who takes them from a registry: no file of this folder is used.
#
#   packages.sh TARGET      TARGET: the target folder of `cargo package`
set -euo pipefail

target="$(realpath "$1")"
work="$(mktemp -d "${TMPDIR:-/tmp}/nandarium-packages.XXXXXX")"
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir -p "$work/user/src"
version="" patches=()
for package in "$target"/package/nandarium-*.crate; do
  tar -xzf "$package" -C "$work"
  folder="$(basename "$package" .crate)"
  [[ "$folder" =~ ^(nandarium(-[a-z]+)?)-([0-9].*)$ ]]
  version="${BASH_REMATCH[3]}"
  patches+=("${BASH_REMATCH[1]} = { path = \"../$folder\" }")
done
cat > "$work/user/Cargo.toml" <<TOML
[package]
name = "user"
version = "0.0.0"
edition = "2024"

[dependencies]
nandarium-drive = { version = "=$version", features = ["block-device-driver", "embedded-storage"] }
nandarium-torture = "=$version"

[patch.crates-io]
$(printf '%s\n' "${patches[@]}")
TOML
cat > "$work/user/src/main.rs" <<'RUST'
use drive::{ByteDrive, Drive};
use std::io::Write;
use torture::Torture;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = ["drive.capacity=4MiB", "flash.channels=1", "flash.dies_per_channel=1", "flash.pages_per_block=16"];
    let settings = [&settings[..], &["drive.over_provisioning=100%"]].concat();
    let mut file = ByteDrive::new(Drive::new("page", &settings)?);
    file.write_all(b"kept")?;
    file.sync_all()?;
    file.drive().power_cut(1);
    file.drive().reopen()?;
    let mut found = [0; 4];
    file.read_at(&mut found, 0)?;
    assert_eq!(&found, b"kept");
    // A log that marks a record before the record lasts: a cut between the two is found.
    let tried = Torture::new(1 << 20).states(200).run(
        |disk| disk.write(512, &[7; 512], false).and_then(|()| disk.write(0, &[1; 512], false)),
        |disk, _| {
            let (mut mark, mut record) = ([0; 512], [0; 512]);
            disk.read(0, &mut mark).and_then(|()| disk.read(512, &mut record)).map_err(|error| format!("{error:?}"))?;
            if mark[0] == 1 && record[0] != 7 { Err("a record is marked and not there".to_owned()) } else { Ok(()) }
        },
    )?;
    assert!(tried.exploration.found.is_some(), "the lost record was not found");
    Ok(())
}
RUST
cd "$work/user"
export CARGO_TARGET_DIR="$target/user"
"${CARGO:-cargo}" run --quiet
lines() { "${CARGO:-cargo}" tree --quiet -p "$1" -e normal --no-dedupe --prefix none | sort -u | wc -l; }
echo "packages: $(ls "$target"/package/*.crate | wc -l) crates; nandarium-drive builds $(lines nandarium-drive) packages, nandarium-torture $(lines nandarium-torture)"
