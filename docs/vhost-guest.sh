#!/bin/sh
# A virtual machine whose disk is an export by vhost-user-blk, without NBD: Debian's kernel for clouds, its root a file
# system on that disk, two queues. It runs fio on it, gives back what is free, and powers off; then the file system is
# checked, and what the server has counted is printed.
#
#     docs/vhost-guest.sh [GUEST'S COMMAND]
#
# Needed: the packages qemu-system-x86, busybox-static, e2fsprogs and fio, and once a Debian mirror for the kernel
# (two-guests.sh gets it). The guest is emulated, so that this runs anywhere, or `accel=kvm docs/vhost-guest.sh`.
set -eu

here=$(dirname "$0")
target=${CARGO_TARGET_DIR:-$here/../target}
kernel=$target/guest-kernel
blksched=${blksched:-$target/release/blksched}
export PATH="$PATH:/usr/sbin:/sbin"

give_up() {
    echo "vhost-guest: $*" >&2
    exit 1
}

# What is in the machine's memory: enough to find its disk.
loader() {
    cat <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
for module in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk; do
    insmod /$module.ko
done
mount -t ext4 /dev/vda /disk && exec switch_root /disk /init
INIT
}

# What is on its disk.
init() {
    cat <<'INIT'
#!/bin/busybox sh
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
ip link set lo up
queue=/sys/block/vda/queue
echo "GUEST $(uname -r), $(ls /sys/block/vda/mq | wc -l) queues, discard $(cat $queue/discard_max_bytes)," \
    "zeroes $(cat $queue/write_zeroes_max_bytes), cache $(cat $queue/write_cache), disk $(cat /sys/block/vda/serial)"
sh /command
echo "command ended: $?"
sync
mount -o remount,ro /
echo DONE
poweroff -f
INIT
}

for program in qemu-system-x86_64 busybox fio mkfs.ext4; do
    command -v $program >/dev/null || give_up "no $program: apt-get install qemu-system-x86 busybox-static fio e2fsprogs"
done
[ -x "$blksched" ] || give_up "no $blksched: cargo build --release, or say blksched=PROGRAM"
sh "$here/two-guests.sh" --fetch
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$work/root/bin" "$work/root/usr/bin" "$work/root/dev" "$work/root/proc" "$work/root/sys" \
    "$work/loader/bin" "$work/loader/dev" "$work/loader/disk"
for place in root loader; do
    cp "$(command -v busybox)" "$work/$place/bin"
    for name in sh cat ls wc uname mount umount sync poweroff mkdir ip fstrim grep head; do
        [ $place = loader ] || ln -sf busybox "$work/root/bin/$name"
    done
done
cp "$(command -v fio)" "$work/root/usr/bin"
for library in $(ldd "$(command -v fio)" | tr -s ' \t' '\n' | grep '^/'); do
    mkdir -p "$work/root$(dirname "$library")"
    cp "$library" "$work/root$library"
done
loader >"$work/loader/init"
init >"$work/root/init"
cat >"$work/root/command" <<END
${1:-fio --name=verify --filename=/verified --size=8M --rw=randwrite --bs=4k,64k --iodepth=8 --ioengine=libaio --direct=1 \
    --verify=crc32c --fsync=64 --numjobs=1 --thread && fstrim -v /}
END
chmod +x "$work/loader/init" "$work/root/init"
find "$kernel/lib" \( -path '*/virtio/virtio*.ko' -o -name virtio_blk.ko \) -exec cp {} "$work/loader" \;
(cd "$work/loader" && find . | busybox cpio -o -H newc) >"$work/image" 2>/dev/null
truncate -s 256M "$work/disk"
mkfs.ext4 -q -E nodiscard -d "$work/root" "$work/disk"

"$blksched" serve --export "disk=$work/disk" --vhost-user "disk=$work/vhost" --run "
    timeout -k 5 600 qemu-system-x86_64 -accel ${accel:-tcg} -nodefaults -display none -no-reboot -smp 2 -m 512M \
        -object memory-backend-memfd,id=memory,size=512M,share=on -machine memory-backend=memory \
        -chardev 'socket,id=disk,path=$work/vhost' -device vhost-user-blk-pci,chardev=disk,num-queues=2 \
        -kernel '$kernel'/boot/vmlinuz-* -initrd '$work/image' -append 'console=ttyS0 quiet panic=-1' -serial stdio
    '$blksched' ctl \"\$control\" get tenants/disk/stat" </dev/null
fsck.ext4 -fn "$work/disk"
