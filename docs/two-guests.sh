#!/bin/sh
# Two virtual machines on one disk, two to one: boots a guest on each of the exports `a` and `b`, lets both read and then
# both write as fast as they can, and prints who got what, by the server's own account.
#
#     docs/two-guests.sh [SECONDS]      # each of the two races lasts so long (10)
#     docs/two-guests.sh --fetch        # only gets the guests' kernel
#
# By hand it begins with `blksched serve … --run docs/two-guests.sh` in front of a simulated slow disk (slow-disk.toml);
# start it with `--run` yourself for a disk of your own, whose exports `a` and `b` it OVERWRITES.
#
# The guests are Debian's kernel for clouds with nothing but busybox around it. Needed: the packages qemu-system-x86 and
# busybox-static, and once a Debian mirror for the kernel, which is unpacked into the target folder, not installed. The
# guests are emulated, so that this runs anywhere, or `accel=kvm docs/two-guests.sh`.
set -eu

here=$(dirname "$0")
target=${CARGO_TARGET_DIR:-$here/../target}
kernel=$target/guest-kernel
blksched=${blksched:-$target/release/blksched}

give_up() {
    echo "two-guests: $*" >&2
    exit 1
}

# Debian's kernel for clouds. The package without a version in its name knows the one with it.
fetch_kernel() {
    if [ -e "$kernel" ]; then return; fi
    versioned=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-\)/\1/p' | head -n 1)
    [ -n "$versioned" ] || give_up "apt knows no linux-image-cloud-amd64: no Debian for amd64, or no apt-get update yet"
    rm -rf "$kernel.new"
    mkdir -p "$kernel.new"
    (cd "$kernel.new" && apt-get -qq download "$versioned" && dpkg -x ./*.deb . && rm ./*.deb) || give_up "no kernel"
    mv "$kernel.new" "$kernel"
}

# What a guest does: its disk's driver, and then what it is told on its console. Eight readers or writers, each with an
# eighth of the disk, past the guest's page cache.
init() {
    cat <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
for module in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk; do
    insmod /$module.ko
done
part=$(($(blockdev --getsz /dev/vda) / 512 / 8))
once() {
    case $1 in
        read) dd if=/dev/vda of=/dev/null bs=256k count=$part iflag=direct skip=$(($2 * part)) ;;
        write) dd if=/dev/zero of=/dev/vda bs=256k count=$part oflag=direct seek=$(($2 * part)) conv=notrunc ;;
    esac
}
work() {
    while once $1 $2 2>/dev/null; do :; done
}
workers=
echo ready
while read -r order; do
    [ -z "$workers" ] || kill $workers
    killall dd 2>/dev/null
    [ "$order" != stop ] || poweroff -f
    workers=
    for n in 0 1 2 3 4 5 6 7; do
        work $order $n &
        workers="$workers $!"
    done
done
INIT
}

# All that a guest has, in one archive.
image() {
    mkdir -p "$work/root/dev" "$work/root/bin"
    cp "$(command -v busybox)" "$work/root/bin"
    init >"$work/root/init"
    chmod +x "$work/root/init"
    find "$kernel/lib" \( -path '*/virtio/virtio*.ko' -o -name virtio_blk.ko \) -exec cp {} "$work/root" \;
    (cd "$work/root" && find . | busybox cpio -o -H newc) >"$work/image" 2>/dev/null
}

# Guest $1 on the disk $2. It takes orders from a pipe.
boot() {
    mkfifo "$work/$1"
    # Should this script be killed, and its own end not seen to, the guest ends all the same.
    timeout -k 5 $((2 * seconds + 400)) qemu-system-x86_64 -accel "${accel:-tcg}" -m 128M -nodefaults -display none -no-reboot \
        -kernel "$kernel"/boot/vmlinuz-* -initrd "$work/image" -append 'console=ttyS0 quiet panic=-1' -serial stdio \
        -drive "file=$2,format=raw,if=virtio,cache=none,discard=unmap" <"$work/$1" >"$work/$1.log" 2>&1 &
    echo $! >"$work/$1.pid"
}

# Wait for guest $1, until the command behind it succeeds.
await() {
    guest=$1 tries=0
    shift
    until "$@"; do
        tries=$((tries + 1))
        kill -0 "$(cat "$work/$guest.pid")" 2>/dev/null || give_up "guest $guest has ended: $(cat "$work/$guest.log")"
        [ $tries -lt 1000 ] || give_up "guest $guest does nothing: $(cat "$work/$guest.log")"
        sleep 0.1
    done
}

# What the server has counted for tenant $1 under the name $2.
count() {
    stat=$("$blksched" ctl "$control" get "tenants/$1/stat") || give_up "the server does not answer"
    echo "$stat" | tr ' ' '\n' | sed -n "s/^$2=//p"
}

# Has it counted more than $3?
above() {
    counted=$(count "$1" "$2") || exit 1
    [ "$counted" -gt "$3" ]
}

# Both guests do $1, of which the server counts $2 operations and $3 bytes.
race() {
    echo "$1" >&3
    echo "$1" >&4
    for guest in a b; do
        counted=$(count $guest "$2")
        await $guest above $guest "$2" $((counted + 8))
    done
    # What the race before has left under way is over by then.
    sleep 2
    a0=$(count a "$3")
    b0=$(count b "$3")
    sleep "$seconds"
    a=$(count a "$3")
    b=$(count b "$3")
    echo "$a0 $a $b0 $b" | awk -v what="$1" -v time="$seconds" '{
        a = ($2 - $1) / 1024; b = ($4 - $3) / 1024
        printf "%s: a got %d KiB and b %d KiB in %s s: %.2f to 1\n", what, a, b, time, (b > 0 ? a / b : 0)
    }'
}

if [ "${1-}" = --fetch ]; then
    fetch_kernel
    exit
fi
seconds=${1:-10}
for program in qemu-system-x86_64 busybox; do
    command -v $program >/dev/null || give_up "no $program: apt-get install qemu-system-x86 busybox-static"
done
[ -x "$blksched" ] || give_up "no $blksched: cargo build --release, or say blksched=PROGRAM"
fetch_kernel
if [ -z "${uri_a-}" ]; then
    export blksched
    exec "$blksched" serve --export a=mem:256M,weight=200 --export b=mem:256M,weight=100 \
        --model "$here/slow-disk.toml" --run "exec sh '$0' $seconds"
fi
work=$(mktemp -d)
trap 'kill $(cat "$work"/*.pid) 2>/dev/null || :; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
image
boot a "$uri_a"
exec 3>"$work/a"
boot b "$uri_b"
exec 4>"$work/b"
for guest in a b; do await $guest grep -q ready "$work/$guest.log"; done
race read rios rbytes
race write wios wbytes
echo stop >&3
echo stop >&4
wait
