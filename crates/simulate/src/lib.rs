//! Virtual time: the world that moves values between workloads, queue and disk.
