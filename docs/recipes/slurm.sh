#!/bin/sh
#SBATCH --job-name=nandarium
#SBATCH --array=1-64
#SBATCH --cpus-per-task=1
#SBATCH --time=04:00:00
# A sweep or study as a Slurm array over one folder that all nodes see. Each task runs a shard; a task that is
# requeued goes on where it was:
#   array=$(sbatch --parsable docs/recipes/slurm.sh sweep plan.toml --out /shared/sweep)
# The table, once all tasks have ended; what a task has left is run first:
#   sbatch --dependency="afterany:$array" --wrap 'nandarium sweep plan.toml --out /shared/sweep'
# Some tasks again, of the 64 that there are in all:
#   SHARDS=64 sbatch --array=5,17 docs/recipes/slurm.sh sweep plan.toml --out /shared/sweep
set -eu
# Tasks are counted from 1, as shards are: see --array above.
exec nandarium "$@" --quiet --shard "$SLURM_ARRAY_TASK_ID/${SHARDS:-$SLURM_ARRAY_TASK_COUNT}"
