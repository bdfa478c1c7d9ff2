# Where things are.
sys=/sys
proc=/proc
tracing=/sys/kernel/tracing

fail() {
    echo "$*" >&2
    exit 1
}

# What the recorder itself writes of each disk (docs/formats), in the same words.
describe() {
    echo '# blksched record 1'
    echo "# kernel $(uname -r)"
    # Requests have had their priority in the tracer's lines since 6.7.
    uname -r | awk -F'[.-]' '{
        print ($1 > 6 || $1 == 6 && $2 >= 7) ? "# priorities recorded" : "# priorities not recorded"
    }'
    echo '# groups at the end'
    [ -z "$nested" ] || echo '# mappings recorded'
    # What they lie on is described, too, and what lies there is not recorded.
    # shellcheck disable=SC2086 # Names of disks, one word each.
    for disk in $disks $(below $disks); do
        at=$sys/block/$disk
        number=$(cat "$at/dev")
        case " $disks " in *" $disk "*) kind=device ;; *) kind=member ;; esac
        line="# $kind ${number%:*},${number#*:} name=$disk$(stacked "$disk")"
        for word in $words; do
            [ -r "$at/${word#*:}" ] || continue
            value=$(sed 's/[[:space:]]*$//; s/[[:space:]]/_/g' "$at/${word#*:}" 2>/dev/null) || continue
            [ -z "$value" ] || line="$line ${word%%:*}=$value"
        done
        if [ -d "$at/mq" ]; then
            set -- "$at"/mq/*
            line="$line hw_queues=$#"
        fi
        line="$line path=$(readlink -f "$at")"
        # dm, md and zram may have none.
        if [ -r "$at/queue/scheduler" ]; then
            line="$line scheduler=$(sed 's/.*\[\(.*\)\].*/\1/' "$at/queue/scheduler")"
            line="$line schedulers=$(tr -d '[]' < "$at/queue/scheduler" | sed 's/ *$//' | tr ' ' ',')"
        fi
        if [ -n "$unified" ] && [ -r "$unified/io.cost.qos" ]; then
            case $(sed -n "s/^$number //p" "$unified/io.cost.qos") in
                enable=1*) line="$line io_cost=1" ;;
                *) line="$line io_cost=0" ;;
            esac
        fi
        mounted=$(lsblk -nro MOUNTPOINT "/dev/$disk" 2>/dev/null | sed '/^$/d' | tr '\n' ',') || mounted=
        [ -z "$mounted" ] || line="$line mounted=${mounted%,}"
        knobs=
        for knob in "$at"/queue/iosched/*; do
            value=$(cat "$knob" 2>/dev/null) || continue
            case $value in
                *[[:space:]]* | '') ;;
                *) knobs="$knobs${knobs:+,}${knob##*/}:$value" ;;
            esac
        done
        echo "$line${knobs:+ knobs=$knobs}"
    done
}

# The tracer's lines, until the time is over or a signal comes.
events() {
    trap 'left=0' INT TERM HUP
    left=$seconds
    echo 1 > "$tracer/tracing_on"
    cat "$tracer/trace_pipe" &
    reader=$!
    # It is gone earlier where the recording has its size.
    while [ "$left" -gt 0 ] && [ -e "/proc/$reader/exe" ]; do
        sleep 1 || :
        [ "$left" -eq 0 ] || left=$((left - 1))
    done
    echo 0 > "$tracer/tracing_on"
    # What is in the kernel's buffers.
    sleep 1 || :
    kill "$reader" 2>/dev/null || :
    wait "$reader" 2>/dev/null || :
}

# The control group of each task that lives now: that of the I/O controller of version 1, of version 2, or systemd's.
tasks() {
    for task in "$proc"/[0-9]*/task/[0-9]*; do
        blkio='' unified_group='' systemd=''
        while IFS=: read -r _ controllers group; do
            case ,$controllers, in
                *,blkio,*) blkio=$group ;;
                ,,) unified_group=$group ;;
                ,name=systemd,) systemd=$group ;;
            esac
        done < "$task/cgroup" || continue # It has ended meanwhile.
        for group in "$blkio" "$unified_group" "$systemd"; do
            case $group in /?*)
                echo "# task ${task##*/} $group"
                break
                ;;
            esac
        done
    done 2>/dev/null
}

# The groups' weights that are not the kernel's default.
weights() {
    for root in "$unified" "$blkio_root"; do
        [ -n "$root" ] || continue
        find "$root" -mindepth 1 -type d 2>/dev/null | while IFS= read -r group; do
            said=
            for file in io.weight io.bfq.weight blkio.bfq.weight; do
                [ -r "$group/$file" ] || continue
                first='' second=''
                IFS=' ' read -r first second < "$group/$file" || :
                # `default 100` or `100`.
                weight=${second:-$first}
                case $weight in '' | 100) ;; *) said="$said ${file#blk}=$weight" ;; esac
            done
            [ -z "$said" ] || echo "# group ${group#"$root"}$said"
        done
    done
}

recording() {
    trap : INT TERM HUP
    describe
    events | (
        trap '' INT TERM HUP
        head -c "$most"
    )
    # It may have ended inside a line.
    echo
    tasks
    weights
    # A pipe does not say whether its left side failed.
    : > "$half.ok"
}

clean_up() {
    [ ! -e "$tracer/tracing_on" ] || echo 0 > "$tracer/tracing_on"
    # While somebody reads it, it stays.
    for _ in 1 2 3 4 5; do
        ! rmdir "$tracer" 2>/dev/null || break
        sleep 1
    done
    rm -f "$half" "$half.ok"
}

# Reads only, and the disk is busy all the time: what is recorded is recorded before.
measure() {
    for disk in $disks; do
        measured=${out%.trace.gz}-$disk.grid.json
        echo "measuring $disk by reads alone, for $grid_minutes minutes, into $measured" >&2
        grid "/dev/$disk" | fio --output-format=json --output="$measured" - >&2
        echo "Next: blksched disk fit $measured --out $disk.toml; blksched advise $out --disk $disk.toml" >&2
    done
}

case ${1:-} in
    '') ;;
    --grid) command -v fio > /dev/null || fail "--grid: there is no fio here" ;;
    *) fail "$1: expected --grid or nothing" ;;
esac
[ ! -e "$out" ] || fail "$out is there already: remove it first"
for disk in $disks; do
    [ -e "$sys/block/$disk/dev" ] || fail "no disk $disk here: expected one of$(
        for at in "$sys"/block/*; do printf ' %s' "${at##*/}"; done
    )"
done
[ -d "$tracing/instances" ] || mount -t tracefs nodev "$tracing" || fail "recording needs root and a kernel with tracefs"
tracer=$tracing/instances/blksched-$$
half=$out.half-$$
mkdir "$tracer" || fail "recording needs root"
trap clean_up EXIT
# Ctrl-C ends the recording, and what was recorded is kept.
trap : INT TERM HUP

unified=$(awk '$3 == "cgroup2" { print $2; exit }' "$proc/self/mounts")
blkio_root=$(awk '$3 == "cgroup" && ("," $4 ",") ~ /,blkio,/ { print $2; exit }' "$proc/self/mounts")
filter=
for disk in $disks; do
    number=$(cat "$sys/block/$disk/dev")
    filter="$filter${filter:+ || }dev == $((${number%:*} << 20 | ${number#*:}))"
done
# Whether one lies on others, and whether those are recorded, too.
nested=
for disk in $disks; do
    lies_on=$(below "$disk")
    [ -z "$lies_on" ] || events="${events% "$events_of_stacks"} $events_of_stacks"
    for other in $lies_on; do
        case " $disks " in *" $other "*) nested=1 ;; esac
    done
done
echo 0 > "$tracer/tracing_on"
echo mono > "$tracer/trace_clock"
echo "$buffer_kb" > "$tracer/buffer_size_kb"
for event in $events; do
    echo "$filter" > "$tracer/events/block/$event/filter"
    echo 1 > "$tracer/events/block/$event/enable"
done

echo "recording $disks for $seconds s into $out; Ctrl-C ends that earlier, and what was recorded is kept${1:+; then fio measures for $grid_minutes minutes a disk}" >&2
recording | (
    trap '' INT TERM HUP
    gzip -1 > "$half"
)
lost=$(cat "$tracer"/per_cpu/cpu*/stats | awk '/^(overrun|dropped events):/ { lost += $NF } END { print lost + 0 }')
mv "$half" "$out"
[ -e "$half.ok" ] || fail "$out: the recording failed before its end, and is not whole: the lines above say why"
case $lost in
    0) echo "$out: no event was lost. Next, on any machine that has blksched: blksched advise $out" >&2 ;;
    *) echo "$out: $lost events were lost: record again with a larger buffer (buffer_kb in this script)" >&2 ;;
esac
[ -z "${1:-}" ] || measure
