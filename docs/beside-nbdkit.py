#!/usr/bin/env python3
"""Four tenants of one disk in real time: by blksched, by nbdkit, and by nbdkit with its rate filter.

    docs/beside-nbdkit.py [SECONDS]      (blksched in PATH or in $BLKSCHED; needs nbdkit)

The disk takes 10 ms a command, one at a time: `blksched serve --model`. For nbdkit, which has no such disk, a server without
scheduler and shares is that disk, and four nbdkits (its `nbd` plugin) stand in front of it. What each tenant got of the
disk's time is counted at the disk. Prints docs/serve.md's table.
"""
import json, os, signal, subprocess, sys, tempfile, time

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
# nbdkit's rate filter begins with a bucket of two seconds.
BEFORE, AFTER = 5, 1
BLKSCHED = os.environ.get("BLKSCHED", "blksched")
DISK = """kind = "fixed"
description = "10 ms a command"
capacity = "1TB"
max_command = "1MiB"
depth = 1
channels = 1
service = "10ms"
"""
# 100 commands of 4 KiB a second are what the disk does [bit/s].
WHOLE = 100 * 4096 * 8
# What each tenant asks: connections, requests in flight on each, and what else.
FOUR = ["--clients 1 --depth 4 --block 64K --order sequential", "--clients 1 --depth 1", "--clients 1 --depth 32",
        "--clients 1 --depth 16 --reads 0"]
SAME = ["--clients 1 --depth 16"] * 4
LOADS = [
    ("four mixed: a stream, one at a time, 32 deep, a writer", FOUR, [1, 1, 1, 1]),
    ("weights 1:2:4:8", SAME, [1, 2, 4, 8]),
    ("three, and one with 20 connections", ["--clients 20 --depth 4"] + SAME[1:], [1, 1, 1, 1]),
    ("one alone", [SAME[0], None, None, None], [1, 1, 1, 1]),
]
running = []


def start(*words):
    running.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    return running[-1]


def stop(process):
    process.send_signal(signal.SIGTERM)
    process.wait()
    running.remove(process)


def until(what):
    for _ in range(600):
        if what():
            return
        time.sleep(0.05)
    sys.exit("beside-nbdkit: a server does not begin")


def blksched(parts):
    exports = [word for n, part in enumerate(parts) for word in ("--export", f"m{n}=mem:256M,weight={100 * part}")]
    return [disk("m", *exports)], [f"nbd+unix:///m{n}?socket=m.sock" for n in range(4)]


def disk(name, *words):
    server = start(BLKSCHED, "serve", *words, "--model", "disk.toml", "--depth", "1", "--unix", f"{name}.sock",
                   "--control", f"{name}.ctl")
    until(lambda: os.path.exists(f"{name}.ctl"))
    return server


def nbdkit(parts, limited):
    exports = [word for n in range(4) for word in ("--export", f"m{n}=mem:256M")]
    servers, uris = [disk("m", *exports, "--elevator", "none", "--shares", "scheduler")], []
    for n, part in enumerate(parts):
        rate = ["--filter=rate"] if limited else []
        said = [f"rate={WHOLE * part // sum(parts)}"] if limited else []
        uri = f"uri=nbd+unix:///m{n}?socket={os.getcwd()}/m.sock"
        servers.append(start("nbdkit", "-f", "-U", f"t{n}.sock", *rate, "nbd", uri, *said))
        uris.append(f"nbd+unix:///?socket=t{n}.sock")
    until(lambda: all(os.path.exists(f"t{n}.sock") for n in range(4)))
    return servers, uris


def device_time():
    """Of each tenant, what it has had, and when that was asked [s]."""
    def of(n):
        asked = time.monotonic()
        words = subprocess.check_output([BLKSCHED, "ctl", "m.ctl", "get", f"tenants/m{n}/stat"], text=True).split()
        return int(dict(word.split("=") for word in words)["device_us"]) / 1e6, asked
    return [of(n) for n in range(4)]


def shown(words, uri):
    """A tenant's load: how to hear what came of it."""
    if words is None:
        return lambda: None
    load = subprocess.Popen([BLKSCHED, "load", uri, *words.split(), "--time", f"{SECONDS}s", "--json"],
                            stdout=subprocess.PIPE, text=True)
    return lambda: json.loads(load.communicate()[0])["table"]


def measure(name, loads, parts, servers, uris):
    ends = [shown(words, uri) for words, uri in zip(loads, uris)]
    time.sleep(BEFORE)
    before = device_time()
    time.sleep(SECONDS - BEFORE - AFTER)
    pairs = zip(before, device_time())
    had = [(after - was) / (then - began) for (was, began), (after, then) in pairs]
    tables = [end() for end in ends]
    for server in reversed(servers):
        stop(server)
    for path in os.listdir("."):
        if path.endswith(".sock"):
            os.remove(path)
    busy = sum(had)
    asking = [n for n, words in enumerate(loads) if words]
    fair = [had[n] / parts[n] for n in asking]
    jain = sum(fair) ** 2 / (len(fair) * sum(x * x for x in fair))
    def column(table, key):
        at = [column["key"] for column in table["columns"]].index(key)
        row = table["rows"][0]
        cell = row[at] if isinstance(row, list) else row[key]
        return cell["value"] if isinstance(cell, dict) else cell
    p99 = [f"{column(tables[n], 'p99') / 1e9:.2f}" for n in asking]
    time_of = " ".join(f"{100 * had[n]:.0f}" for n in asking)
    print(f"| {name} | {time_of} | {100 * busy:.0f} | {jain:.3f} | {' '.join(p99)} |", flush=True)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    open("disk.toml", "w").write(DISK)
    try:
        print("| load, server | disk's time [%] | all of it | Jain | p99 [s] |\n|---|---|---|---|---|", flush=True)
        for load, words, parts in LOADS:
            measure(f"{load}: blksched", words, parts, *blksched(parts))
            measure("nbdkit", words, parts, *nbdkit(parts, False))
            measure("nbdkit, rate filter", words, parts, *nbdkit(parts, True))
    finally:
        for process in list(running):
            stop(process)
