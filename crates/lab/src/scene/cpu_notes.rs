//! Notes on what was said of processors and changes nothing.

use blksched_disks::Attached;
use blksched_simulate::cpu::CompletesOn;
use blksched_workloads::{CallInterface, CallWay, CpuSet, JobPlan};

use super::{Scene, Stage};

impl Stage {
    /// Notes on `cpus_allowed` where the host does not have such processors, or where I/O costs them nothing; on
    /// hardware queues that the disk does not have or share; and on calls whose costs are not known.
    pub fn cpu_notes(&self, scene: &Scene) -> Vec<String> {
        let mut notes = self.pinned(scene);
        notes.extend(self.queues_that_are_not(scene));
        notes.extend(self.interrupts_elsewhere(scene));
        notes.extend(self.calls_that_are_not_known(scene));
        notes.extend(self.threads_elsewhere(scene));
        notes
    }

    fn pinned(&self, scene: &Scene) -> Vec<String> {
        let cpus = scene.host.cpus as usize;
        let jobs = || self.plan.jobs.iter().filter(|job| job.cpus_allowed != CpuSet::ALL && job.number == 0);
        if scene.host.cpu.is_none() {
            let says =
                jobs().next().map(|job| format!("{}: cpus_allowed changes nothing with --host cpu=off", job.name));
            return says.into_iter().collect();
        }
        let lacks = jobs().filter(|job| !(0..cpus).any(|cpu| job.cpus_allowed.has(cpu)));
        let say = |job: &JobPlan| {
            format!(
                "{}: the host has none of its processors (cpus_allowed, cpuset.cpus), so it may use all {cpus}; \
                 --host cpus=N adds more",
                job.name
            )
        };
        lacks.map(say).collect()
    }

    fn queues_that_are_not(&self, scene: &Scene) -> Option<String> {
        let kind = scene.attached.unwrap_or(self.disk.attached);
        if scene.host.hardware_queues.is_none() {
            let note = "the disk's [arbitration] burst changes nothing without --host nr_hw_queues=N: only then is it \
                        known which submission queue a command is in";
            return (self.disk.middleware.arbitration_burst.get() > 1).then(|| note.to_owned());
        }
        let (name, word) = (&self.disk.name, kind.word());
        match kind {
            _ if !kind.has_hardware_queues() => Some(format!(
                "--host nr_hw_queues changes nothing: {name} is attached by {word}, not nvme, virtio or scsi"
            )),
            Attached::Scsi => None,
            _ => scene.host.shares_tags.then(|| {
                format!("--host host_tagset changes nothing: {name} is attached by {word}, and only scsi shares tags")
            }),
        }
    }

    /// Of a drive with several hardware queues each interrupts one of its own processors.
    fn interrupts_elsewhere(&self, scene: &Scene) -> Option<String> {
        let preset = scene.host.cpu.as_ref()?;
        let (CompletesOn::Interrupted(cpu) | CompletesOn::PassedOn(cpu)) = preset.costs.completes else { return None };
        let kind = scene.attached.unwrap_or(self.disk.attached);
        let has_several = kind.has_hardware_queues() && scene.host.hardware_queues.unwrap_or(scene.host.cpus) > 1;
        let is_free = preset.costs.completes == CompletesOn::PassedOn(cpu) && preset.costs.pass_on.is_zero();
        match cpu {
            0 => None,
            _ if has_several => Some(format!(
                "--host irq_cpu changes nothing: {} has several hardware queues, each with its own processor",
                self.disk.name
            )),
            _ => is_free.then(|| {
                format!(
                    "--host irq_cpu changes nothing with rq_affinity=2: cpu={} does not know what passing an interrupt \
                     on takes (docs/host.md)",
                    preset.name
                )
            }),
        }
    }

    fn calls_that_are_not_known(&self, scene: &Scene) -> Option<String> {
        // Where a thread works is nothing without the thread.
        let usual = |calls: CallWay| {
            let thread_cpu = calls.thread_cpu.filter(|_| !calls.has_thread);
            calls == CallWay { interface: calls.interface, thread_cpu, ..CallWay::default() }
        };
        let said = "registerfiles, fixedbufs, hipri and sqthread_poll change nothing";
        let note = |(name, calls): (&str, CallWay)| match &scene.host.cpu {
            _ if calls.interface != CallInterface::Uring => Some(format!("{name}: {said} without io_uring")),
            None => Some(format!("{name}: {said} with --host cpu=off")),
            Some(preset) if preset.costs.uring.is_none() => Some(format!(
                "{name}: {said} with --host cpu={}, which does not know what io_uring's calls take (docs/host.md)",
                preset.name
            )),
            Some(_) => None,
        };
        let unusual = self.plan.jobs.iter().filter(|job| job.number == 0 && !usual(job.calls));
        let notes: Vec<String> = unusual.filter_map(|job| note((&job.name, job.calls))).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// Of threads that submit for io_uring: those that are not there, and those whose processor is not.
    fn threads_elsewhere(&self, scene: &Scene) -> Vec<String> {
        let knows = scene.host.cpu.as_ref().is_some_and(|preset| preset.costs.uring.is_some());
        let note = |job: &JobPlan| match job.calls.thread_cpu? {
            cpu if !job.calls.has_thread => {
                Some(format!("{}: sqthread_poll_cpu={cpu} changes nothing without sqthread_poll", job.name))
            }
            cpu if knows && cpu >= scene.host.cpus => Some(format!(
                "{}: the host has no processor {cpu} (sqthread_poll_cpu), so the thread works on the next one; \
                 --host cpus=N adds more",
                job.name
            )),
            _ => None,
        };
        self.plan.jobs.iter().filter(|job| job.number == 0).filter_map(note).collect()
    }
}
