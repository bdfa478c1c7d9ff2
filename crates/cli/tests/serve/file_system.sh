# ext4 on a loop device on nbdfuse on the server: files are written, the file system is checked, the files are there.
cd "$1" || exit 1
mkdir -p fuse mount
nbdfuse -P nbdfuse.pid fuse/disk "$uri" &
fuse=$!
trap 'umount mount 2>/dev/null; fusermount3 -u fuse 2>/dev/null || fusermount -u fuse 2>/dev/null || umount fuse 2>/dev/null' EXIT
tries=0
while [ ! -e fuse/disk ]; do
    kill -0 $fuse 2>/dev/null || { echo "cannot mount here: nbdfuse has ended"; exit 1; }
    tries=$((tries + 1))
    [ $tries -lt 600 ] || { echo "cannot mount here: nothing in fuse"; exit 1; }
    sleep 0.1
done
mkfs.ext4 -q -F fuse/disk || exit 1
mount -o loop fuse/disk mount || { echo "cannot mount here: no loop device"; exit 1; }
for n in 1 2 3 4 5 6 7 8; do
    head -c 1000000 /dev/urandom > mount/file$n || exit 1
done
(cd mount && sha256sum file*) > sums
umount mount || exit 1
fsck.ext4 -fn fuse/disk || exit 1
mount -o loop fuse/disk mount || exit 1
(cd mount && sha256sum --quiet -c ../sums) || exit 1
umount mount || exit 1
echo "all is well"
