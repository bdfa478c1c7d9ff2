//! Options about results: each flipped, by what the plan then says of the job. What becomes of it in fio's JSON and in
//! logs, the command's tests show.

use crate::common::{job, plan};
use blksched::Span;
use blksched_workloads::fio::{LogNames, LogValue, Reporting, Unified};

fn report(options: &str) -> Reporting {
    plan(&job(&format!("size=4k {options}"))).jobs[0].report.clone()
}

#[test]
fn option_disable_slat_clat_and_lat_measure_nothing() {
    let measured = |options: &str| {
        let report = report(options);
        (report.slat.measured, report.clat.measured, report.lat.measured, report.samples)
    };
    assert_eq!(measured(""), (true, true, true, true));
    assert_eq!(measured("disable_slat=1"), (false, true, true, true));
}

#[test]
fn option_disable_clat_measures_no_completion_latency() {
    assert!(!report("disable_clat=1").clat.measured && report("disable_clat=0").clat.measured);
}

#[test]
fn option_disable_lat_measures_no_whole_latency() {
    assert!(!report("disable_lat=1").lat.measured && report("disable_lat=0").lat.measured);
}

#[test]
fn option_disable_bw_measurement_takes_no_samples() {
    assert!(!report("disable_bw_measurement=1").samples && !report("disable_bw=1").samples);
}

#[test]
fn option_gtod_reduce_measures_counts_only() {
    let reduced = report("gtod_reduce=1");
    assert!(!reduced.slat.measured && !reduced.clat.measured && !reduced.lat.measured && !reduced.samples);
    assert_eq!(report("gtod_reduce=0"), report(""));
}

#[test]
fn option_clat_percentiles_are_on_unless_turned_off() {
    assert!(report("").clat.percentiles && !report("clat_percentiles=0").clat.percentiles);
}

#[test]
fn option_lat_percentiles_are_off_unless_turned_on() {
    assert!(!report("").lat.percentiles && report("lat_percentiles=1").lat.percentiles);
}

#[test]
fn option_slat_percentiles_are_off_unless_turned_on() {
    assert!(!report("").slat.percentiles && report("slat_percentiles=1").slat.percentiles);
}

#[test]
fn option_percentile_list_is_sorted() {
    assert_eq!(report("percentile_list=99.9:50:99").percentiles, [50.0, 99.0, 99.9]);
    assert!(report("").percentiles.is_empty(), "fio's own");
}

#[test]
fn option_unified_rw_reporting_makes_one_of_directions() {
    let unified = |word: &str| report(&format!("unified_rw_reporting={word}")).unified;
    assert_eq!(["none", "0", "mixed", "1", "both", "2"].map(unified), {
        [Unified::Apart, Unified::Apart, Unified::Mixed, Unified::Mixed, Unified::Both, Unified::Both]
    });
}

#[test]
fn option_stats_leaves_a_job_out_of_reports() {
    assert!(report("").shown && !report("stats=0").shown);
}

#[test]
fn option_write_bw_log_may_name_its_files() {
    assert_eq!(report("write_bw_log=x").logs.bw.as_deref(), Some("x"));
    assert_eq!(report("write_bw_log").logs.bw.as_deref(), Some(""), "the job's name");
    assert!(!report("").logs.any());
}

#[test]
fn option_write_lat_log_may_name_its_files() {
    assert_eq!(report("write_lat_log=x").logs.lat.as_deref(), Some("x"));
}

#[test]
fn option_write_iops_log_may_name_its_files() {
    assert_eq!(report("write_iops_log=x").logs.iops.as_deref(), Some("x"));
}

#[test]
fn option_log_avg_msec_is_the_window_of_logs() {
    assert_eq!((report("log_avg_msec=250").logs.window, report("").logs.window), (Span::from_ms(250), Span::ZERO));
}

#[test]
fn option_log_max_value_logs_the_greatest() {
    assert_eq!(report("log_max_value=1").logs.value, LogValue::Greatest);
    assert_eq!(report("log_max_value=0").logs.value, LogValue::Mean);
}

#[test]
fn option_log_offset_is_a_column_more() {
    assert!(report("log_offset=1").logs.offset && !report("").logs.offset);
}

#[test]
fn option_log_prio_logs_the_whole_priority() {
    assert!(report("log_prio=1").logs.prio && !report("").logs.prio);
}

#[test]
fn option_per_job_logs_numbers_the_files() {
    assert_eq!(report("per_job_logs=0").logs.names, LogNames::Shared);
    assert_eq!(report("").logs.names, LogNames::PerProcess);
}

#[test]
fn ramps_errors_and_priorities_are_told_too() {
    assert_eq!(report("ramp_time=3").ramp, Span::from_secs(3));
    assert!(report("continue_on_error=read").counts_errors && !report("ignore_error=EIO").counts_errors);
    assert!(report("cmdprio_percentage=10").by_priority && !report("prio=3").by_priority);
}
