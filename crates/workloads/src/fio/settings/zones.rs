//! A job's settings about zones.

use crate::fio::values::LengthOrShare;

/// `zonemode=strided`: only this much of the file, zone by zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Zones {
    pub strided: bool,
    /// To transfer in a zone, of the file.
    pub size: Option<LengthOrShare>,
    /// The zone's length, if it is different.
    pub range: Option<LengthOrShare>,
    /// From a zone's end to the next.
    pub skip: Option<LengthOrShare>,
}
