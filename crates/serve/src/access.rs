//! Who may open what: a list of rules, by the client's user.
//!
//! **Rule** Without a rule everybody may open everything. With one, whatever no rule allows is denied, and a client
//! whose user is unknown (TCP) is only allowed what is allowed to `any`.

use core::str::FromStr;

/// `USER:EXPORT`: this user may open this export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    who: Who,
    /// The export's name; `*` is every one.
    export: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Uid(u32),
    Any,
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no rule: expected UID:EXPORT, as in 1000:disk, any:disk or 0:*")]
pub struct RuleError(String);

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Rule, RuleError> {
        let error = || RuleError(text.to_owned());
        let (who, export) = text.split_once(':').ok_or_else(error)?;
        let who = match who {
            "any" => Who::Any,
            uid => Who::Uid(uid.parse().map_err(|_| error())?),
        };
        if export.is_empty() {
            return Err(error());
        }
        Ok(Rule { who, export: export.to_owned() })
    }
}

impl Rule {
    /// The export that it names, if it names one.
    pub fn export(&self) -> Option<&str> {
        (self.export != "*").then_some(&self.export)
    }
}

/// May a client of this user (if it is known) open this export?
pub fn may_open(rules: &[Rule], uid: Option<u32>, export: &str) -> bool {
    let allows = |rule: &Rule| {
        let who = match rule.who {
            Who::Any => true,
            Who::Uid(allowed) => uid == Some(allowed),
        };
        who && rule.export().is_none_or(|name| name == export)
    };
    rules.is_empty() || rules.iter().any(allows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<Rule> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn without_a_rule_everybody_may_open_everything() {
        assert!(may_open(&[], None, "a") && may_open(&[], Some(1000), "a"));
    }

    #[test]
    fn with_a_rule_what_none_allows_is_denied() {
        let rules = rules(&["1000:a", "0:*", "any:public"]);
        assert!(may_open(&rules, Some(1000), "a") && !may_open(&rules, Some(1000), "b"));
        assert!(may_open(&rules, Some(0), "b"));
        assert!(!may_open(&rules, Some(1001), "a"));
    }

    #[test]
    fn a_client_of_unknown_user_gets_what_anybody_gets() {
        let rules = rules(&["1000:a", "any:public"]);
        assert!(!may_open(&rules, None, "a") && may_open(&rules, None, "public"));
    }

    #[test]
    fn what_is_no_rule_says_what_one_is() {
        for text in ["", "a", "a:b", "1000:", ":a"] {
            assert!(text.parse::<Rule>().unwrap_err().to_string().contains("UID:EXPORT"), "{text}");
        }
    }
}
