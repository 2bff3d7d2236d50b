#!/usr/bin/env bash
# Builds the program for users twice: first one that counts how often each function runs, and then one that the compiler lays out
# by these counts, a tenth faster. Usage: bench/profiled.sh TRIPLE RUSTFLAGS [PACKAGE]; flags as TOML, each in quotes, with a comma behind it.
# PACKAGE, for example nandarium-bench, is built beside it both times, as the names of functions depend on all packages of a build; it
# runs with --smoke to be counted.
# TARGET/profile/TRIPLE.profdata has the counts, for the wheel too. Without llvm-profdata of the compiler's LLVM there is no such
# file: the program is built without counts, and standard error tells how to get the tool.
set -euo pipefail
triple="$1" flags="$2" packages=(-p nandarium ${3:+-p "$3"})
cargo="${CARGO:-cargo}" target="${CARGO_TARGET_DIR:-target}"
profile="$(realpath -m "$target/profile/$triple.profdata")"
llvm="$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')"

build() { "$cargo" build --profile dist "${packages[@]}" --target "$triple" --target-dir "$1" --config "target.$triple.rustflags = [$flags$2]"; }
tool() {
  local own; own="$(rustc --print target-libdir)/../bin/llvm-profdata"
  command -v "llvm-profdata-$llvm" || { [[ -x "$own" ]] && echo "$own"; }
}

rm -f "$profile"
if ! tool >/dev/null && [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null; then
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "llvm-$llvm"; } >&2 || true
fi
if ! tool >/dev/null; then
  echo "profiled: llvm-profdata of LLVM $llvm is missing, so the program is built without counts, and is a tenth slower:" \
    "install it (rustup component add llvm-tools, or apt-get install llvm-$llvm)" >&2
  build "$target" ""
  exit
fi

counts="$(mktemp -d)"
trap 'rm -rf "$counts"' EXIT
build "$target/profile" "'-Cprofile-generate'"
LLVM_PROFILE_FILE="$counts/%p-%m.profraw" bench/train.sh "$target/profile/$triple/dist/nandarium"
[[ -z "${3:-}" ]] || LLVM_PROFILE_FILE="$counts/%p-%m.profraw" "$target/profile/$triple/dist/$3" --smoke >/dev/null
"$(tool)" merge -o "$profile" "$counts"

# Counts of functions with other names would be left out in silence.
build "$target" "'-Cprofile-use=$profile', '-Cllvm-args=-pgo-warn-missing-function'" 2>&1 | tee "$counts/log" >&2
if missing="$(grep -m 1 'no profile data available for function' "$counts/log")"; then
  echo "profiled: the counts were not used, for they name other functions ($missing)" >&2
  exit 1
fi
