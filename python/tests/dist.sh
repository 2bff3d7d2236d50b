#!/usr/bin/env bash
# Tries what `make dist` made where nothing is installed: the program in a root folder that holds nothing else, the wheel on a Debian
# as debootstrap makes it, with Python but no compiler. The source distribution is compiled with Rust and a C compiler, without Node.js.
# As root; takes some minutes for the compiler, and some for the Debian.
#
#   dist.sh DIST PYTHON
set -euo pipefail

dist="$(realpath "$1")" python="$2"
program="$(echo "$dist"/nandarium-*-linux)" wheel="$(echo "$dist"/nandarium-*.whl)" sdist="$(echo "$dist"/nandarium-*.tar.gz)"
run=(run --stack page --workload zipf --set drive.capacity=1GiB --requests 20000 --seed 1 --no-snapshots --quiet)

say() { echo "dist-test: $*"; }
fail() { echo "dist-test: $*" >&2; exit 1; }

[[ "$(id -u)" == 0 ]] || fail "only root can change the root folder; run it as root"
[[ -x "$program" && -f "$wheel" && -f "$sdist" ]] || fail "$dist does not hold a program, a wheel and a source distribution; make dist"
command -v cargo >/dev/null || fail "cargo is missing, which compiles the source distribution; install Rust from https://rustup.rs"
if ! command -v debootstrap >/dev/null; then
  command -v apt-get >/dev/null || fail "debootstrap is missing; install it"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
fi

work="$(mktemp -d "${TMPDIR:-/tmp}/nandarium-dist.XXXXXX")"
trap 'rm -rf --one-file-system "$work"' EXIT
(cd "$dist" && sha256sum --check --quiet SHA256SUMS)
told="$("$program" "${run[@]}" | grep -o 'hash [0-9a-f]*')"

inside() { local root="$1"; shift; env -i PATH=/venv/bin:/usr/sbin:/usr/bin:/bin HOME=/tmp chroot "$root" "$@"; }

mkdir -p "$work/empty/tmp"
cp "$program" "$work/empty/nandarium"
inside "$work/empty" /nandarium "${run[@]}" --out /tmp/out | grep -qF "$told" || fail "the program gave another hash in an empty root folder"
[[ -s "$work/empty/tmp/out/report.html" ]] || fail "the program wrote no report in an empty root folder"
say "$(basename "$program") runs in an empty root folder, $told"

name="$(basename "$sdist")"
files="$(tar -tzf "$sdist")"
grep -q '/crates/front/cli/pages/report\.js$' <<<"$files" || fail "$name has no built pages; [tool.maturin] of pyproject.toml includes them"
# Each folder of PATH with Node.js in it is replaced by one with links to all other programs.
path=""
IFS=: read -ra places <<<"$PATH"
for place in "${places[@]}"; do
  if [[ -e "$place/node" || -e "$place/npm" ]]; then
    links="$(mktemp -d "$work/links.XXXXXX")"
    find "$(realpath "$place")" -mindepth 1 -maxdepth 1 ! -name 'node*' ! -name npm ! -name npx -exec ln -s -t "$links" {} +
    place="$links"
  fi
  path+="${path:+:}$place"
done
for tool in node npm; do
  if PATH="$path" command -v $tool >/dev/null; then fail "$tool is still in PATH: $path"; fi
done
"$python" -m venv "$work/sources"
say "$name is compiled now, which takes some minutes"
if ! PATH="$path" CARGO_TARGET_DIR="$work/target" "$work/sources/bin/pip" install --disable-pip-version-check "$sdist" >"$work/pip.log" 2>&1; then
  tail -n 60 "$work/pip.log" >&2
  fail "$name does not compile. If a file is missing in it, name the file in [tool.maturin] of pyproject.toml, then: make dist-test"
fi
rm -rf "$work/target"
used="$(cd "$work" && "$work/sources/bin/nandarium" "${run[@]}")"
grep -qF "$told" <<<"$used" || fail "the command compiled from $name gave another hash than $told: $(grep -o 'hash [0-9a-f]*' <<<"$used" || echo none)"
say "$name compiles without Node.js and runs, $told"

debian="$work/debian"
debootstrap --variant=minbase --include=python3-venv bookworm "$debian" >"$work/debootstrap.log" || { tail -n 20 "$work/debootstrap.log" >&2; exit 1; }
for tool in cc gcc rustc cargo; do
  if inside "$debian" sh -c "command -v $tool" >/dev/null; then fail "there is a compiler in the root folder: $tool"; fi
done
machine="$(uname -m)"
# What pip would fetch by itself; this way the Debian needs no network.
"$python" -m pip download --quiet --disable-pip-version-check --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 --abi abi3 \
  --platform "manylinux_2_28_$machine" --platform "manylinux_2_27_$machine" --platform "manylinux_2_17_$machine" --dest "$debian/wheels" "numpy>=1.26"
cp "$wheel" "$debian/wheels/"
inside "$debian" python3 -m venv /venv
inside "$debian" pip install --quiet --disable-pip-version-check --no-index --find-links /wheels nandarium
inside "$debian" nandarium "${run[@]}" | grep -qF "$told" || fail "the command of the wheel gave another hash"
inside "$debian" python3 -c '
import nandarium as nd
result = nd.run("page", "zipf", settings={"drive.capacity": "1GiB"}, requests=20_000, seed=1, snapshots=False)
print("hash", result.hash)' | grep -qF "$told" || fail "the package gave another hash"
say "$(basename "$wheel") installs and runs on Debian $(cat "$debian/etc/debian_version") without a compiler, $told"
