#!/bin/busybox sh
# In the guest: fio on /dev/vda for every line of /work, its output on the console between marks. The disk's tags are
# limited under `none` before each run, as a switch of the scheduler leaves them.
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mkdir -p /tmp /dev/shm
mount -t tmpfs shm /dev/shm
for module in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk kyber-iosched bfq; do
    insmod /$module.ko
done
ip link set lo up 2>/dev/null
queue=/sys/block/vda/queue
. /disk
echo "GUEST $(uname -r)"
while read -r job scheduler repeat; do
    echo none >$queue/scheduler
    echo "$tags" >$queue/nr_requests
    echo "$max_sectors_kb" >$queue/max_sectors_kb
    echo "$rotational" >$queue/rotational
    echo "$write_cache" >$queue/write_cache
    echo "$scheduler" >$queue/scheduler
    [ "$scheduler" = none ] || echo "$nr_requests" >$queue/nr_requests
    [ "$scheduler" = bfq ] || echo -1 >$queue/wbt_lat_usec
    echo 3 >/proc/sys/vm/drop_caches
    echo "BEGIN $job $scheduler $repeat"
    fio --output-format=json "/jobs/$job.fio" </dev/null 2>&1
    echo "END"
done </work
echo "DONE"
poweroff -f
