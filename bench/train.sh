#!/usr/bin/env bash
# The runs from which the compiler learns how often a function is called: each built-in stack, counted and in time, under
# reads and writes, and a comparison, a life and a trace. Usage: bench/train.sh PROGRAM
set -euo pipefail
program="$1"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
run() { "$program" run --quiet --no-snapshots --set drive.precondition=fill "$@" >/dev/null; }

for stack in $("$program" list stacks | sed -n 's/^  \([a-z0-9-]*\) .*/\1/p'); do
  run --stack "$stack" --workload mixed --requests 40000
  run --stack "$stack" --workload zipf --requests 40000
done
# Most simulations are of these kinds.
for workload in uniform-read uniform-write mixed; do
  run --stack page --workload "$workload" --requests 1000000 --set drive.capacity=1GiB
done
run --stack page --workload uniform-write --requests 2000000 --set drive.capacity=1GiB --set engine.time=none
