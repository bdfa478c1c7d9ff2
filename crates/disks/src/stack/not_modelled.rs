//! **What for**: stacked devices that are refused, each with what would be wrong with taking it for something else.

/// The first word of a description, and why there is no such device here.
pub const NOT_MODELLED: [(&str, &str); 9] = [
    (
        "md-raid4",
        "md's stripe cache, its reading before parity is written, and its threads; raid5:… is a controller's array, \
         with one scheduler in front of it instead of one for each member",
    ),
    (
        "md-raid5",
        "md's stripe cache, its reading before parity is written, and its threads; raid5:… is a controller's array, \
         with one scheduler in front of it instead of one for each member",
    ),
    (
        "md-raid6",
        "md's stripe cache, its reading before parity is written, and its threads; raid6:… is a controller's array, \
         with one scheduler in front of it instead of one for each member",
    ),
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
