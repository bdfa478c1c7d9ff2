//! **What for**: stacked devices that are refused, each with what would be wrong with taking it for something else.

/// The first word of a description, and why there is no such device here.
pub const NOT_MODELLED: [(&str, &str); 6] = [
    (
        "bcache",
        "what is in the cache, write-back from it, and sequential I/O that bypasses it; the disk alone is too slow, \
         the cache alone too fast",
    ),
    (
        "dm-cache",
        "what is in the cache, promotion and demotion, and write-back from it; the disk alone is too slow, the cache \
         alone too fast",
    ),
    ("dm-thin", "that a first write allocates, and that neighbours above are apart below"),
    ("dm-snapshot", "that a first write copies what was there"),
    (
        "zoned",
        "zones that take writes in order only, and the lock that keeps each zone's writes in order; an ordinary disk \
         takes them as they come",
    ),
    (
        "smr",
        "the drive's own cache of writes and the seconds in which it is emptied; an ordinary disk writes on at its \
         speed",
    ),
];

/// What md does or has that no device here has, and why that matters.
pub const NO_SETTINGS: [(&str, &str); 6] = [
    ("resync", "it reads all members in turn, as fast as sync_speed_max lets it: everything else is slower meanwhile"),
    ("recovery", "it reads all members and writes one, as fast as sync_speed_max lets it: everything else is slower"),
    ("rebuild", "it reads all members and writes one, as fast as sync_speed_max lets it: everything else is slower"),
    ("failed", "what is on a failed member is read from all others: reads of an array that lacks one cost more"),
    ("bitmap", "first writes to a region wait for a write of the bitmap: few large regions hide it, small ones do not"),
    ("journal", "every write goes to the journal's device first, and is complete there (raid5-cache)"),
];
