//! A trace of several devices, each as a separate disk: `x.blktrace.0:device=each --disk sda=hdd-7200,sdb=nvme-ssd`.

use std::sync::Arc;

use blksched_simulate::OtherDisk;

use super::Scene;
use super::stage::Stage;
use super::workload::Workload;
use crate::error::Error;
use crate::files::Files;

impl Stage {
    /// One stage for each disk: a single one, unless the workload is a trace each of whose devices becomes a disk.
    /// `single` lists options, with whether they were given, that allow only one disk.
    ///
    /// # Errors
    /// If the load or a disk is not understood, or an option allows only one disk and there are several.
    pub fn each(scene: &Scene, files: &dyn Files, single: &[(bool, &str)]) -> Result<Vec<Stage>, Error> {
        let workloads = Workload::each(scene, files)?;
        let said = single.iter().find(|(said, _)| *said);
        if let (Some((_, option)), [_, other, ..]) = (said, &workloads[..]) {
            return Err(Error::Input(format!(
                "{option} is about one disk, and device=each makes several: expected one of them, as in device={}",
                other.device[0]
            )));
        }
        let devices: Vec<&[String]> = workloads.iter().map(|workload| &workload.device[..]).collect();
        let disks = disks(&scene.disk, &devices).map_err(Error::Input)?;
        let stages =
            workloads.into_iter().zip(disks).map(|(workload, disk)| Stage::on(Arc::new(workload), disk, scene, files));
        let mut stages = stages.collect::<Result<Vec<_>, _>>()?;
        stages.iter().try_for_each(|stage| stage.is_alone_for(single))?;
        if let (Some(stacked), true) = (stages.iter().find(|stage| stage.among.shown.is_some()), stages.len() > 1) {
            return Err(Error::Input(format!(
                "--disk {}: device=each replays each device on a disk of its own: expected no stacked device",
                stacked.on_what()
            )));
        }
        let joint: Vec<bool> = stages.iter().map(|stage| stage.plan.is_joint()).collect();
        let all: Vec<(String, OtherDisk)> = stages.iter().map(Stage::as_other_disk).collect();
        for nth in (0..stages.len()).filter(|&nth| joint[nth]) {
            let others = (0..all.len()).filter(|&other| other != nth && joint[other]);
            stages[nth].other_disks = others.map(|other| all[other].clone()).collect();
        }
        Ok(stages)
    }

    /// Whether options that are about one disk, if they were given, can be obeyed.
    ///
    /// # Errors
    /// If one was given, and the run has several disks.
    pub fn is_alone_for(&self, single: &[(bool, &str)]) -> Result<(), Error> {
        match single.iter().find(|(said, _)| *said) {
            Some((_, option)) if self.among.shown.is_some() => Err(Error::Input(format!(
                "{option} is about one disk, and this run has a stacked device: {}",
                self.on_what()
            ))),
            Some((_, option)) if !self.among.others.is_empty() => Err(Error::Input(format!(
                "{option} is about one disk, and this run has several: {}",
                self.among.names().join(", ")
            ))),
            _ => Ok(()),
        }
    }

    fn as_other_disk(&self) -> (String, OtherDisk) {
        let name = self.workload.device.first().cloned().unwrap_or_default();
        (name, OtherDisk { disk: self.disk.clone(), plan: self.plan.clone() })
    }
}

/// The disk of each device, which has one or two names: one description for all, or `NAME=DISK,NAME=DISK`.
fn disks(said: &str, devices: &[&[String]]) -> Result<Vec<String>, String> {
    let begins: Vec<Option<(usize, usize)>> = devices.iter().map(|names| begin(said, names)).collect();
    if begins.iter().all(Option::is_none) {
        return Ok(vec![said.to_owned(); devices.len()]);
    }
    let all = || devices.iter().map(|names| names[0].as_str()).collect::<Vec<_>>().join(", ");
    let disk = |(names, begin): (&&[String], &Option<(usize, usize)>)| {
        let lacking = || format!("--disk {said}: no disk for device {}; the trace has {}", names[0], all());
        let (_, from) = begin.ok_or_else(lacking)?;
        let next = begins.iter().flatten().map(|(at, _)| *at).filter(|at| *at >= from).min().unwrap_or(said.len());
        Ok(said[from..next].trim_end_matches(',').to_owned())
    };
    devices.iter().zip(&begins).map(disk).collect()
}

/// Where a device's part begins, and where the disk's name begins within it.
fn begin(said: &str, names: &[String]) -> Option<(usize, usize)> {
    let at = |name: &String| {
        let part = format!("{name}=");
        let mut found = said.match_indices(&part).map(|(at, _)| at);
        found.find(|&at| at == 0 || said[..at].ends_with(',')).map(|at| (at, at + part.len()))
    };
    names.iter().find_map(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_has_the_disk_that_was_said_for_it_or_for_all() {
        let names: [Vec<String>; 2] = [vec!["sda".to_owned(), "8,0".to_owned()], vec!["8,16".to_owned()]];
        let devices: Vec<&[String]> = names.iter().map(Vec::as_slice).collect();
        let of = |said: &str| disks(said, &devices);
        let two = |a: &str, b: &str| Ok(vec![a.to_owned(), b.to_owned()]);
        assert_eq!(of("hdd-7200"), two("hdd-7200", "hdd-7200"));
        assert_eq!(of("raid5:4xhdd-7200,failed=1"), two("raid5:4xhdd-7200,failed=1", "raid5:4xhdd-7200,failed=1"));
        assert_eq!(of("sda=hdd-7200,8,16=nvme-ssd"), two("hdd-7200", "nvme-ssd"));
        let raid = "raid5:4xhdd-7200,failed=1";
        assert_eq!(of(&format!("8,16={raid},8,0=sata-ssd")), two("sata-ssd", raid));
        assert!(of("sda=hdd-7200").unwrap_err().ends_with("no disk for device 8,16; the trace has sda, 8,16"));
    }
}
