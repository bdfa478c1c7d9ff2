//! `verify_only`: a job reads what it would read back, and does not write it.
//!
//! **Rule** (tried with fio 3.33) fio goes through the job's writes without doing them, and then reads as many blocks:
//! the disk gets the reads alone. fio counts the writes all the same; here they are not counted, and a note says so.
//! A job that also reads, or that does not verify, is refused.

use super::ddir::Ddir;
use super::errors::{Note, Problem};
use super::sections::JobSection;
use super::settings::Mix;

/// Makes a job that only verifies one that reads.
pub(super) fn make_reader(job: &mut JobSection) -> Result<Option<Note>, Problem> {
    let s = &mut job.settings;
    if !s.rare.only_verifies {
        return Ok(None);
    }
    let place = s.place_of("verify_only", &job.place);
    if s.mix != Mix::Write || !s.rare.verify || s.rare.skips_verify {
        let title = format!("`verify_only` of job `{}` cannot be used", job.name);
        return Err(Problem::new(place, title, "expected a job with rw=write or rw=randwrite, and with verify"));
    }
    s.bs[Ddir::Read] = s.bs[Ddir::Write];
    s.bsrange[Ddir::Read] = s.bsrange[Ddir::Write];
    s.bssplit[Ddir::Read] = s.bssplit[Ddir::Write].clone();
    s.blockalign[Ddir::Read] = s.blockalign[Ddir::Write];
    s.random_distribution[Ddir::Read] = s.random_distribution[Ddir::Write].clone();
    s.mix = Mix::Read;
    let why = "the job only reads; fio counts as written what it leaves out".to_owned();
    Ok(Some(Note { place, option: "verify_only", why }))
}
