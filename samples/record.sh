#!/bin/bash
# Record the block requests that a real program causes on ext4, as a trace CSV.
#
#   record.sh OUT.csv.zst                  run workload.py: SQLite, git, file copies
#   record.sh OUT.csv.zst COMMAND [ARG..]  run COMMAND inside the fresh file system instead
#
# The path of a request, top to bottom:
#
#   program -> ext4 -> loop device -> nbdfuse (FUSE) -> NBD socket -> nbdkit log filter -> memory
#                                                                     ^ recorded here
#
# Needs root, FUSE, and on Debian:
#   apt-get install nbdkit libnbd-bin fuse3 e2fsprogs util-linux git python3 zstd
# No kernel module beyond loop, fuse and ext4 is used. Drops the machine's page cache.
#
# Environment: DISK_SIZE (default 1G), MOUNT_OPTIONS (default discard), PYTHON (default python3).
set -euo pipefail

disk_size=${DISK_SIZE:-1G}
mount_options=${MOUNT_OPTIONS:-discard}
python=${PYTHON:-python3}

if [ $# -lt 1 ]; then
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
    exit 2
fi
if [ "$(id -u)" != 0 ]; then
    echo "record.sh: must be root to set up a loop device and mount it" >&2
    exit 1
fi
for tool in nbdkit nbdfuse fusermount3 losetup mkfs.ext4 fstrim git zstd "$python"; do
    command -v "$tool" >/dev/null || { echo "record.sh: $tool is not installed" >&2; exit 1; }
done

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "$1")
shift
if [ $# -eq 0 ]; then
    set -- "$python" "$here/workload.py"
fi

work=$(mktemp -d)
mkdir "$work/fuse" "$work/fs"
nbdkit_pid= nbdfuse_pid= loop=

# Undoes whatever has been set up so far, newest first.
tear_down() {
    if mountpoint -q "$work/fs"; then umount "$work/fs"; fi
    if [ -n "$loop" ]; then losetup -d "$loop"; loop=; fi
    if [ -n "$nbdfuse_pid" ]; then
        fusermount3 -q -u "$work/fuse" || kill "$nbdfuse_pid" || true
        wait "$nbdfuse_pid" || true
        nbdfuse_pid=
    fi
    if [ -n "$nbdkit_pid" ]; then
        kill "$nbdkit_pid" || true
        wait "$nbdkit_pid" || true
        nbdkit_pid=
    fi
}
# --one-file-system: should an unmount have failed, leave the mounted files alone.
trap 'tear_down; rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT TERM

# Waits until the path exists, five seconds at most.
wait_for() {
    for _ in $(seq 100); do
        if [ -e "$1" ]; then return; fi
        sleep 0.05
    done
    echo "record.sh: $1 did not appear" >&2
    exit 1
}

# Notes where a phase of the recording begins; convert.py turns this into trace times.
export PHASES="$work/phases"
phase() { echo "$(date +%s.%N) $1" >>"$PHASES"; }

# The log filter stamps in UTC whatever the zone; -f keeps the process ours to end.
nbdkit -f -U "$work/nbd.sock" --filter=log memory "$disk_size" logfile="$work/log" &
nbdkit_pid=$!
wait_for "$work/nbd.sock"
nbdfuse "$work/fuse" "nbd+unix:///?socket=$work/nbd.sock" &
nbdfuse_pid=$!
wait_for "$work/fuse/nbd"
# Without direct I/O the page cache below the loop device would swallow reads.
loop=$(losetup -f --show --direct-io=on "$work/fuse/nbd")

phase mkfs
mkfs.ext4 -q "$loop"
phase "mount and run"
mount -o "$mount_options" "$loop" "$work/fs"
(cd "$work/fs" && "$@")
phase unmount
tear_down

"$python" "$here/convert.py" --phases "$PHASES" "$work/log" >"$work/trace.csv"
zstd -q -f -19 "$work/trace.csv" -o "$out"
"$python" "$here/describe.py" <"$work/trace.csv"
