//! `blksched serve` from outside: its promises, real clients, crashes, recordings. Nothing here depends on speed.

#![cfg(all(feature = "serve", target_os = "linux"))]

mod activation;
mod control;
mod crash;
mod exports;
mod full_disk;
mod guest;
mod guide;
mod heirs;
mod hostile;
mod hung;
mod interop;
mod kit;
mod medium;
mod mount;
mod odd;
mod operations;
mod power;
mod promises;
mod record;
mod restart;
mod stable;
mod tls;
mod vhost;
mod weights;
