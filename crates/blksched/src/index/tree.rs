//! One sorted set: a tree with its own [`Forest`], which counts its comparisons.

use super::forest::{Forest, Root, Steps, Summary};

/// A sorted set of numbered items (requests, queues), each with a key.
#[derive(Clone, Debug)]
pub struct Tree<K, S = ()> {
    forest: Forest<K, S>,
    root: Root,
}

impl<K: Copy + Default + Ord, S: Summary<K>> Default for Tree<K, S> {
    fn default() -> Tree<K, S> {
        Tree::new()
    }
}

impl<K: Copy + Default + Ord, S: Summary<K>> Tree<K, S> {
    /// An empty tree.
    pub fn new() -> Tree<K, S> {
        Tree { forest: Forest::new(), root: Root::default() }
    }

    /// As [`Forest::reserve`].
    pub fn reserve(&mut self, things: usize) {
        self.forest.reserve(things);
    }

    /// The number of members.
    pub fn len(&self) -> u32 {
        self.root.len()
    }

    /// True if there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.root.is_empty()
    }

    /// Whether `id` is a member.
    pub fn contains(&self, id: u32) -> bool {
        self.forest.contains(id)
    }

    /// The key under which the member `id` was inserted.
    #[inline]
    pub fn key(&self, id: u32) -> K {
        self.forest.key(id)
    }

    /// As [`Forest::rekey`].
    pub fn rekey(&mut self, id: u32, key: K) {
        self.forest.rekey(id, key);
    }

    /// The value kept for the subtree whose top is the member `id`.
    pub fn summary(&self, id: u32) -> S {
        self.forest.summary(id)
    }

    /// The member with the smallest key; of equal keys, the one inserted first.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        self.root.first()
    }

    /// The member with the greatest key; of equal keys, the one inserted last.
    pub fn last(&self) -> Option<u32> {
        self.forest.last(self.root)
    }

    /// The member behind `id` in order.
    #[inline]
    pub fn next(&self, id: u32) -> Option<u32> {
        self.forest.next(id)
    }

    /// The member before `id` in order.
    #[inline]
    pub fn previous(&self, id: u32) -> Option<u32> {
        self.forest.previous(id)
    }

    /// The member with this key that a descent from the root meets first, and the number of comparisons.
    #[inline(always)]
    pub fn find(&mut self, key: K) -> (Option<u32>, u32) {
        self.find_counting(key, Steps::Counted)
    }

    /// The same; the number has no meaning if comparisons are not counted.
    #[inline(always)]
    pub fn find_counting(&mut self, key: K, steps: Steps) -> (Option<u32>, u32) {
        self.forest.find_counting(self.root, key, steps)
    }

    /// As [`Forest::last_visited`].
    pub fn last_visited(&self, key: K) -> Option<u32> {
        self.forest.last_visited(self.root, key)
    }

    /// The first member, in order, with a key of at least `key`.
    pub fn at_or_behind(&self, key: K) -> Option<u32> {
        self.forest.at_or_behind(self.root, key)
    }

    /// Inserts `id`, behind equal keys; returns the number of comparisons.
    ///
    /// # Panics
    /// If it is a member already.
    #[inline]
    pub fn insert(&mut self, id: u32, key: K) -> u32 {
        self.insert_counting(id, key, Steps::Counted)
    }

    /// The same; the number has no meaning if comparisons are not counted.
    ///
    /// # Panics
    /// If it is a member already.
    #[inline(always)]
    pub fn insert_counting(&mut self, id: u32, key: K, steps: Steps) -> u32 {
        self.forest.insert_counting(&mut self.root, id, key, steps)
    }

    /// Removes the member `id`; returns the member that was behind it.
    ///
    /// # Panics
    /// If it is not a member.
    #[inline]
    pub fn remove(&mut self, id: u32) -> Option<u32> {
        self.forest.remove(&mut self.root, id)
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.forest.iter(self.root)
    }

    /// As [`Forest::check`].
    ///
    /// # Panics
    /// As there.
    pub fn check(&self) {
        self.forest.check(self.root);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_got_another_key_changes_where_a_search_ends() {
        let mut tree = Tree::<u32>::new();
        for id in 0..3 {
            tree.insert(id, 10 * (id + 1));
        }
        assert_eq!(tree.find(25).0, None);
        tree.rekey(1, 27);
        tree.insert(3, 25);
        assert!(tree.iter().eq([0, 3, 1, 2]));
    }

    #[test]
    fn equal_keys_stand_in_the_order_of_insertion() {
        let mut tree = Tree::<u32>::new();
        for id in 0..20 {
            tree.insert(id, id % 3);
            tree.check();
        }
        let order: Vec<u32> = tree.iter().collect();
        assert_eq!(order[..7], [0, 3, 6, 9, 12, 15, 18]);
        assert_eq!((tree.first(), tree.last()), (Some(0), Some(17)));
    }

    #[test]
    fn it_agrees_with_a_sorted_set_over_many_random_changes() {
        let (mut tree, mut model) = (Tree::<u64>::new(), std::collections::BTreeSet::new());
        let mut random = 1u64;
        for step in 0..20_000u32 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let id = (random >> 33) as u32 % 300;
            if tree.contains(id) {
                model.remove(&(tree.key(id), id));
                tree.remove(id);
            } else {
                // The id breaks ties in the model, so make keys unique here; equal keys have their own test.
                let key = (random >> 40) << 10 | u64::from(id);
                tree.insert(id, key);
                model.insert((key, id));
            }
            if step % 64 == 0 {
                tree.check();
                assert!(tree.iter().eq(model.iter().map(|&(_, id)| id)));
                assert_eq!(tree.last(), model.last().map(|&(_, id)| id));
            }
        }
    }

    /// The greatest id in a subtree, wherever keys put it.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Greatest(u64);

    impl Summary<(u64, u64)> for Greatest {
        const KEPT: bool = true;

        fn of(own: (u64, u64), below: [Option<Greatest>; 2]) -> Greatest {
            Greatest(below.into_iter().flatten().fold(own.1, |most, Greatest(there)| most.max(there)))
        }
    }

    #[test]
    fn what_is_kept_of_a_subtree_is_true_after_any_change() {
        let mut tree: Tree<(u64, u64), Greatest> = Tree::new();
        let mut random = 3u64;
        for step in 0..5_000u32 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let id = (random >> 33) as u32 % 100;
            match tree.contains(id) {
                true if step % 5 == 0 => tree.rekey(id, (tree.key(id).0, random >> 20)),
                true => _ = tree.remove(id),
                false => _ = tree.insert(id, ((random >> 40) % 50, random >> 20)),
            }
            for member in tree.iter().collect::<Vec<_>>() {
                let below = tree.forest.below(member).map(|child| child.map(|child| tree.summary(child)));
                assert_eq!(tree.summary(member), Greatest::of(tree.key(member), below));
            }
        }
    }

    #[test]
    fn searches_before_insertions_change_neither_shape_nor_count() {
        let (mut searched, mut plain) = (Tree::<u64>::new(), Tree::<u64>::new());
        let mut random = 7u64;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (id, key) = ((random >> 33) as u32 % 200, (random >> 48) % 500);
            if searched.contains(id) {
                searched.find(key);
                searched.remove(id);
                plain.remove(id);
            } else {
                let known = plain.iter().any(|member| plain.key(member) == key + random % 4);
                assert_eq!(searched.find(key + random % 4).0.is_some(), known);
                assert_eq!(searched.find(key), Tree::find(&mut plain.clone(), key));
                assert_eq!(searched.insert(id, key), plain.insert(id, key));
            }
            let links = |tree: &Tree<u64>| tree.forest.shape();
            assert_eq!((links(&searched), searched.first()), (links(&plain), plain.first()));
        }
        searched.check();
    }

    #[test]
    fn a_failed_search_ends_beside_the_key_and_a_search_counts_its_comparisons() {
        let mut tree = Tree::<u32>::new();
        for id in 0..7u32 {
            tree.insert(id, id * 10);
        }
        assert!([Some(2), Some(3)].contains(&tree.last_visited(25)));
        assert_eq!(tree.find(30).0, Some(3));
        assert!(tree.find(35).1 <= 4 && tree.find(35).0.is_none());
    }
}
