#!/bin/sh
# Shards of a sweep or study side by side on this machine, and then the table:
#   docs/recipes/xargs.sh SHARDS AT_ONCE sweep plan.toml --out out/sweep
#   docs/recipes/xargs.sh SHARDS AT_ONCE repro tpm --out out/tpm
# Shards print nothing, so --json gives one document.
# With GNU parallel: seq 8 | parallel -j 4 nandarium sweep plan.toml --out out/sweep --shard {}/8
set -eu
shards=$1 at_once=$2
shift 2
# One thread each: the shards share the cores.
export RAYON_NUM_THREADS="${RAYON_NUM_THREADS:-1}"
seq "$shards" | xargs -P "$at_once" -I '{}' nandarium "$@" --quiet --shard "{}/$shards"
unset RAYON_NUM_THREADS
exec nandarium "$@"
