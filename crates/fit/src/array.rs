//! An array behind a controller, from what a single member behind the same controller showed.
//!
//! **Rule** Each member keeps its own times and its own path to the controller; completions are gathered where the
//! controller interrupts its host, once for all members. Nothing of the array's own results is looked at.
//!
//! **Not known** The length of a chunk (random I/Os of one chunk do not show it), and a cache of the controller's.

use blksched_disks::{DiskError, DiskSpec, Model};

use crate::model::DriveModel;

/// RAID 0 of so many members; at least 2.
///
/// # Errors
/// If the values make no disk; an error of ours.
pub fn striped(member: &DriveModel, count: u32) -> Result<DiskSpec, DiskError> {
    let mut disk = member.disk()?;
    let mut array = blksched_disks::load(&format!("raid0:{}xnull", count.max(2)))?;
    array.middleware.coalescing = disk.middleware.coalescing.take();
    array.attached = disk.attached;
    if let Model::Raid(raid) = &mut array.model {
        raid.depth = disk.depth().saturating_mul(count.max(2));
        raid.max_sectors = disk.build(1).facts().max_sectors;
        raid.members = vec![disk; count.max(2) as usize];
    }
    Ok(array)
}

/// The member's name in an array's, and how many there are: `mx200x3-raid0` is three of `mx200`.
pub fn members(array: &str) -> Option<(&str, u32)> {
    let (before, _) = array.split_once("-raid0")?;
    let (member, count) = before.rsplit_once('x')?;
    let count = count.parse().ok().filter(|count| (2..=64).contains(count))?;
    Some((member, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{CellFigures, GridLoad, LoadPattern, ResultGrid};
    use blksched::Dir;
    use blksched_disks::Attached;

    #[test]
    fn an_arrays_name_tells_its_members() {
        assert_eq!(members("crucial-mx200x3-raid0-8k"), Some(("crucial-mx200", 3)));
        assert_eq!(members("ax12-raid0"), Some(("a", 12)));
        assert_eq!(["3xssd-md-raid0", "x-raid0", "ax1-raid0", "crucial-mx200"].map(members), [None; 4]);
    }

    #[test]
    fn members_keep_their_times_and_the_controller_gathers_once() {
        let mut grid = ResultGrid { device: "a-480".to_owned(), path: "hba".to_owned(), ..ResultGrid::default() };
        for (depth, p50_us) in [(1, 100.0), (4, 200.0)] {
            let load = GridLoad { pattern: LoadPattern::Read, bytes: 4096, depth, jobs: 1 };
            grid.add(load, Dir::Read, CellFigures { iops: 9_000.0, p50_us, p99_us: 300.0, p999_us: 400.0 });
        }
        let used: Vec<GridLoad> = grid.cells.iter().map(|cell| cell.load).collect();
        let model = DriveModel::guess(&grid, Attached::Sata, &used).with_coalescing(&grid, &used).unwrap();
        let array = striped(&model, 3).unwrap();
        let Model::Raid(raid) = &array.model else { panic!("an array") };
        assert!(array.middleware.coalescing.is_some() && raid.members.len() == 3 && raid.depth == 93);
        assert!(raid.members.iter().all(|member| member.middleware.coalescing.is_none()));
        let (whole, one) = (array.build(1).facts().sectors, model.disk().unwrap().build(1).facts().sectors);
        assert!(whole <= 3 * one && whole > 3 * one - 8_192, "{whole} of {one}");
    }
}
