//! The report's page: as text, in a browser, in Firefox.

mod browser;
mod firefox;
mod page;
mod planted;
