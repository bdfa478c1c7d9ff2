//! A mechanism, described once: its enum, its row in the catalogue, and the parser from a user's word to the enum.
//!
//! An unknown variant cannot be mapped by accident: each word of a row is looked up among the enum's variants, and a
//! word in no row has no value.

pub use crate::entry::{Choice, Mechanism, Variant};

/// The variants of a mechanism; [`mechanism!`](crate::mechanism!) makes them.
pub trait Way: Copy + 'static {
    /// The word that a user types before the `=`.
    const NAME: &'static str;

    /// The variant with this name.
    fn named(variant: &str) -> Option<Self>;
}

/// The text without the blank that `///` leaves at its beginning.
#[doc(hidden)]
pub const fn text(doc: &'static str) -> &'static str {
    doc.trim_ascii()
}

/// A variant's row.
#[doc(hidden)]
pub const fn variant(name: &'static str, doc: &'static str) -> Variant {
    Variant { name, doc: text(doc) }
}

/// A mechanism and its variant, as rows of eras have them.
pub(crate) type Pair = (&'static str, &'static str);

/// An era's row: that of another era, with what differs.
///
/// # Panics
/// When compiled, if the other era has no such mechanism, or the same variant of it.
pub(crate) const fn differing<const N: usize>(mut row: [Pair; N], changes: &[Pair]) -> [Pair; N] {
    let mut change = 0;
    while change < changes.len() {
        let (name, variant) = changes[change];
        let mut at = 0;
        while !is_same(row[at].0, name) {
            at += 1;
        }
        assert!(!is_same(row[at].1, variant), "no difference");
        row[at].1 = variant;
        change += 1;
    }
    row
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

impl Choice {
    /// The variant of this mechanism; `None`: this era has no such mechanism.
    pub fn way_if_any<W: Way>(&self) -> Option<W> {
        let (name, variant) = self.row.iter().find(|(name, _)| *name == W::NAME)?;
        let way = W::named(variant);
        Some(way.unwrap_or_else(|| panic!("{}: `{variant}` is not a variant of `{name}`", self.entry.name)))
    }

    /// The variant of this mechanism.
    ///
    /// # Panics
    /// If this era has no such mechanism.
    pub fn way<W: Way>(&self) -> W {
        self.way_if_any().unwrap_or_else(|| panic!("{} has no mechanism `{}`", self.entry.name, W::NAME))
    }
}

/// Describes a mechanism once: makes the enum, `MECHANISM` for the catalogue, `row` for the presets, and `Way`.
///
/// The documentation is what `blksched list` prints, so it stays on one line.
///
/// ```
/// blksched::mechanism! {
///     /// which end of the queue goes first
///     pub enum Order = "order" {
///         /// the oldest: every kernel
///         Oldest = "oldest",
///         /// the newest: none
///         Newest = "newest",
///     }
/// }
/// assert_eq!(Order::Newest.row(), ("order", "newest"));
/// assert_eq!(Order::MECHANISM.variants[0].doc, "the oldest: every kernel");
/// ```
#[cfg_attr(feature = "elevator-author", macro_export)]
macro_rules! mechanism {
    (
        $(#[doc = $doc:literal])+
        $vis:vis enum $name:ident = $word:literal {
            $( $(#[doc = $way_doc:literal])+ $way:ident = $way_word:literal, )+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $( $(#[doc = $way_doc])+ $way, )+
        }

        impl $name {
            /// Its entry in the catalogue.
            pub const MECHANISM: $crate::mechanism::Mechanism = $crate::mechanism::Mechanism {
                name: $word,
                doc: $crate::mechanism::text(concat!($($doc),+)),
                variants: &[$( $crate::mechanism::variant($way_word, concat!($($way_doc),+)), )+],
            };

            /// Its entry in an era's row.
            pub const fn row(self) -> (&'static str, &'static str) {
                match self {
                    $( $name::$way => ($word, $way_word), )+
                }
            }
        }

        impl $crate::mechanism::Way for $name {
            const NAME: &'static str = $word;

            fn named(variant: &str) -> Option<$name> {
                match variant {
                    $( $way_word => Some($name::$way), )+
                    _ => None,
                }
            }
        }
    };
}

#[cfg(not(feature = "elevator-author"))]
pub(crate) use mechanism;

/// Describes all mechanisms of an elevator once: makes the struct from which it is built, `TABLE` for the catalogue,
/// and `of`, which reads a parsed name. A field with `or` has that value in eras whose rows do not have the mechanism.
macro_rules! mechanisms {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[doc = $doc:literal])+ $field:ident: $way:ty $(, or $without:expr)?; )+
        }
        also [$($also:expr),*]
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis struct $name {
            $( $(#[doc = $doc])+ pub $field: $way, )+
        }

        impl $name {
            /// All mechanisms and their variants.
            pub const TABLE: &'static [$crate::mechanism::Mechanism] = &[$( <$way>::MECHANISM, )+ $($also),*];

            /// The variants in a parsed name.
            pub fn of(choice: &$crate::mechanism::Choice) -> $name {
                $name { $( $field: $crate::mechanism::mechanisms!(@read choice $(, $without)?), )+ }
            }
        }
    };
    (@read $choice:ident) => { $choice.way() };
    (@read $choice:ident, $without:expr) => { $choice.way_if_any().unwrap_or($without) };
}
pub(crate) use mechanisms;

#[cfg(test)]
mod tests {
    use super::*;

    mechanism! {
        /// which end
        /// goes first
        enum Order = "order" {
            /// the oldest
            Oldest = "oldest",
            /// the newest
            Newest = "newest",
        }
    }

    #[test]
    fn a_word_is_one_of_the_ways_or_nothing() {
        assert_eq!(Order::named("newest"), Some(Order::Newest));
        assert_eq!((Order::named("newset"), Order::named("")), (None, None));
        assert_eq!(Order::MECHANISM.doc, "which end goes first");
        let words = Order::MECHANISM.variants.iter().map(|variant| variant.name);
        assert!(words.eq([Order::Oldest, Order::Newest].map(|order| order.row().1)));
    }

    #[test]
    #[should_panic(expected = "has no mechanism `order`")]
    fn an_era_without_the_mechanism_has_no_way_of_it() {
        crate::Catalogue::builtin().parse("noop").expect("noop is known").way::<Order>();
    }
}
