//! Access control: a list of rules, by the client's user or its certificate.
//!
//! **Rule** Without a rule every client may open everything. With one, everything that no rule allows is denied, and a
//! client whose user is unknown (TCP) may open only what `any`, or a name of its certificate, may open.

use core::str::FromStr;

/// `WHO:EXPORT`: this user, or a client whose certificate has this name, may open this export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessRule {
    who: Grantee,
    /// The export's name; `*` is every one.
    export: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Grantee {
    Uid(u32),
    /// A DNS name of its certificate.
    Certificate(String),
    Any,
}

/// Why a text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a rule: expected UID:EXPORT, as in 1000:disk, any:disk or 0:*, or cert=NAME:EXPORT")]
pub struct RuleError(String);

impl FromStr for AccessRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<AccessRule, RuleError> {
        let error = || RuleError(text.to_owned());
        let (who, export) = text.split_once(':').ok_or_else(error)?;
        let who = match who {
            "any" => Grantee::Any,
            name if name.strip_prefix("cert=").is_some_and(|name| !name.is_empty()) => {
                Grantee::Certificate(name.trim_start_matches("cert=").to_ascii_lowercase())
            }
            uid => Grantee::Uid(uid.parse().map_err(|_| error())?),
        };
        if export.is_empty() {
            return Err(error());
        }
        Ok(AccessRule { who, export: export.to_owned() })
    }
}

impl AccessRule {
    /// The export that it names; `None` for `*`.
    pub fn export(&self) -> Option<&str> {
        (self.export != "*").then_some(&self.export)
    }
}

/// Whether a client of this user (if known), with these names in its certificate, may open this export.
pub fn may_open(rules: &[AccessRule], uid: Option<u32>, names: &[String], export: &str) -> bool {
    let allows = |rule: &AccessRule| {
        let who = match &rule.who {
            Grantee::Any => true,
            Grantee::Uid(allowed) => uid == Some(*allowed),
            Grantee::Certificate(allowed) => names.iter().any(|name| name.eq_ignore_ascii_case(allowed)),
        };
        who && rule.export().is_none_or(|name| name == export)
    };
    rules.is_empty() || rules.iter().any(allows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<AccessRule> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn without_a_rule_everybody_may_open_everything() {
        assert!(may_open(&[], None, &[], "a") && may_open(&[], Some(1000), &[], "a"));
    }

    #[test]
    fn with_a_rule_what_none_allows_is_denied() {
        let rules = rules(&["1000:a", "0:*", "any:public"]);
        assert!(may_open(&rules, Some(1000), &[], "a") && !may_open(&rules, Some(1000), &[], "b"));
        assert!(may_open(&rules, Some(0), &[], "b"));
        assert!(!may_open(&rules, Some(1001), &[], "a"));
    }

    #[test]
    fn a_client_of_unknown_user_gets_what_anybody_gets() {
        let rules = rules(&["1000:a", "any:public"]);
        assert!(!may_open(&rules, None, &[], "a") && may_open(&rules, None, &[], "public"));
    }

    #[test]
    fn a_certificate_is_known_by_its_names_and_by_nothing_else() {
        let rules = rules(&["cert=Alice.example:a", "0:*"]);
        let shown = |name: &str| vec!["other".to_owned(), name.to_owned()];
        assert!(may_open(&rules, None, &shown("alice.example"), "a"));
        assert!(!may_open(&rules, None, &shown("alice.example"), "b"));
        assert!(!may_open(&rules, None, &shown("malice.example"), "a") && !may_open(&rules, None, &[], "a"));
    }

    #[test]
    fn what_is_no_rule_says_what_one_is() {
        for text in ["", "a", "a:b", "1000:", ":a", "cert=:a", "cert=x:"] {
            assert!(text.parse::<AccessRule>().unwrap_err().to_string().contains("UID:EXPORT"), "{text}");
        }
    }
}
