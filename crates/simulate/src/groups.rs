//! A plan's groups on a queue: the contents of their files, and io.cost in front if it was selected.

use blksched::cgroup::files::COST_RATE;
use blksched::{BlockQueue, Choice, Group, GroupId, Instant, Listener};
use blksched_disks::sheet::{Figure, figure, six_figures};
use blksched_disks::{DiskSpec, SixFigures};
use blksched_workloads::{GroupPlan, in_figures};

/// Files that only the root has, whichever job names them.
const OF_ROOT: [&str; 3] = ["io.cost.qos", "io.cost.model", COST_RATE];

/// The kernel's default targets for the device (any rate up to 10000 %, no latency) let the clock run away as long as
/// slots are not short, and then no group is throttled. The model is the disk's own, so its rate is what the disk can
/// do.
const COST_QOS: &str = "enable=1 ctrl=user rlat=25000 wlat=25000 min=50.00 max=100.00";

/// Makes a plan's groups and writes their files.
pub(crate) fn make<L: Listener>(queue: &mut BlockQueue<L>, choice: &Choice, disk: &DiskSpec, groups: &[GroupPlan]) {
    let now = Instant::ZERO;
    if let Some(overflows) = choice.io_cost {
        queue.ensure_io_cost(now, overflows);
        write(queue, GroupId::ROOT, "io.cost.model", &cost_model(disk));
        write(queue, GroupId::ROOT, "io.cost.qos", COST_QOS);
    }
    for (nth, group) in (1..).zip(groups) {
        let made = Group { parent: group.parent, weight: group.weight, ..Group::default() };
        queue.set_group(now, GroupId(nth), made).expect("a plan has few groups, with weights that were checked");
        for (file, text) in &group.files {
            let of = if OF_ROOT.contains(&file.as_str()) { GroupId::ROOT } else { GroupId(nth) };
            write(queue, of, file, text);
        }
        for (file, text) in group.files_if_asked.iter().filter(|(file, _)| choice.asked.contains(&file.as_str())) {
            write(queue, GroupId(nth), file, &of_disk(text, disk));
        }
    }
}

fn write<L: Listener>(queue: &mut BlockQueue<L>, id: GroupId, file: &str, text: &str) {
    let written = queue.write_group_file(Instant::ZERO, id, file, text);
    written.unwrap_or_else(|error| unreachable!("it was checked when the job file was read: {error}"));
}

/// A file's text whose percentages refer to the bare disk's performance, with the values that a user would compute
/// after measuring it.
fn of_disk(text: &str, disk: &DiskSpec) -> String {
    let part = |key: &str, percent: u64| {
        let whole = match key {
            "rbps" => figure(disk, Figure::DeepRead),
            "wbps" => figure(disk, Figure::DeepWrite),
            "riops" => figure(disk, Figure::DeepRandomRead),
            "wiops" => figure(disk, Figure::DeepRandomWrite),
            // A target: the latency of one read of 4 KiB at random [us].
            _ => 1e6 / figure(disk, Figure::RandomRead1),
        };
        let value = whole * percent as f64 / 100.0;
        // A value without a limit has no bound.
        (value < ENDLESS).then_some(value as u64)
    };
    in_figures(text, part).unwrap_or_else(|| unreachable!("it was checked when the job file was read"))
}

/// No disk reaches this many per second.
const ENDLESS: f64 = 1e12;

/// The disk's own six figures for `io.cost.model`, as a user would measure them.
fn cost_model(disk: &DiskSpec) -> String {
    let figures = SixFigures::NAMES.iter().zip(six_figures(disk).to_array());
    // A model without a figure has 0 there; io.cost treats a missing one as free.
    let words = figures.filter(|(_, figure)| *figure > 0).map(|(name, figure)| format!(" {name}={figure}"));
    format!("ctrl=user model=linear{}", words.collect::<String>())
}
