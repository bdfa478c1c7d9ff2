//! The values that a job file takes from the host: `${VARIABLE}` and the words `$pagesize`, `$mb_memory`, `$ncpus`.
//!
//! The words are those of the *simulated* host, so that a job file means the same on every machine. Environment
//! variables are passed in by the caller that reads the file.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// The host as job files see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Environment variables, for `${NAME}`.
    pub variables: BTreeMap<String, String>,
    /// `$pagesize` \[bytes\].
    pub pagesize: u64,
    /// `$mb_memory` \[MiB\].
    pub mb_memory: u64,
    /// `$ncpus`.
    pub ncpus: u64,
}

impl Default for Host {
    /// No variables; pages of 4096 bytes, 4096 MiB of memory, 4 processors.
    fn default() -> Host {
        Host { variables: BTreeMap::new(), pagesize: 4096, mb_memory: 4096, ncpus: 4 }
    }
}

impl Host {
    /// This host with the environment of the running program.
    pub fn with_environment() -> Host {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Host { variables: std::env::vars_os().filter_map(text).collect(), ..Host::default() }
    }

    /// `text` with all variables replaced; parts of a list that contain one are evaluated as arithmetic.
    ///
    /// # Errors
    /// The variable that is not set.
    pub(super) fn substitute<'a>(&self, text: &'a str) -> Result<Cow<'a, str>, String> {
        if !text.contains('$') {
            return Ok(Cow::Borrowed(text));
        }
        let text = self.variables_in(text)?;
        let words = [("$pagesize", self.pagesize), ("$mb_memory", self.mb_memory), ("$ncpus", self.ncpus)];
        let replace = |part: &str| match words.iter().any(|(word, _)| part.contains(word)) {
            false => part.to_owned(),
            true => {
                let with = |text: String, (word, value): &(&str, u64)| text.replace(word, &value.to_string());
                format!("({})", words.iter().fold(part.to_owned(), with))
            }
        };
        Ok(Cow::Owned(text.split(',').map(replace).collect::<Vec<_>>().join(",")))
    }

    fn variables_in(&self, text: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, behind)) = after.split_once('}') else { break };
            out += before;
            out += self.variables.get(name).ok_or_else(|| name.to_owned())?;
            rest = behind;
        }
        Ok(out + rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_and_words_are_replaced_and_words_calculate() {
        let variables = BTreeMap::from([("SIZE".to_owned(), "4k".to_owned())]);
        let host = Host { variables, ..Host::default() };
        assert_eq!(host.substitute("a${SIZE}b"), Ok("a4kb".into()));
        assert_eq!(host.substitute("2*$pagesize,8k"), Ok("(2*4096),8k".into()));
        assert_eq!(host.substitute("${"), Ok("${".into()));
        assert_eq!(host.substitute("$jobname"), Ok("$jobname".into()));
        assert_eq!(host.substitute("${NO}"), Err("NO".into()));
    }
}
