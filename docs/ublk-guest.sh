#!/bin/sh
# Exports as block devices of a machine (`blksched serve --ublk`), tried in a virtual machine, for its kernel has the
# driver: Debian's 6.12 for clouds with blksched, fio and the tools of ext4 around it. What is missing is named; two
# devices of a slow disk share it two to one; a load is verified, a file system is made, used, trimmed and checked; the
# server ends by Ctrl-C and is killed, and what it leaves is removed.
#
#     docs/ublk-guest.sh [GUEST'S COMMAND]
#     docs/ublk-guest.sh --fetch        # only gets the guest's kernel
#
# Needed: the packages qemu-system-x86, busybox-static, e2fsprogs and fio, and once a Debian mirror for the kernel, which
# is unpacked into the target folder, not installed. The guest is emulated, so that this runs anywhere, or
# `accel=kvm docs/ublk-guest.sh`.
set -eu

here=$(dirname "$0")
target=${CARGO_TARGET_DIR:-$here/../target}
kernel=$target/guest-kernel-ublk
blksched=${blksched:-$target/release/blksched}
export PATH="$PATH:/usr/sbin:/sbin"

give_up() {
    echo "ublk-guest: $*" >&2
    exit 1
}

# The newest of Debian's kernels for clouds from 6.12 on: 6.1, which Debian 12 has otherwise, is without ublk.
fetch_kernel() {
    if [ -e "$kernel" ]; then return; fi
    versioned=$(apt-cache pkgnames linux-image-6.1 | grep -E '^linux-image-6\.1[2-9]\.[0-9].*-cloud-amd64$' | sort -V | tail -n 1)
    [ -n "$versioned" ] || give_up "apt knows no linux-image-6.12…-cloud-amd64: no Debian for amd64, or no apt-get update yet"
    rm -rf "$kernel.new"
    mkdir -p "$kernel.new"
    (cd "$kernel.new" && apt-get -qq download "$versioned" && dpkg -x ./*.deb . && rm ./*.deb) || give_up "no kernel"
    mv "$kernel.new" "$kernel"
}

# What the guest does, line by line to its console.
init() {
    cat <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mkdir -p /dev/shm /tmp /mnt /run
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
ip link set lo up
export PATH=/bin:/usr/bin:/sbin:/usr/sbin
echo "GUEST $(uname -r)"
sh -c '. /command' 2>&1
echo "command ended: $?"
echo DONE
poweroff -f
INIT
}

command_of_guest() {
    cat <<'COMMAND'
set -u
fail() { echo "WRONG: $*"; cat /tmp/log; dmesg | tail -n 30; exit 1; }
# Start the server in the background, and wait until it serves.
start() {
    : >/tmp/said
    blksched serve --unix /run/nbd.sock --control /run/ctl "$@" >/tmp/said 2>/tmp/log &
    server=$!
    tries=0
    until blksched ctl /run/ctl list >/dev/null 2>&1 && grep -q '^ublk: ' /tmp/said; do
        tries=$((tries + 1))
        [ -e /proc/$server ] || fail "the server has ended"
        [ $tries -lt 300 ] || fail "the server does not begin"
        sleep 0.2
    done
    cat /tmp/said
}
# Stop it with this signal; how it ended.
stop() {
    kill -$1 $server
    wait $server
    echo "ended by $1: $?"
}
gone() { [ ! -e /dev/ublkb0 ] && [ ! -e /dev/ublkc0 ] && echo "no device is left"; }
check() {
    fsck.ext4 -fn /tmp/disk >/tmp/found 2>&1
    echo "fsck: $?, $(tail -n 1 /tmp/found)"
}

echo "== without the driver"
blksched serve --export a=mem:1M --ublk a
insmod /ublk_drv.ko || fail "no ublk_drv"
chmod 666 /dev/ublk-control
echo "== without root"
su -s /bin/sh nobody -c 'blksched serve --export a=mem:1M --ublk a'
chmod 600 /dev/ublk-control
su -s /bin/sh nobody -c 'blksched serve --export a=mem:1M --ublk a'

echo "== what the device is like"
truncate -s 96M /tmp/disk
start --export disk=/tmp/disk --export r=mem:8M,ro --ublk disk,queues=2,depth=32 --ublk r
for name in ublkb0 ublkb1; do
    queue=/sys/block/$name/queue
    echo "$name: sectors $(cat /sys/block/$name/size) queues $(ls /sys/block/$name/mq | wc -l)" \
        "blocks $(cat $queue/logical_block_size) $(cat $queue/physical_block_size) ro $(cat /sys/block/$name/ro)" \
        "discard $(cat $queue/discard_max_bytes) zeroes $(cat $queue/write_zeroes_max_bytes)" \
        "cache $(cat $queue/write_cache) fua $(cat $queue/fua) depth $(cat /sys/block/$name/mq/0/nr_tags)"
done
dd if=/dev/zero of=/dev/ublkb1 bs=4k count=1 2>&1 | grep -i "permitted\|read-only" || fail "written, though it is read-only"
blksched ublk list
blksched ublk remove 0

echo "== a load, verified"
fio --name=verify --filename=/dev/ublkb0 --size=8M --rw=randwrite --bs=4k,64k --bssplit=4k/60:64k/30:512k/10 --iodepth=16 \
    --ioengine=libaio --direct=1 --verify=crc32c --fsync=64 --thread | grep "err="
dd if=/dev/ublkb0 bs=1M count=8 iflag=direct 2>/dev/null | cmp -n 8388608 - /tmp/disk && echo "the file has the same"
blkdiscard -o 1048576 -l 1048576 /dev/ublkb0 && echo discarded
dd if=/dev/ublkb0 bs=1M skip=1 count=1 iflag=direct 2>/dev/null | cmp -n 1048576 - /dev/zero && echo "reads as zeroes"
echo "== a file system"
mkfs.ext4 -q /dev/ublkb0 && mount -t ext4 /dev/ublkb0 /mnt || fail "no file system"
for n in 1 2 3 4 5 6 7 8; do yes "file $n" | head -c 2000000 >/mnt/$n; done
sync
md5sum /mnt/[1-6] >/tmp/sums
rm /mnt/7 /mnt/8
fstrim -v /mnt
umount /mnt
stop INT
gone
check

echo "== two to one"
start --model /slow-disk.toml --depth 1 --export a=mem:64M,weight=100 --export b=mem:64M,weight=200 --ublk a --ublk b
for name in 0 1; do
    fio --name=r --filename=/dev/ublkb$name --readonly --rw=randread --bs=4k --direct=1 --iodepth=16 --ioengine=libaio \
        --time_based --runtime=300 --thread >/dev/null 2>&1 &
    eval load$name=$!
done
count() { blksched ctl /run/ctl get tenants/$1/stat | tr ' ' '\n' | sed -n "s/^$2=//p"; }
# Both must be at it: what the kernel reads of a new disk is not the load.
for name in a b; do
    before=$(count $name rios) tries=0
    until [ $(count $name rios) -gt $((before + 40)) ]; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || fail "no load on $name"
        sleep 0.2
    done
done
a=$(count a device_us) b=$(count b device_us)
sleep 12
a=$(($(count a device_us) - a)) b=$(($(count b device_us) - b))
echo "shares: b had $((100 * b / a)) hundredths of what a had"
kill $load0 $load1
wait $load0 $load1
stop TERM
gone

echo "== killed"
start --export disk=/tmp/disk --ublk disk
mount -t ext4 /dev/ublkb0 /mnt || fail "not mounted"
md5sum -c /tmp/sums 2>/dev/null | grep -c OK
(i=0; while yes "write $i" | dd of=/mnt/w$i bs=64k count=4 iflag=fullblock conv=fsync 2>/dev/null; do i=$((i + 1)); done) &
load=$!
sleep 3
stop KILL
wait $load
umount /mnt
tries=0
while [ -e /dev/ublkb0 ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
ls /dev/ublkb0 /dev/ublkc0
blksched ublk list
start --export disk=/tmp/disk --ublk disk
grep "remove" /tmp/log
ls /dev/ublkb*
stop TERM
blksched ublk remove 0 && gone
# What was in flight when it was killed needs the journal.
fsck.ext4 -fp /tmp/disk >/dev/null 2>&1
check
COMMAND
}

if [ "${1-}" = --fetch ]; then
    fetch_kernel
    exit
fi
for program in qemu-system-x86_64 busybox fio mkfs.ext4; do
    command -v $program >/dev/null || give_up "no $program: apt-get install qemu-system-x86 busybox-static fio e2fsprogs"
done
[ -x "$blksched" ] || give_up "no $blksched: cargo build --release, or say blksched=PROGRAM"
fetch_kernel
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$work/root/bin" "$work/root/usr/bin" "$work/root/dev" "$work/root/proc" "$work/root/sys" "$work/root/etc"
cp "$(command -v busybox)" "$work/root/bin"
for program in fio mkfs.ext4 fsck.ext4 "$blksched"; do
    path=$(command -v "$program")
    cp "$path" "$work/root/usr/bin/"
    for library in $(ldd "$path" | tr -s ' \t' '\n' | grep '^/'); do
        mkdir -p "$work/root$(dirname "$library")"
        cp -n "$library" "$work/root$library"
    done
done
# A program under development has more names than code.
strip "$work/root/usr/bin/$(basename "$blksched")" 2>/dev/null || :
mv "$work/root/usr/bin/$(basename "$blksched")" "$work/root/usr/bin/program" && mv "$work/root/usr/bin/program" "$work/root/usr/bin/blksched"
echo 'nobody:x:65534:65534:nobody:/:/bin/sh' >"$work/root/etc/passwd"
cp "$here/slow-disk.toml" "$work/root"
init >"$work/root/init"
if [ -n "${1-}" ]; then echo "$1"; else command_of_guest; fi >"$work/root/command"
chmod +x "$work/root/init"
module=$(find "$kernel/lib" -name 'ublk_drv.ko*')
case $module in
    *.xz) busybox xzcat "$module" >"$work/root/ublk_drv.ko" ;;
    *.ko) cp "$module" "$work/root" ;;
    *) give_up "the kernel in $kernel has no ublk_drv" ;;
esac
(cd "$work/root" && find . | busybox cpio -o -H newc | gzip -1) >"$work/image" 2>/dev/null
timeout -k 5 900 qemu-system-x86_64 -accel "${accel:-tcg}" -nodefaults -display none -no-reboot -smp 2 -m 1G \
    -kernel "$kernel"/boot/vmlinuz-* -initrd "$work/image" -append 'console=ttyS0 quiet panic=-1' -serial stdio </dev/null
