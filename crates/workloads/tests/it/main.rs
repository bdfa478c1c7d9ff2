//! fio's options each by a run that changes, programs, the host, and what broken job files answer.

mod common;
mod file_system;
mod fio_examples;
mod grains;
mod host;
mod malformed;
mod mapped;
mod mounted_otherwise;
mod mutations;
mod options;
mod options_files;
mod options_pace;
mod options_replay;
mod options_report;
mod several_files;
mod source;
