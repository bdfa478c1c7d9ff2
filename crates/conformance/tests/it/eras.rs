//! BFQ's mechanisms of 4.18 to 5.15: with any one of them switched to a neighbour's variant, a recording of the era no
//! longer replays.

use std::path::Path;

use blksched::Catalogue;
use blksched_conformance::replay::{self, Setup};
use blksched_traces::elevator_transcript::Transcript;

/// An era, a switched mechanism, and a recording that shows it.
const SHOWN: &[[&str; 3]] = &[
    ["4.19", "asked_while=queued", "07-interactive"],
    ["5.15", "asked_while=queued", "11-slice-idle-0"],
    ["5.15", "wakers=window", "32-waker-long-window"],
    ["5.10", "wakers=any_time", "15-waker"],
    ["5.15", "chains=end", "36-merge-chain"],
    ["5.10", "chains=one_step", "37-merge-chain-2"],
    ["5.15", "late_merge=dropped", "20-merges"],
    ["4.19", "cooperators=not_on_flash", "44-ssd-coop-gaps"],
    ["5.15", "stable_merges=off", "01-two-seq"],
    ["5.15", "raisable=any_weight", "35-new-interactive"],
    ["4.19", "soft_start=not_interactive", "18-mixed-process"],
    ["4.19", "seeky_soft=ends", "19-wr-lifecycle"],
    ["5.10", "seeky_soft=returns", "19-wr-lifecycle"],
    ["4.18-el8.3", "only_seeks=all_seeks", "19-wr-lifecycle"],
    ["4.19", "burst_of=at_rest", "r461"],
    ["4.19", "preemption=higher", "03-seq-vs-seeky"],
    ["5.15", "preemption=higher", "08-soft-rt"],
    ["4.19", "kept_budget=if_left", "16-waker-fast"],
    ["5.10", "lone=needed", "03-seq-vs-seeky"],
    ["4.19", "protected=of_processes", "10-ssd-ncq"],
    ["4.19", "asymmetry=classes_and_weights", "12-strict"],
    ["4.19", "write_back_cost=symmetric", "34-weights-sync-async"],
    ["4.19", "injection=measured", "10-ssd-ncq"],
    ["5.10", "measurable=lone_request", "34-weights-sync-async"],
    ["4.19", "small_request=not_faster", "17-exits-reprio"],
    ["5.10", "io_bound=intensity", "01-two-seq"],
    ["5.10", "think_of=after_idling", "03-seq-vs-seeky"],
    ["5.10", "short_think=half", "01-two-seq"],
    ["4.19", "queueing=more_than_three", "13-budget-timeout"],
    ["4.19", "sequential=near_or_large", "r632"],
    ["4.19", "empty_preempted=stays", "r632"],
    ["5.15", "newcomer=is_new", "r426"],
    ["5.10", "tags=all", "05-classes"],
];

/// No recording here shows these; docs/behaviour/elevators-4.19-5.15.md says which of them none shows at all.
const NOT_SHOWN: [&str; 6] =
    ["tag_shares", "moved", "saved_state", "fitted_budget", "slice_position", "merge_priorities"];
/// Tests of their own show these (`bfq_knobs`).
const ELSEWHERE: [&str; 4] = ["groups", "competition", "write_limits", "hz"];

fn replays(kernel: &str, switched: &str, case: &str) -> bool {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/transcripts");
    let transcript = Transcript::open(&folder.join(format!("bfq-{kernel}/{case}.jsonl.gz"))).unwrap();
    let name = format!("bfq@{kernel}+groups=off+hz={}{switched}", transcript.header.hz);
    let built = Catalogue::builtin().build(&name).unwrap();
    let setup = Setup::with(&name, built.elevator, &transcript.header).unwrap();
    replay::replay_with(&transcript, setup).divergence.is_none()
}

#[test]
fn a_recording_replays_only_with_the_mechanism_of_its_era() {
    for [kernel, switched, case] in SHOWN {
        assert!(replays(kernel, "", case), "bfq@{kernel}: {case}");
        assert!(!replays(kernel, &format!("+{switched}"), case), "bfq@{kernel}+{switched}: {case}");
    }
}

#[test]
fn every_mechanism_is_shown_or_is_known_not_to_be() {
    for mechanism in Catalogue::builtin().parse("bfq").unwrap().entry.mechanisms {
        let switched = format!("{}=", mechanism.name);
        let shown = SHOWN.iter().any(|[_, with, _]| with.starts_with(&switched));
        let excused = NOT_SHOWN.contains(&mechanism.name) || ELSEWHERE.contains(&mechanism.name);
        assert!(shown != excused, "{}", mechanism.name);
    }
}
