//! The `blksched` command.

fn main() {}
