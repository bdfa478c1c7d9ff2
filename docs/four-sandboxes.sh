#!/bin/sh
# Four sandboxes on one slow disk, weights 1:1:2:4, the first with twenty connections: what each gets of the disk's time.
# usage: docs/four-sandboxes.sh [SECONDS]      (from the root of the repository, blksched in PATH or in $BLKSCHED)
set -eu
seconds=${1:-10}
here=$(dirname "$0")
blksched=${BLKSCHED:-blksched}
if [ -z "${uri_s1:-}" ]; then
    exec "$blksched" serve --model "$here/slow-disk.toml" --depth 1 \
        --export s1=mem:1G,weight=100 --export s2=mem:1G,weight=100 \
        --export s3=mem:1G,weight=200 --export s4=mem:1G,weight=400 --run "sh '$0' $seconds"
fi
"$blksched" load "$uri_s1" --clients 20 --depth 32 --time "$((seconds + 3))s" >/dev/null &
for uri in "$uri_s2" "$uri_s3" "$uri_s4"; do
    "$blksched" load "$uri" --clients 1 --depth 8 --time "$((seconds + 3))s" >/dev/null &
done
time_of() { "$blksched" ctl "$control" get "tenants/$1/stat" | sed 's/.*device_us=//'; }
sleep 1
for name in s1 s2 s3 s4; do eval "before_$name=$(time_of $name)"; done
sleep "$seconds"
for name in s1 s2 s3 s4; do eval "after_$name=$(time_of $name)"; done
for name in s1 s2 s3 s4; do
    eval "echo $name had \$(( (after_$name - before_$name) / 1000 )) ms of the disk"
done
wait
