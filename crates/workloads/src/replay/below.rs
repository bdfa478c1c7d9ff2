//! A recording of a stacked device that has I/Os of the devices below it which are no parts of its own: other
//! partitions, an array's superblock.
//!
//! **Rule** They are submitted to the members, at the sectors of the recording; a member that is shorter here than
//! where it was recorded has what lies beyond its end from its beginning on again. What has no member here is left out.

use std::sync::Arc;

use blksched::Sector;

use super::recording::{ReplayIo, StandsFor};
use super::{Replay, place};

/// Where a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberSpan {
    /// Its first sector in the common space.
    pub first: Sector,
    /// Its length \[512-byte sectors\].
    pub sectors: u64,
}

/// The device above, and the members, by their places among the recording's devices.
#[derive(Clone, Debug)]
pub(super) struct MembersBelow {
    top: u16,
    members: Arc<[Option<MemberSpan>]>,
}

/// How many I/Os that are no parts go to members, and how many are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacedBelow {
    /// Those that go to members.
    pub placed: usize,
    /// Those that have none here.
    pub left_out: usize,
}

impl Replay {
    /// The replay of a recording of `top` with what was recorded below it on the members that `member` finds.
    ///
    /// # Errors
    /// If the recording has no such device, or a temporary file cannot be written or read.
    pub fn with_members(
        &self,
        top: (u32, u32),
        member: impl Fn((u32, u32)) -> Option<MemberSpan>,
    ) -> Result<(Replay, PlacedBelow), String> {
        let devices = self.recording.devices();
        let at = devices.iter().position(|device| *device == top).and_then(|at| u16::try_from(at).ok());
        let at = at.ok_or_else(|| format!("{}: no I/O of {},{}", self.name, top.0, top.1))?;
        let members: Arc<[Option<MemberSpan>]> =
            devices.iter().map(|&device| if device == top { None } else { member(device) }).collect();
        let is_member = |io: &ReplayIo| members.get(usize::from(io.device)).is_some_and(Option::is_some);
        let all = || (0..self.recording.processes.len()).flat_map(|process| self.recording.played(process));
        let placed = all().filter(is_member).count();
        let left_out = all().filter(|io| io.device != at && !is_member(io)).count();
        let recording = match left_out {
            0 => self.recording.clone(),
            _ => Arc::new(self.recording.keeping(|io| io.device == at || is_member(io))?),
        };
        let below = Some(MembersBelow { top: at, members });
        Ok((Replay { recording, below, ..self.clone() }, PlacedBelow { placed, left_out }))
    }

    /// What of the recording is on the disk itself, and not on members of it.
    pub(super) fn on_its_disk(&self) -> StandsFor {
        self.below.as_ref().map_or(self.disk, |below| StandsFor::Nth(below.top))
    }

    /// Where an I/O goes, in the common space.
    pub(super) fn place_of(&self, io: &ReplayIo) -> u64 {
        let sector = self.place(io.start);
        let member = self.below.as_ref().and_then(|below| *below.members.get(usize::from(io.device))?);
        let Some(MemberSpan { first, sectors }) = member else { return sector };
        let room = sectors.saturating_sub(u64::from(io.sectors)).max(1);
        first.0 + if sector < room { sector } else { place(sector % room, 1, 8) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::recording::tests::event;
    use super::super::{Recording, TraceAction, TraceEvent};
    use super::*;

    #[test]
    fn what_is_no_part_goes_to_its_member_and_what_has_none_is_left_out() {
        let on = |minor: u32, time: u64, start: u64| TraceEvent {
            device: (8, minor),
            ..event(time, TraceAction::Queue, start)
        };
        let events = vec![on(0, 0, 80), on(16, 1, 160), on(16, 2, 5000), on(32, 3, 8)];
        let recording = Arc::new(Recording::of(events, &BTreeMap::new()).unwrap());
        let replay = Replay::of("trace", "", recording).unwrap();
        let member = |device| (device == (8, 16)).then_some(MemberSpan { first: Sector(1 << 21), sectors: 4096 });
        let (placed, told) = replay.with_members((8, 0), member).unwrap();
        assert_eq!(told, PlacedBelow { placed: 2, left_out: 1 });
        let places: Vec<u64> = placed.recording.in_order().iter().map(|io| placed.place_of(io)).collect();
        assert_eq!(places, [80, (1 << 21) + 160, (1 << 21) + 5000 % 4088 / 8 * 8]);
        assert_eq!(placed.parts(88).map(|parts| parts.len()), Ok(1), "members have lengths of their own");
        assert!(replay.with_members((9, 0), member).is_err());
    }
}
