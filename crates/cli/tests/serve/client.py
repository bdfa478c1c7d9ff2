import os
import nbd

h = nbd.NBD()
h.add_meta_context("base:allocation")
h.connect_uri(os.environ["uri"])
size = h.get_size()
assert size == 40 << 20 and h.can_multi_conn() and h.can_fast_zero() and not h.is_read_only()
assert h.get_block_size(nbd.SIZE_MINIMUM) == 1 and h.get_block_size(nbd.SIZE_MAXIMUM) == 32 << 20

h.pwrite(b"x" * 4096, 0)
h.pwrite(b"y" * 4096, 4096, nbd.CMD_FLAG_FUA)
assert h.pread(8192, 0) == b"x" * 4096 + b"y" * 4096
h.flush()
h.trim(4096, 4096)
h.zero(4096, 0, nbd.CMD_FLAG_NO_HOLE)
if h.can_cache():
    h.cache(65536, 0)
assert h.pread(4096, 0) == bytes(4096)

big = os.urandom(32 << 20)
h.pwrite(big, 4 << 20)
assert h.pread(32 << 20, 4 << 20) == big


def refused(errno, call, *arguments):
    try:
        call(*arguments)
    except nbd.Error as error:
        assert error.errno == errno, error
    else:
        raise AssertionError("not refused")


h.set_strict_mode(0)
refused("EINVAL", h.pread, 512, size)
refused("ENOSPC", h.pwrite, b"z" * 4096, size)
refused("EINVAL", h.pread, (32 << 20) + 1, 0)
h.pwrite(b"odd", 1)
assert h.pread(5, 0) == b"\0odd\0"

extents = []
h.block_status(size, 0, lambda context, offset, entries, error: extents.extend(entries))
assert sum(extents[::2]) <= size and len(extents) >= 2

# Eight connections with many requests in flight, each in its own part.
others = []
for nth in range(8):
    other = nbd.NBD()
    other.connect_uri(os.environ["uri"])
    others.append(other)
cookies = []
for round in range(32):
    for nth, other in enumerate(others):
        data = nbd.Buffer.from_bytearray(bytearray([nth + 1]) * 4096)
        cookies.append((other, other.aio_pwrite(data, (nth * 32 + round) * 4096)))
for other, cookie in cookies:
    while not other.aio_command_completed(cookie):
        other.poll(-1)
for nth in range(8):
    assert others[-1 - nth].pread(32 * 4096, nth * 32 * 4096) == bytes([nth + 1]) * 32 * 4096
print("all is well")
