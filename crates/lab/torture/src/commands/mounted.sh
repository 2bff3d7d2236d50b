# A file system on the drive for the command that follows, under NANDARIUM_MOUNT; the drive itself is the file
# NANDARIUM_DISK.
#
#   command -> file system -> loop device -> nbdfuse (or the image of the drive)
#
# What takes each thing away again is in the file `undo`, the newest first. The programs were looked for before (mount.rs).
PATH="$PATH:/usr/sbin:/sbin"
# The machine lacks something: that says nothing of the drive.
lacks() {
    echo "--mount: $1" > "$NANDARIUM_FOLDER/not-mounted"
    exit 1
}
later() {
    { printf '%s\n' "$1"; cat "$NANDARIUM_FOLDER/undo" 2> /dev/null; } > "$NANDARIUM_FOLDER/undo.new"
    mv "$NANDARIUM_FOLDER/undo.new" "$NANDARIUM_FOLDER/undo"
}
end() {
    code=$?
    trap - EXIT
    cd /
    sh "$NANDARIUM_FOLDER/undo" > /dev/null 2>&1
    rm -f "$NANDARIUM_FOLDER/undo"
    exit "$code"
}
not_mounted() {
    echo "the $NANDARIUM_FILE_SYSTEM file system cannot be mounted"
    exit 1
}
NANDARIUM_MOUNT="$NANDARIUM_FOLDER/mount"
export NANDARIUM_MOUNT
mkdir -p "$NANDARIUM_MOUNT" "$NANDARIUM_FOLDER/fuse"
: > "$NANDARIUM_FOLDER/undo"
trap end EXIT
device="$NANDARIUM_IMAGE"
if [ -z "$device" ]; then
    device="$NANDARIUM_FOLDER/fuse/nbd"
    later "fusermount3 -u '$NANDARIUM_FOLDER/fuse' || fusermount3 -uz '$NANDARIUM_FOLDER/fuse'"
    if [ "$NANDARIUM_FILE_SYSTEM" = fuse2fs ] || [ "$NANDARIUM_FILE_SYSTEM" = none ]; then
        # Parts of sectors may be written.
        nbdfuse "$NANDARIUM_FOLDER/fuse" --command nbdkit -s --filter=blocksize nbd uri="$NANDARIUM_URI" minblock=512 &
    else
        nbdfuse "$NANDARIUM_FOLDER/fuse" "$NANDARIUM_URI" &
    fi
    tries=0
    until [ -e "$device" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 2000 ] || lacks "nbdfuse shows no drive; it needs /dev/fuse and $NANDARIUM_URI"
        sleep 0.01
    done
fi
NANDARIUM_DISK="$device"
export NANDARIUM_DISK
if [ "$NANDARIUM_FILE_SYSTEM" = none ]; then
    :
elif [ "$NANDARIUM_FILE_SYSTEM" = fuse2fs ]; then
    [ -z "$NANDARIUM_IS_NEW" ] || mkfs.ext4 -q -F "$device" || lacks "mkfs.ext4 makes no file system of this size"
    # It keeps no journal: what a cut leaves is repaired first, as after any crash.
    if [ -n "$NANDARIUM_IMAGE" ]; then
        e2fsck -fy "$device" > "$NANDARIUM_FOLDER/e2fsck" 2>&1
        [ "$?" -lt 4 ] || { cat "$NANDARIUM_FOLDER/e2fsck"; not_mounted; }
    fi
    later "fusermount -u '$NANDARIUM_MOUNT' || fusermount -uz '$NANDARIUM_MOUNT'"
    fuse2fs -o "fakeroot${NANDARIUM_MOUNT_OPTIONS:+,$NANDARIUM_MOUNT_OPTIONS}" "$device" "$NANDARIUM_MOUNT" > /dev/null || not_mounted
else
    # Without direct I/O the page cache below the loop device would swallow what is written.
    direct=on
    [ -z "$NANDARIUM_IMAGE" ] || direct=off
    later "losetup -j '$device' | cut -d: -f1 | while read -r looped; do losetup -d \"\$looped\"; done"
    looped=$(losetup -f --show --direct-io=$direct "$device") || lacks "losetup finds no loop device"
    [ -z "$NANDARIUM_IS_NEW" ] || "mkfs.$NANDARIUM_FILE_SYSTEM" -q "$looped" || lacks "mkfs.$NANDARIUM_FILE_SYSTEM makes no file system of this size"
    later "umount '$NANDARIUM_MOUNT' || umount -l '$NANDARIUM_MOUNT'"
    mount -t "$NANDARIUM_FILE_SYSTEM" ${NANDARIUM_MOUNT_OPTIONS:+-o "$NANDARIUM_MOUNT_OPTIONS"} "$looped" "$NANDARIUM_MOUNT" || not_mounted
fi
unset NANDARIUM_FILE_SYSTEM NANDARIUM_MOUNT_OPTIONS NANDARIUM_IS_NEW
