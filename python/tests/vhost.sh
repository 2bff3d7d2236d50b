#!/usr/bin/env bash
# Serves a drive to a virtual machine, which writes, verifies, discards, makes a file system, and lives through a power cut. Then a client
# without a machine (blkio) checks and measures the same drive, and fio measures it over NBD. As root on Debian; about a minute.
#
#   vhost.sh PROGRAM BLKIO FOLDER      BLKIO: the client of bench/blkio; FOLDER keeps the kernel of the virtual machine
set -euo pipefail

program="$(realpath "$1")" blkio="$(realpath "$2")" folder="$3"
say() { echo "vhost-test: $*"; }
fail() { echo "vhost-test: $*" >&2; tail -n 40 "$work/console" >&2 2>/dev/null || true; exit 1; }

missing=()
for tool in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio fio:fio mkfs.ext4:e2fsprogs; do
  PATH="$PATH:/usr/sbin:/sbin" command -v "${tool%%:*}" >/dev/null || missing+=("${tool##*:}")
done
if [[ "${#missing[@]}" != 0 ]]; then
  [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null || { echo "vhost-test needs these packages: ${missing[*]}" >&2; exit 1; }
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
mkdir -p "$folder" && folder="$(realpath "$folder")"
if [[ ! -d "$folder/boot" ]]; then
  kernel="$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends:/ { print $2; exit }')"
  (cd "$folder" && apt-get download -qq "$kernel" 2>/dev/null && dpkg-deb -x "$kernel"_*.deb . && rm "$kernel"_*.deb)
fi

work="$(mktemp -d "${TMPDIR:-/tmp}/nandarium-vhost.XXXXXX")"
server="" machine=""
trap 'kill $machine $server 2>/dev/null || true; wait; rm -rf --one-file-system "$work"' EXIT

root="$work/root"
mkdir -p "$root"/{bin,dev,proc,sys,mnt,tmp,modules}
cp "$(command -v busybox)" "$root/bin/busybox"
for tool in fio mkfs.ext4 e2fsck; do
  path="$(PATH="$PATH:/usr/sbin:/sbin" command -v "$tool")"
  cp -L "$path" "$root/bin/$tool"
  ldd "$path" | grep -o '/[^ )]*' | while read -r library; do
    mkdir -p "$root$(dirname "$library")" && cp -Ln "$library" "$root$library"
  done
done
modules=(virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk)
for module in "${modules[@]}"; do find "$folder/lib/modules" -name "$module.ko" -exec cp {} "$root/modules/" \;; done
cat > "$root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
for module in virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk; do insmod /modules/$module.ko; done
step() { name="$1"; shift; "$@" >/tmp/log 2>&1 && echo "PASSED $name" || { tail -n 20 /tmp/log; echo "FAILED $name"; }; }
is() { [ "$(cat /sys/block/vda/$1)" = "$2" ] || { echo "$1 is $(cat /sys/block/vda/$1), not $2"; return 1; }; }
zeros() { head -c 1048576 /dev/zero > /tmp/zeros; dd if=/dev/vda bs=1M skip=$1 count=1 iflag=direct of=/tmp/found && cmp /tmp/zeros /tmp/found; }
shape() {
  is size 524288 && is serial nandarium && is queue/physical_block_size 4096 && is queue/optimal_io_size 4096 &&
  is queue/discard_granularity 4096 && is queue/write_cache "write back" && [ "$(ls /sys/block/vda/mq | wc -l)" = 2 ]
}
discards() { zeros 200 && dd if=/dev/urandom of=/dev/vda bs=1M seek=200 count=1 oflag=direct && ! zeros 200 && blkdiscard -o 209715200 -l 1048576 /dev/vda && zeros 200; }
makes() { mkfs.ext4 -q -F /dev/vda && mount -t ext4 /dev/vda /mnt && dd if=/dev/urandom of=/mnt/kept bs=1M count=8 && sync && md5sum /mnt/kept > /tmp/sum; }
mends() { umount /mnt; e2fsck -f -y /dev/vda; [ $? -lt 4 ] && mount -t ext4 /dev/vda /mnt && md5sum -c /tmp/sum && fstrim /mnt && umount /mnt; }
step shape shape
step verify fio --name=v --filename=/dev/vda --size=8M --offset_increment=16M --numjobs=2 --rw=randwrite --bs=4k --ioengine=psync --direct=1 --fsync=64 --verify=crc32c --thread
step large fio --name=l --filename=/dev/vda --size=64M --offset=64M --rw=write --bs=4M --ioengine=psync --direct=1 --verify=crc32c --thread
step discard discards
step make makes
dd if=/dev/urandom of=/mnt/lost bs=1M count=8 2>/dev/null
echo CUT
read answer
step mend mends
echo END
poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) > "$work/initramfs"

"$program" serve --stack page --set drive.capacity=256MiB --set flash.channels=2 --set flash.dies_per_channel=2 \
  --socket "$work/drive.sock" --vhost-user "$work/vm.sock" --quiet &
server=$!
for _ in {1..200}; do [[ -S "$work/vm.sock" ]] && break; sleep 0.05; done
[[ -S "$work/vm.sock" ]] || fail "the server did not begin"
mkfifo "$work/say"
exec 9<> "$work/say"
qemu-system-x86_64 -accel tcg -smp 2 -m 512M -nographic -no-reboot -kernel "$folder"/boot/vmlinuz-* -initrd "$work/initramfs" \
  -append "console=ttyS0 quiet panic=-1" -object memory-backend-memfd,id=memory,size=512M,share=on -machine memory-backend=memory \
  -chardev socket,id=drive,path="$work/vm.sock" -device vhost-user-blk-pci,chardev=drive,num-queues=2 <&9 > "$work/console" 2>&1 &
machine=$!

await() {
  for _ in {1..1200}; do
    if grep -q FAILED "$work/console"; then fail "a step of the virtual machine failed"; fi
    if grep -q "$1" "$work/console"; then return; fi
    kill -0 "$machine" 2>/dev/null || { sleep 0.2; grep -q "$1" "$work/console" && return; fail "the virtual machine ended before $1"; }
    sleep 0.1
  done
  fail "the virtual machine never said $1"
}
await CUT
"$program" ctl "$work/drive.sock.ctl" power-cut 7 >/dev/null
echo go >&9
await END
for step in shape verify large discard make mend; do grep -q "PASSED $step" "$work/console" || fail "$step is missing"; done
"$program" ctl "$work/drive.sock.ctl" stats --json | grep -q '"trim"' || fail "no trim reached the drive"
say "a virtual machine wrote, verified, discarded, and lived through a power cut"

"$blkio" "$work/vm.sock" > "$work/rates" || fail "the client found other data"
say "4 KiB at random, requests a second over vhost-user-blk (blkio) and NBD (fio)"
while read -r pattern depth rate; do
  nbd="$(fio --name=r --ioengine=nbd --uri="nbd+unix:///?socket=$work/drive.sock" --rw="$pattern" --bs=4k --size=256M --iodepth="$depth" \
    --runtime=2 --time_based --aux-path="$work" --output-format=terse | awk -F';' 'NF > 49 { print $8 + $49 }')"
  say "$pattern, depth $depth: $rate and $nbd"
done < "$work/rates"
"$program" ctl "$work/drive.sock.ctl" shut-down >/dev/null
wait "$server" || fail "the server ended badly"
server=""
if [[ -e "$work/vm.sock" ]]; then fail "the server left its socket behind"; fi
