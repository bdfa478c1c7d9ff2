//! Every law, for every elevator and era, over random scripts.

use blksched::author::{Bound, Elevator};
use blksched::{Catalogue, Choice, Priority};
use blksched_conformance::driver::{Script, ScriptStep};
use blksched_conformance::laws;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

/// The number of scripts per elevator, and their length \[bytes\].
const SCRIPTS: u32 = 96;
const BYTES: usize = 1200;

fn choice(name: &str) -> Choice {
    Catalogue::builtin().parse(name).unwrap()
}

/// Random scripts: any bytes are a script, and fewer bytes a shorter one.
fn scripts() -> impl Strategy<Value = Script> {
    vec(any::<u8>(), 0..BYTES).prop_map(|bytes| Script::from_bytes(&bytes))
}

fn kept(choice: &Choice, script: &Script) -> Result<(), TestCaseError> {
    let make = || -> Box<dyn Elevator> { choice.build().elevator };
    let bound: Bound = (choice.entry.bound)(choice);
    let verdict = laws::check(&make, bound, script);
    verdict.map(|_| ()).map_err(|violation| TestCaseError::fail(format!("{choice}: {violation}")))
}

/// One property per elevator, so that a failure names the elevator and they run in parallel.
macro_rules! keeps_the_laws {
    ($($test:ident: $name:literal;)+) => {
        proptest! {
            #![proptest_config(ProptestConfig {
                cases: SCRIPTS,
                failure_persistence: None,
                max_shrink_iters: 1000,
                ..ProptestConfig::default()
            })]
            $(
                #[test]
                fn $test(script in scripts()) {
                    kept(&choice($name), &script)?;
                }
            )+
        }

        const TESTED: &[&str] = &[$($name),+];
    };
}

keeps_the_laws! {
    linus_2_4_18_keeps_the_laws: "linus@2.4.18";
    linus_2_5_38_keeps_the_laws: "linus@2.5.38";
    linus_2_5_38_with_the_rework_keeps_the_laws: "linus@2.5.38+rework";
    linus_2_4_21_keeps_the_laws: "linus@2.4.21";
    linus_2_4_21_with_read_latency2_keeps_the_laws: "linus@2.4.21+read-latency2";
    noop_2_4_21_keeps_the_laws: "noop@2.4.21";
    noop_keeps_the_laws: "noop@2.6.33";
    deadline_2_5_38_keeps_the_laws: "deadline@2.5.38";
    deadline_2_5_45_keeps_the_laws: "deadline@2.5.45";
    deadline_2_5_45_with_the_tree_keeps_the_laws: "deadline@2.5.45+order=tree";
    deadline_2_6_33_keeps_the_laws: "deadline@2.6.33";
    deadline_4_20_keeps_the_laws: "deadline@4.20";
    anticipatory_keeps_the_laws: "anticipatory";
    cfq_2_6_31_keeps_the_laws: "cfq@2.6.31";
    cfq_2_6_32_keeps_the_laws: "cfq@2.6.32";
    cfq_2_6_32_with_the_patch_keeps_the_laws: "cfq@2.6.32+async_depth=remaining_slice";
    cfq_2_6_33_keeps_the_laws: "cfq@2.6.33";
    none_4_19_keeps_the_laws: "none@4.19";
    none_6_1_keeps_the_laws: "none@6.1";
    none_keeps_the_laws: "none";
    mq_deadline_4_19_keeps_the_laws: "mq-deadline@4.19";
    mq_deadline_5_10_keeps_the_laws: "mq-deadline@5.10";
    mq_deadline_5_15_keeps_the_laws: "mq-deadline@5.15";
    mq_deadline_6_1_keeps_the_laws: "mq-deadline@6.1";
    mq_deadline_6_12_keeps_the_laws: "mq-deadline@6.12";
    mq_deadline_keeps_the_laws: "mq-deadline";
    mq_deadline_7_3_keeps_the_laws: "mq-deadline@7.3";
    kyber_4_19_keeps_the_laws: "kyber@4.19";
    kyber_5_10_keeps_the_laws: "kyber@5.10";
    kyber_5_15_keeps_the_laws: "kyber@5.15";
    kyber_6_1_keeps_the_laws: "kyber@6.1";
    kyber_6_12_keeps_the_laws: "kyber@6.12";
    kyber_keeps_the_laws: "kyber";
    kyber_7_3_keeps_the_laws: "kyber@7.3";
    bfq_4_18_el8_3_keeps_the_laws: "bfq@4.18-el8.3";
    bfq_4_19_keeps_the_laws: "bfq@4.19";
    bfq_5_10_keeps_the_laws: "bfq@5.10";
    bfq_5_15_keeps_the_laws: "bfq@5.15";
    bfq_6_1_keeps_the_laws: "bfq@6.1";
    bfq_6_12_keeps_the_laws: "bfq@6.12";
    bfq_keeps_the_laws: "bfq";
    bfq_7_3_keeps_the_laws: "bfq@7.3";
    adios_keeps_the_laws: "adios";
    cfq_2_6_33_with_groups_keeps_the_laws: "cfq@2.6.33+groups";
    cfq_4_20_keeps_the_laws: "cfq@4.20";
    cfq_4_20_with_groups_keeps_the_laws: "cfq@4.20+groups";
}

#[test]
fn every_era_of_the_catalogue_is_tested() {
    for era in Catalogue::builtin().eras() {
        assert!(TESTED.contains(&era.as_str()), "{era} has no property test above");
    }
}

#[test]
fn every_entry_of_the_catalogue_passes_the_check_that_others_use() {
    for entry in Catalogue::builtin().entries() {
        assert_eq!(laws::check_entry(entry).map_err(|violation| violation.to_string()), Ok(()));
    }
}

/// mq-deadline states no bound, because there is none between classes. Among requests of one class it keeps deadline's.
#[test]
fn among_equals_mq_deadline_bounds_waiting_as_deadline_does() {
    let (deadline, mq) = (choice("deadline@4.20"), choice("mq-deadline"));
    let make = || -> Box<dyn Elevator> { mq.build().elevator };
    for seed in 0..SCRIPTS.into() {
        let mut script = Script::from_seed(seed, 400);
        for step in &mut script.steps {
            if let ScriptStep::Submit(plan) | ScriptStep::Bridge(plan) = step {
                plan.priority = Priority::NORMAL;
            }
        }
        let verdict = laws::check(&make, (deadline.entry.bound)(&deadline), &script);
        assert_eq!(verdict.map(|_| ()).map_err(|violation| violation.to_string()), Ok(()), "seed {seed}");
    }
}

#[test]
fn every_variant_of_every_mechanism_keeps_the_laws() {
    let catalogue = Catalogue::builtin();
    for era in catalogue.eras() {
        for mechanism in catalogue.parse(&era).unwrap().entry.mechanisms {
            for variant in mechanism.variants {
                // Not every era has every mechanism.
                let Ok(choice) = catalogue.parse(&format!("{era}+{}={}", mechanism.name, variant.name)) else {
                    continue;
                };
                let make = || -> Box<dyn Elevator> { choice.build().elevator };
                for seed in 0..4 {
                    let verdict = laws::check(&make, (choice.entry.bound)(&choice), &Script::from_seed(seed, 400));
                    assert_eq!(verdict.map(|_| ()).map_err(|violation| violation.to_string()), Ok(()), "{choice}");
                }
            }
        }
    }
}

/// BFQ then idles for no time whenever a queue becomes empty, which is as often as requests end.
#[test]
fn idling_for_no_time_at_each_of_many_ends_is_not_polling() {
    let bfq = choice("bfq");
    let make = || -> Box<dyn Elevator> {
        let mut elevator = bfq.build().elevator;
        let knobs = elevator.tunables_mut().unwrap();
        knobs.set("strict_guarantees", 1).unwrap();
        knobs.set("slice_idle", 0).unwrap();
        elevator
    };
    let bound: Bound = (bfq.entry.bound)(&bfq);
    for seed in 0..60 {
        let mut script = Script::from_seed(seed, 400);
        script
            .steps
            .retain(|step| !matches!(step, ScriptStep::Set { .. } | ScriptStep::Switch(_) | ScriptStep::Pass(_)));
        assert_eq!(laws::check(&make, bound, &script).map(|_| ()), Ok(()), "seed {seed}");
    }
}
