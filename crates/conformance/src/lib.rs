//! The laws that every elevator keeps, and the replayer of recorded decisions.
