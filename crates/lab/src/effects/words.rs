//! What figures cannot say: a scheduler's formula, and why a knob has no effect.

/// What precedes a scheduler's knobs.
pub fn of_subject(name: &str) -> &'static str {
    match name {
        "deadline@2.5.38" => {
            "**The wait, in one formula.** A program that reads N blocks one after the other while the disk works off \
             a stream of writes waits\n\n    \
             wait = N · (L · c + r)\n\n\
             *N*: its reads, each of which waits anew; *L*: how many writes go before each, `fifo_batch` divided by \
             the cost of one (1 for a write that continues the one before it, `seek_cost` for any other, as for the \
             first of a batch); *c*: what one of them takes; *r*: what the read itself takes, with the seek to it. \
             *L* is never less than what is decided before the process runs that asks for the next read: the \
             commands inside the disk, and the one that stands chosen behind them; so `fifo_batch` = 1 is no better \
             than 2 on a disk that holds one command. \
             `read_expire` and `writes_starved` are not in it: they have an effect only where several reads wait at \
             once, or where somebody waits for writes."
        }
        "mq-deadline" => {
            "The formula is deadline's: wait = N · (L · c + r), with *L* = `fifo_batch` writes, but no less than the \
             disk holds: on one that holds 32 commands up to 32 · c, whatever the knobs are. So its knobs matter \
             where the disk holds few commands, and where more is queued than the disk takes."
        }
        "kyber" => {
            "Kyber has one decision: how many requests of each kind are inside the disk. It measures latencies over \
             periods of 100 ms, compares them with the two targets, and widens or narrows the domains; it takes up \
             to 16 reads, then up to 8 writes, in turn. The targets have an effect only where more is queued than a \
             domain takes at its full depth (256 reads, 128 writes), or where latencies exceed a target."
        }
        "bfq" => {
            "BFQ gives each process the disk for a budget of sectors, and idles a little for one that will come back. \
             A wait is the sum of the others' budgets before it, each at most `timeout_sync` long: wait = N · \
             timeout_sync, or N · max_budget / the disk's rate if that is less. Its knobs have no effect where nobody \
             waits for anybody: where one process has the disk, or where all requests are in flight at once."
        }
        _ => {
            "io.cost charges each group what its I/O costs by a model of the disk, and lets the sum run at a virtual \
             rate (vrate), 100 % of the model's at first. `io.cost.qos` says how far vrate may be moved (`min`, `max`) \
             and when: down when `rpct` % of reads take longer than `rlat` us (`wpct`, `wlat` of writes), up when they \
             do not and somebody is held back. With a model that fits, a load that is not held back, or a target that \
             is always met, no value has an effect."
        }
    }
}

/// A key of `io.cost.qos` (Documentation/admin-guide/cgroup-v2.rst).
pub fn of_root(knob: &str) -> &'static str {
    match knob {
        "rlat" => "The read latency that `rpct` per cent of reads shall not exceed, in microseconds.",
        "wlat" => "The write latency that `wpct` per cent of writes shall not exceed, in microseconds.",
        "rpct" => "The percentile of reads that is compared with `rlat`; 0 compares nothing.",
        "wpct" => "The percentile of writes that is compared with `wlat`; 0 compares nothing.",
        "min" => "The least rate to which the disk may be slowed down, in per cent of its model's.",
        _ => "The greatest rate to which the disk may be driven, in per cent of its model's.",
    }
}

/// When a knob has no effect, and why.
pub fn no_effect(scheduler: &str, knob: &str) -> &'static str {
    match (scheduler, knob) {
        ("bfq", "fifo_expire_sync" | "fifo_expire_async") => {
            "It has none while a process's requests are served before they are that old: age counts only within the \
             queue in service, and a process that waits for each block has one request."
        }
        (_, "read_expire") => {
            "It has none while every read is served within it anyway: it is looked at when a batch ends, so what one \
             read waits, L · c + r, must exceed it; and none where only one read waits, which is the oldest and the \
             next alike."
        }
        (_, "write_expire") => {
            "It has none where reads leave the disk to writes sooner than that (after `writes_starved` batches they \
             do), or where no write waits so long."
        }
        (_, "fifo_batch") => {
            "It has none where a batch ends of itself before: where fewer requests of a direction are queued than it \
             allows, or where only one direction has any."
        }
        (_, "seek_cost") => "It has none where every request continues the one before it, whose cost is 1.",
        (_, "writes_starved") => {
            "It has none unless reads and writes are both queued when a batch ends: a reader that waits for each block \
             has none queued then, and a write's deadline ends the passing over in any case."
        }
        (_, "front_merges") => {
            "It has none where no bio ends where a queued request begins: programs that read or write backwards make \
             such, and hardly any others do."
        }
        (_, "prio_aging_expire") => {
            "It has none where all requests are of one class, or where a lower class is served before it is that old."
        }
        (_, "async_depth") => {
            "It has none where less than that is queued at once: it limits requests that nobody waits for."
        }
        ("kyber", _) => {
            "It has none where the latencies stay on one side of all its values, or where fewer requests are queued \
             than the domain's depth."
        }
        ("bfq", "slice_idle") => {
            "It has none where no process will be back soon: with many requests in flight for each, or for one that is \
             alone. On flash that queues commands BFQ idles only where weights or classes differ."
        }
        ("bfq", "back_seek_max" | "back_seek_penalty") => {
            "It has none where a process has at most one request queued: it chooses among the requests of one queue."
        }
        ("bfq", "max_budget" | "timeout_sync") => {
            "It has none where budgets end before, because their process runs out of requests: a reader that waits for \
             each block is idled for, and expires when it is too slow."
        }
        ("bfq", "low_latency") => {
            "It has none where no process is new, interactive or soft real-time; a load that runs unchanged for long \
             has nobody to favour after the first seconds."
        }
        ("bfq", "strict_guarantees") => {
            "It has none where the disk holds one command at a time anyway, or one process has it alone."
        }
        (_, "rlat" | "wlat" | "rpct" | "wpct") => {
            "It has none where vrate cannot move: at its bounds, or where nobody is held back."
        }
        (_, "min") => "It has none where latencies are within their targets, so that vrate never goes down.",
        (_, "max") => {
            "It has none where latencies exceed their targets, or nobody is held back, so that vrate never goes up."
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_that_was_measured_says_when_it_has_no_effect() {
        let shown = super::super::measured().shown();
        assert!(shown.len() > 20);
        for one in shown {
            assert!(!no_effect(&one.scheduler, &one.knob).is_empty(), "{} {}", one.scheduler, one.knob);
        }
    }
}
