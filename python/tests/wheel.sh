#!/usr/bin/env bash
# Checks what `make dist` made: that the wheel runs on each system that its tag names, as auditwheel would, and the program on any. The wheel is then
# installed into a fresh virtual environment, and used.
#
#   wheel.sh WHEEL PYTHON GLIBC [PROGRAM]     GLIBC: the newest version that the wheel may need, for example 2.28
set -euo pipefail

wheel="$(realpath "$1")" python="$2" glibc="$3" program="${4:-}"
say() { echo "wheel: $*"; }
fail() { echo "wheel: $*" >&2; exit 1; }

# Libraries that the policy manylinux lets a wheel take from the system.
allowed='libc.so.6 libm.so.6 libgcc_s.so.1 libpthread.so.0 libdl.so.2 librt.so.1 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1'

work="$(mktemp -d "${TMPDIR:-/tmp}/nandarium-wheel.XXXXXX")"
trap 'rm -rf "$work"' EXIT
"$python" -m zipfile -e "$wheel" "$work/unpacked"

tag="manylinux_${glibc//./_}_"
[[ "$(basename "$wheel")" == *"-cp311-abi3-$tag"* ]] || fail "$(basename "$wheel") does not have the tag cp311-abi3-$tag"
grep -q "^Tag: cp311-abi3-$tag" "$work"/unpacked/*.dist-info/WHEEL || fail "WHEEL within has another tag: $(grep '^Tag' "$work"/unpacked/*.dist-info/WHEEL)"

libraries="$(find "$work/unpacked" -name '*.so*')"
[[ -n "$libraries" ]] || fail "it holds no library"
for library in $libraries; do
  needed="$(readelf --version-info --wide "$library" | { grep -o 'GLIBC_[0-9.]*' || true; } | cut -d _ -f 2 | sort -V | tail -n 1)"
  [[ -n "$needed" ]] || fail "$(basename "$library") names no version of glibc"
  newest="$(printf '%s\n' "$needed" "$glibc" | sort -V | tail -n 1)"
  [[ "$newest" == "$glibc" ]] || fail "$(basename "$library") needs glibc $needed, and its tag promises $glibc"
  for name in $(readelf --dynamic --wide "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    [[ " $allowed " == *" $name "* ]] || fail "$(basename "$library") needs $name, which a system need not have"
  done
  say "$(basename "$library") needs glibc $needed"
done

if [[ -n "$program" ]]; then
  if readelf --program-headers --dynamic --wide "$program" | grep -qE 'INTERP|\(NEEDED\)'; then fail "$(basename "$program") needs libraries"; fi
  say "$(basename "$program") needs no library"
fi

[[ "$(basename "$wheel")" == *"_$(uname -m).whl" ]] || { say "built for another machine: not run"; exit; }
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"
run=(--stack page --workload zipf --requests 2000 --seed 1 --no-snapshots --quiet --set drive.capacity=1GiB)
told="$(cd "$work" && "$work/venv/bin/nandarium" run "${run[@]}" | { grep -o 'hash [0-9a-f]*' || true; })"
used="$(cd "$work" && "$work/venv/bin/python" -c '
import nandarium as nd
print("hash", nd.run("page", "zipf", settings={"drive.capacity": "1GiB"}, requests=2000, seed=1, snapshots=False).hash)')"
[[ -n "$told" ]] || fail "the command tells no hash"
[[ "$told" == "$used" ]] || fail "the command says $told, and the package $used"
if [[ -n "$program" && "$("$program" run "${run[@]}" | { grep -o 'hash [0-9a-f]*' || true; })" != "$told" ]]; then fail "the program gives another hash than $told"; fi
say "$(basename "$wheel") is installed in a fresh environment and runs, $told"
