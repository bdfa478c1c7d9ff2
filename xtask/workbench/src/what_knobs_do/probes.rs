//! Which knobs are tried, and on which loads.

use blksched::Catalogue;
use blksched::tunables::Knob;

/// A scheduler, or a controller, whose knobs are tried.
pub struct Subject {
    /// Its name on the page.
    pub name: &'static str,
    pub knobs: Knobs,
    pub loads: &'static [Probe],
}

/// Where its knobs are.
pub enum Knobs {
    /// In a scheduler's own folder.
    OfScheduler,
    /// In this file of the root group, read and written under `none+io.cost`: the names with their values, the default
    /// first, and what must stand beside them.
    OfRoot { file: &'static str, knobs: &'static [(&'static str, &'static [&'static str], &'static str)] },
}

/// A load on a disk.
#[derive(Clone, Copy)]
pub struct Probe {
    /// A built-in workload, or one of [`OWN`].
    pub load: &'static str,
    pub disk: &'static str,
}

const fn on(disk: &'static str, load: &'static str) -> Probe {
    Probe { load, disk }
}

/// A knob and its values as typed, the default first.
pub struct Tried {
    pub knob: String,
    pub values: Vec<String>,
}

pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "deadline@2.5.38",
        knobs: Knobs::OfScheduler,
        loads: &[
            on("ide-2002", "reader-and-writer"),
            on("ide-2002", "readers-and-commits"),
            on("ide-2002", "many-readers"),
            on("ide-2002", "four-streams"),
            on("hdd-7200", "beside-a-backup"),
        ],
    },
    Subject {
        name: "mq-deadline",
        knobs: Knobs::OfScheduler,
        loads: &[
            on("hdd-7200", "reader-and-writer"),
            on("hdd-7200", "readers-and-commits"),
            on("hdd-7200", "many-readers"),
            on("hdd-7200", "four-streams"),
            on("hdd-7200", "scrub"),
            on("sata-ssd", "beside-a-backup"),
            on("usb-stick", "reader-and-writer"),
        ],
    },
    Subject {
        name: "kyber",
        knobs: Knobs::OfScheduler,
        loads: &[
            on("nvme-ssd", "deep-queues"),
            on("sata-ssd", "deep-queues"),
            on("nvme-ssd", "mixed-nvme"),
            on("hdd-7200", "reader-and-writer"),
            on("usb-stick", "reader-and-writer"),
        ],
    },
    Subject {
        name: "bfq",
        knobs: Knobs::OfScheduler,
        loads: &[
            on("hdd-7200", "reader-and-writer"),
            on("hdd-7200", "readers-and-commits"),
            on("hdd-7200", "many-readers"),
            on("hdd-7200", "four-streams"),
            on("hdd-7200", "start-up"),
            on("hdd-7200", "priorities"),
            on("sata-ssd", "beside-a-backup"),
        ],
    },
    Subject {
        name: "io.cost",
        knobs: Knobs::OfRoot {
            file: "io.cost.qos",
            knobs: &[
                ("rlat", &["5000", "200", "1000", "25000"], "enable=1 ctrl=user rpct=95.00 min=25.00 max=100.00"),
                ("rpct", &["95.00", "50.00", "99.00"], "enable=1 ctrl=user rlat=1000 min=25.00 max=100.00"),
                ("wlat", &["5000", "500", "2000", "25000"], "enable=1 ctrl=user wpct=95.00 min=25.00 max=100.00"),
                ("wpct", &["95.00", "50.00", "99.00"], "enable=1 ctrl=user wlat=2000 min=25.00 max=100.00"),
                ("min", &["50.00", "10.00", "25.00", "100.00"], "enable=1 ctrl=user rpct=95.00 rlat=200 max=100.00"),
                ("max", &["100.00", "50.00", "150.00", "400.00"], "enable=1 ctrl=user rpct=95.00 rlat=25000 min=50.00"),
            ],
        },
        loads: &[on("nvme-ssd", "two-groups"), on("sata-ssd", "two-groups"), on("hdd-7200", "two-groups")],
    },
];

/// Loads of which this page alone has need.
pub const OWN: &[(&str, &str)] = &[
    (
        "readers-and-commits",
        "; Sixteen readers, each of which waits for its block, beside one who commits each block.\n\
         [global]\ndirect=1\ntime_based\nruntime=60\nsize=1g\n\
         [readers]\nrw=randread\nbs=4k\nioengine=psync\nnumjobs=16\ngroup_reporting\n\
         [commits]\nrw=randwrite\nbs=4k\nioengine=psync\n",
    ),
    (
        "many-readers",
        "; Readers that keep 64 in flight, beside one who waits for each block, and a writer of large blocks.\n\
         [global]\ndirect=1\ntime_based\nruntime=60\nsize=1g\n\
         [crowd]\nrw=randread\nbs=4k\nioengine=libaio\niodepth=64\n\
         [one]\nrw=randread\nbs=4k\nioengine=psync\n\
         [writer]\nrw=randwrite\nbs=64k\nioengine=libaio\niodepth=16\n",
    ),
    (
        "deep-queues",
        "; More queued than the drive's kinds of I/O may have inside it, beside one who waits for each block.\n\
         [global]\ndirect=1\ntime_based\nruntime=60\nsize=2g\n\
         [crowd]\nrw=randread\nbs=4k\nioengine=libaio\niodepth=512\n\
         [one]\nrw=randread\nbs=4k\nioengine=psync\n\
         [writer]\nrw=randwrite\nbs=64k\nioengine=libaio\niodepth=256\n",
    ),
    (
        "two-groups",
        "; A group that is due five times as much as another, both with as much as the disk takes.\n\
         [global]\ndirect=1\ntime_based\nruntime=60\nsize=2g\nioengine=libaio\n\
         [due]\ncgroup=due\ncgroup_weight=500\n; blksched: cgroup_files=QOS\nrw=randread\nbs=4k\niodepth=8\n\
         [bulk]\ncgroup=bulk\ncgroup_weight=100\nrw=randrw\nbs=64k\niodepth=32\n",
    ),
];

impl Subject {
    /// Its knobs with the values worth trying.
    pub fn tried(&self) -> Vec<Tried> {
        match &self.knobs {
            Knobs::OfScheduler => of_scheduler(self.name),
            Knobs::OfRoot { knobs, .. } => {
                let of = |(knob, values, _): &(&str, &[&str], &str)| Tried {
                    knob: (*knob).to_owned(),
                    values: values.iter().map(|value| (*value).to_owned()).collect(),
                };
                knobs.iter().map(of).collect()
            }
        }
    }

    /// The text of one of its loads, with this knob at this value if it is no scheduler's; `None` if it is built in.
    pub fn text(&self, load: &str, knob: &str, value: &str) -> Option<String> {
        let (_, text) = OWN.iter().find(|(name, _)| *name == load)?;
        let setting = match &self.knobs {
            Knobs::OfScheduler => String::new(),
            Knobs::OfRoot { file, knobs } => {
                let beside = knobs.iter().find(|(name, ..)| *name == knob).map_or("", |(.., beside)| *beside);
                format!("{file}: {beside} {knob}={value}")
            }
        };
        Some(text.replace("QOS", &setting))
    }
}

/// A scheduler's knobs that its kernel has, without second names.
fn of_scheduler(spec: &str) -> Vec<Tried> {
    let built = Catalogue::builtin().parse(spec).expect("it is in the list above").build();
    let tunables = built.elevator.tunables();
    let of = |knob: &'static Knob| {
        let default = tunables.get(knob.name)?;
        let values = knob.sweep.iter().copied().filter(|raw| *raw != default);
        let values: Vec<String> = [default].into_iter().chain(values).map(|raw| knob.unit.show(raw)).collect();
        (knob.same_as.is_none() && values.len() > 1).then(|| Tried { knob: knob.name.to_owned(), values })
    };
    tunables.knobs().into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use blksched_lab::scene::Stage;
    use blksched_lab::{NoFiles, Scene};

    use super::*;

    #[test]
    fn every_load_is_one_and_every_value_is_taken() {
        for subject in SUBJECTS {
            for Tried { knob, values } in subject.tried() {
                assert!(values.len() > 1, "{} {knob}", subject.name);
                for Probe { load, disk } in subject.loads {
                    let text = subject.text(load, &knob, &values[1]);
                    let scene = text.map_or_else(|| Scene::of(load, disk, 1), |text| Scene::of_jobs(load, &text, disk));
                    Stage::load(&scene, &NoFiles).unwrap_or_else(|error| panic!("{knob} of {load}: {error}"));
                }
            }
        }
    }
}
