#!/bin/sh
# What Linux's md and device mapper make of bios: recorded in a virtual machine with Debian's kernel, whose members are
# null_blk disks of 10 ms. A recording for each device, as `blksched record` writes them.
#
#     docs/stack-guest.sh FOLDER        # writes FOLDER/NAME.trace.gz
#     docs/stack-guest.sh --fetch       # only gets the guest's kernel and programs
#
# Needed: the packages qemu-system-x86, busybox-static, dmsetup, e2fsprogs, fio and xz-utils, and once a Debian mirror
# for the kernel and mdadm, which are unpacked into the target folder, not installed. The guest is emulated, so that
# this runs anywhere. `kernel=FOLDER docs/stack-guest.sh …` takes another unpacked linux-image.
set -eu

here=$(dirname "$0")
target=${CARGO_TARGET_DIR:-$here/../target}
unpacked=$target/guest-stack
kernel=${kernel:-$unpacked}
export PATH="$PATH:/usr/sbin:/sbin"

give_up() {
    echo "stack-guest: $*" >&2
    exit 1
}

# Debian 12's newest kernel from 6.12 on, not that for clouds, which lacks null_blk.
fetch() {
    if [ -e "$unpacked" ]; then return; fi
    versioned=$(apt-cache pkgnames linux-image-6.1 | grep -E '^linux-image-6\.1[2-9]\.[0-9.]*\+deb[0-9]*-amd64$' | sort -V | tail -n 1)
    [ -n "$versioned" ] || give_up "apt knows no linux-image-6.12…-amd64: no Debian for amd64, or no apt-get update yet"
    rm -rf "$unpacked.new"
    mkdir -p "$unpacked.new"
    (cd "$unpacked.new" && apt-get -qq download "$versioned" mdadm && for deb in ./*.deb; do dpkg -x "$deb" .; done &&
        rm ./*.deb) || give_up "no kernel"
    busybox depmod -b "$unpacked.new" "$(basename "$unpacked.new"/lib/modules/*)"
    mv "$unpacked.new" "$unpacked"
}

# What the guest does, line by line to its console.
init() {
    cat <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mkdir -p /tmp /dev/shm /run /mnt
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
tracing=/sys/kernel/tracing
mount -t tracefs nodev $tracing
while read -r module; do
    options=
    [ $module != null_blk.ko ] || options=nr_devices=0
    insmod /modules/$module $options 2>/tmp/error || echo "no $module: $(cat /tmp/error)"
done </order
mount -t configfs config /sys/kernel/config
echo "GUEST $(uname -r)"
# So many members of 64 MiB, with a cache, under mq-deadline.
members() {
    for at in /sys/kernel/config/nullb/nullb[0-9]*; do
        [ ! -d $at ] || { echo 0 >$at/power; rmdir $at; }
    done
    for n in $(seq 0 $(($1 - 1))); do
        at=/sys/kernel/config/nullb/nullb$n
        mkdir $at
        for setting in size=64 memory_backed=1 irqmode=2 completion_nsec=10000000 submit_queues=1 hw_queue_depth=32 \
            cache_size=1 discard=1 blocksize=512 power=1; do
            echo ${setting#*=} >$at/${setting%=*} || echo "no $setting"
        done
        echo mq-deadline >/sys/block/nullb$n/queue/scheduler
    done
}
# The description of all devices. What a member gives to the one above: md says it in KiB, $used in sectors.
describe() {
    echo "# blksched record 1"
    echo "# kernel $(uname -r)"
    case $(uname -r) in 6.[0-6].*) echo "# priorities not recorded" ;; *) echo "# priorities recorded" ;; esac
    echo "# groups at the end"
    echo "# mappings recorded"
    for block in /sys/block/nullb* /sys/block/md* /sys/block/dm-*; do
        [ -e $block/dev ] || continue
        name=${block##*/} word=
        case $name in
            nullb*)
                for part in /sys/block/md*/md/dev-$name; do
                    [ ! -e $part/size ] || word=" used=$(($(cat $part/size) * 2)) offset=$(cat $part/offset)"
                done
                for part in $used; do
                    case $part in $name:*) part=${part#*:} word=" used=${part%:*} offset=${part#*:}" ;; esac
                done
                ;;
            *) word=" stack=$1" ;;
        esac
        number=$(cat $block/dev)
        # dm and md have none.
        [ ! -e $block/queue/scheduler ] ||
            word="$word scheduler=$(sed 's/.*\[\(.*\)\].*/\1/' $block/queue/scheduler)"
        echo "# device ${number%:*},${number#*:} name=$name size=$(cat $block/size)$word rotational=0"
    done
}
trace_on() {
    echo 0 >$tracing/tracing_on
    echo mono >$tracing/trace_clock
    echo 16384 >$tracing/buffer_size_kb
    echo >$tracing/trace
    for event in bio_queue bio_remap bio_complete rq_insert rq_complete; do
        echo 1 >$tracing/events/block/block_$event/enable
    done
    echo 1 >$tracing/tracing_on
}
trace_off() {
    echo 0 >$tracing/tracing_on
    cat $tracing/per_cpu/cpu*/stats | grep -E '^(overrun|dropped events):' | grep -v ': 0$'
    grep -v '^#' $tracing/trace
}
# Record the jobs on a device: its name, the device, what it is in the words of --disk.
run() {
    echo "BEGIN $1"
    describe $3
    sleep 1
    trace_on
    for job in $jobs; do
        echo "# job $job" >$tracing/trace_marker
        sed "s,DEVICE,$2," /jobs/$job >/tmp/job
        fio --output=/tmp/said /tmp/job </dev/null >/tmp/error 2>&1 || echo "# fio $job: $(head -c 300 /tmp/error)"
    done
    trace_off
    echo "END $1"
}
# Record what a file system's journal does on it.
journal() {
    mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 -J size=4 $2 40m >/tmp/error 2>&1 || cat /tmp/error
    echo "BEGIN $1-ext4"
    describe $3
    trace_on
    echo "# job ext4" >$tracing/trace_marker
    mount -t ext4 $2 /mnt || echo "# not mounted"
    for n in 1 2 3; do dd if=/dev/zero of=/mnt/f$n bs=24k count=1 conv=fsync 2>/dev/null; done
    umount /mnt
    trace_off
    echo "END $1-ext4"
}
table() { dmsetup create $1 --noudevsync --table "$2" || echo "# no $1"; }
remove() { dmsetup remove --noudevsync $1; }
all="reads writes sizes flushes fua trims deep"
jobs=$all
members 2
used="nullb0:65536:2048 nullb1:65536:4096"
table l "0 65536 linear /dev/nullb0 2048
65536 65536 linear /dev/nullb1 4096"
run linear /dev/dm-0 linear:nullb0+nullb1
journal linear /dev/dm-0 linear:nullb0+nullb1
remove l
used="nullb0:98304:0 nullb1:98304:0"
table s "0 196608 striped 2 128 /dev/nullb0 0 /dev/nullb1 0"
run striped /dev/dm-0 striped:nullb0+nullb1,chunk=64k
remove s
key=$(printf %0128d 7)
used="nullb0:131072:0"
table c "0 98304 crypt aes-xts-plain64 $key 0 /dev/nullb0 32768 1 allow_discards"
run crypt /dev/dm-0 crypt:nullb0,allow_discards
journal crypt /dev/dm-0 crypt:nullb0,allow_discards
remove c
table c "0 98304 crypt aes-xts-plain64 $key 0 /dev/nullb0 32768 3 allow_discards no_read_workqueue no_write_workqueue"
run crypt-inline /dev/dm-0 crypt:nullb0,allow_discards,no_read_workqueue,no_write_workqueue
remove c
used=
# The superblock at the members' ends, so that data begins at their beginnings.
for array in "raid0 0 2" "raid0-3 0 3" "raid1 1 2" "raid10 10 4" "raid10-3 10 3" "raid4 4 4" "raid5 5 4" "raid5-3 5 3" "raid6 6 4"; do
    set -- $array
    members $3
    disks= below=
    for n in $(seq 0 $(($3 - 1))); do disks="$disks /dev/nullb$n" below=$below${below:++}nullb$n; done
    options="--assume-clean --bitmap=none" word=,chunk=64k
    [ $2 != 0 ] || options=
    if [ $2 = 1 ]; then word=; else options="$options --chunk=64"; fi
    mdadm --create /dev/md0 --metadata=1.0 --run --level=$2 --raid-devices=$3 $options $disks >/tmp/error 2>&1 || cat /tmp/error
    array=md-raid$2:$below$word
    run $1 /dev/md0 $array
    case $1 in raid1 | raid5) journal $1 /dev/md0 $array ;; esac
    mdadm --stop /dev/md0 >/dev/null 2>&1
done
# A partition from sector 2048 on: the first entry of a table of DOS's, and its signature.
members 1
printf '\000\000\000\000\203\000\000\000\000\010\000\000\000\000\001\000' | dd of=/dev/nullb0 bs=1 seek=446 conv=notrunc 2>/dev/null
printf '\125\252' | dd of=/dev/nullb0 bs=1 seek=510 conv=notrunc 2>/dev/null
blockdev --rereadpt /dev/nullb0
jobs="writes flushes"
run partition /dev/nullb0p1 none
echo DONE
poweroff -f
INIT
}

# One job: its name, and its options.
job() {
    name=$1
    shift
    {
        printf '[%s]\nfilename=DEVICE\ndirect=1\nioengine=psync\nrandseed=7\nsize=40m\nnorandommap=1\n' "$name"
        printf '%s\n' "$@"
    } >"$root/jobs/$name"
}

[ -n "${1-}" ] || give_up "expected a folder for the recordings, or --fetch"
if [ "$1" = --fetch ]; then
    fetch
    exit
fi
for program in qemu-system-x86_64 busybox fio dmsetup mkfs.ext4 xzcat; do
    command -v $program >/dev/null || give_up "no $program: apt-get install qemu-system-x86 busybox-static fio dmsetup e2fsprogs xz-utils"
done
fetch
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
root=$work/root
mkdir -p "$root/bin" "$root/usr/bin" "$root/dev" "$root/proc" "$root/sys" "$root/modules" "$root/etc" "$root/jobs"
cp "$(command -v busybox)" "$root/bin"
for program in fio dmsetup mkfs.ext4 "$unpacked/sbin/mdadm"; do
    path=$(command -v "$program")
    cp "$path" "$root/usr/bin/"
    for library in $(ldd "$path" | tr -s ' \t' '\n' | grep '^/'); do
        mkdir -p "$root$(dirname "$library")"
        cp -n "$library" "$root$library"
    done
done
modules=$(echo "$kernel"/lib/modules/*)
: >"$root/order"
for module in crc32c_generic configfs null_blk dm-mod dm-crypt md-mod raid0 raid1 raid10 raid456 xts ecb crc16 jbd2 ext4; do
    line=$(grep -E "/$module\.ko[^/:]*:" "$modules/modules.dep" | head -n 1)
    # What it needs is named from the last to the first.
    needed=
    for file in ${line#*:}; do needed="$file $needed"; done
    for file in $needed ${line%%:*}; do
        name=$(basename "${file%.xz}")
        ! grep -qx "$name" "$root/order" || continue
        case $file in *.xz) xzcat "$modules/$file" ;; *) cat "$modules/$file" ;; esac >"$root/modules/$name"
        echo "$name" >>"$root/order"
    done
done
aligned=blockalign=4k
job reads rw=randread bsrange=4k-256k $aligned number_ios=16 prioclass=2 prio=2
job writes rw=randwrite bsrange=4k-256k $aligned number_ios=16 prioclass=2 prio=6
job sizes rw=randrw bsrange=512-80k blockalign=512 number_ios=16
job flushes rw=randwrite bs=8k number_ios=4 fsync=1
job fua rw=randwrite bs=96k number_ios=4 sync=dsync
job trims rw=randtrim bsrange=64k-1m $aligned number_ios=10
job deep rw=randrw bsrange=4k-128k $aligned number_ios=24 ioengine=libaio iodepth=6
init >"$root/init"
chmod +x "$root/init"
(cd "$root" && find . | busybox cpio -o -H newc | gzip -1) >"$work/image" 2>/dev/null
timeout -k 5 1500 qemu-system-x86_64 -accel tcg -nodefaults -display none -no-reboot -m 768M \
    -kernel "$kernel"/boot/vmlinuz-* -initrd "$work/image" -append 'console=ttyS0 quiet panic=-1' -serial stdio </dev/null |
    tr -d '\r' >"$work/console"
grep -E '^(GUEST|no |# no|# fio)' "$work/console" || :
grep -q '^DONE' "$work/console" || give_up "the guest did not come to its end: $(tail -n 3 "$work/console")"
mkdir -p "$1"
# shellcheck disable=SC2013 # Names of one word.
for name in $(sed -n 's/^BEGIN //p' "$work/console"); do
    sed -n "/^BEGIN $name\$/,/^END $name\$/p" "$work/console" | sed '1d; $d; /^# fio/d' | gzip -9n >"$1/$name.trace.gz"
done
ls "$1"
