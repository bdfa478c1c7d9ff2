#!/bin/sh
# A virtual machine that uses an export by the kernel's own NBD client (nbd-client -persist) while its server is replaced
# again and again: it writes all the time, and at the end reads all of it back.
#
#     docs/restart-guest.sh [RESTARTS]
#
# Needed: the packages qemu-system-x86, busybox-static and nbd-client, and once a Debian mirror for the kernel
# (two-guests.sh gets it). The guest is emulated, so that this runs anywhere, or `accel=kvm docs/restart-guest.sh`.
set -eu

here=$(dirname "$0")
target=${CARGO_TARGET_DIR:-$here/../target}
kernel=$target/guest-kernel
blksched=${blksched:-$target/release/blksched}
restarts=${1:-3}
# What nbd-client is told beside -persist.
how=${how:--nonetlink}
port=${port:-10819}
export PATH="$PATH:/usr/sbin:/sbin"

give_up() {
    echo "restart-guest: $*" >&2
    exit 1
}

# 64 KiB a time, each with its own content, until it is told to stop; then all of it is read again.
init() {
    cat <<INIT
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
for module in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci failover net_failover virtio_net nbd; do
    insmod /\$module.ko || echo "no \$module"
done
ip link set lo up
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0
/sbin/nbd-client 10.0.2.2 $port /dev/nbd0 -name a -persist $how 2>&1
cat /sys/block/nbd0/size
echo ready
(read -r order; echo "\$order" >/stop) </dev/console &
n=0
while [ ! -e /stop ] && [ \$n -lt 2000 ]; do
    yes "block \$n" | head -c 65536 >/block
    dd if=/block of=/dev/nbd0 bs=64k seek=\$n oflag=direct conv=notrunc 2>/dev/null || echo "write \$n failed"
    n=\$((n + 1))
    [ \$((n % 20)) != 0 ] || echo "wrote \$n"
    sleep 0.05
done
wrong=0 at=0
while [ \$at -lt \$n ]; do
    yes "block \$at" | head -c 65536 >/block
    dd if=/dev/nbd0 of=/back bs=64k skip=\$at count=1 iflag=direct 2>/dev/null || echo "read \$at failed"
    cmp -s /block /back || wrong=\$((wrong + 1))
    at=\$((at + 1))
done
echo "GUEST \$(uname -r): wrote \$n blocks and found \$wrong of them wrong"
poweroff -f
INIT
}

for program in qemu-system-x86_64 busybox nbd-client; do
    command -v $program >/dev/null || give_up "no $program: apt-get install qemu-system-x86 busybox-static nbd-client"
done
[ -x "$blksched" ] || give_up "no $blksched: cargo build --release, or say blksched=PROGRAM"
sh "$here/two-guests.sh" --fetch
work=$(mktemp -d)
server=
trap 'kill $(cat "$work/qemu.pid" 2>/dev/null) $server 2>/dev/null || :; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$work/root/dev" "$work/root/proc" "$work/root/sys" "$work/root/bin" "$work/root/sbin" "$work/root/etc"
cp "$(command -v busybox)" "$work/root/bin"
cp "$(command -v nbd-client)" "$work/root/sbin"
for library in $(ldd "$(command -v nbd-client)" | tr -s ' \t' '\n' | grep '^/'); do
    mkdir -p "$work/root$(dirname "$library")"
    cp "$library" "$work/root$library"
done
init >"$work/root/init"
chmod +x "$work/root/init"
find "$kernel/lib" \( -path '*/virtio/virtio*.ko' -o -name virtio_net.ko -o -name net_failover.ko -o -name failover.ko \
    -o -name nbd.ko \) -exec cp {} "$work/root" \;
(cd "$work/root" && find . | busybox cpio -o -H newc) >"$work/image" 2>/dev/null
truncate -s 256M "$work/disk"

serve() {
    "$blksched" serve --export "a=$work/disk" --tcp "127.0.0.1:$port" --control "$work/control" "$@" >"$work/server.log" 2>&1 &
    server=$!
}
serve
mkfifo "$work/console"
timeout -k 5 600 qemu-system-x86_64 -accel "${accel:-tcg}" -m 128M -nodefaults -display none -no-reboot \
    -kernel "$kernel"/boot/vmlinuz-* -initrd "$work/image" -append 'console=ttyS0 quiet panic=-1' -serial stdio \
    -netdev user,id=net -device virtio-net-pci,netdev=net <"$work/console" >"$work/log" 2>&1 &
echo $! >"$work/qemu.pid"
exec 3>"$work/console"
await() {
    tries=0
    until grep -q "$1" "$work/log"; do
        tries=$((tries + 1))
        kill -0 "$(cat "$work/qemu.pid")" 2>/dev/null || give_up "the guest has ended: $(cat "$work/log")"
        [ $tries -lt 1500 ] || give_up "the guest does nothing: $(cat "$work/log")"
        sleep 0.2
    done
}
await "wrote 20"
for round in $(seq "$restarts"); do
    before=$server
    if [ -n "${stop:-}" ]; then
        kill "$before"; wait "$before" || :; sleep "$stop"; serve
    else
        serve --take-over
        wait "$before" || give_up "the server before it: $(cat "$work/server.log")"
    fi
    sleep 3
    echo "restart $round"
done
echo stop >&3
await "GUEST"
grep -a "GUEST\|failed\|rror" "$work/log"
grep -q "found 0 of them wrong" "$work/log"
