//! The report's page: as text, in a browser, in Firefox.

mod browser;
mod firefox;
mod million;
mod page;
mod planted;
mod signs;
