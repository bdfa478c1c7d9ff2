//! A table whose entries are reused, in an order that depends only on the calls.

use core::ops::{Index, IndexMut};

/// Values by number.
#[derive(Clone, Debug)]
pub(super) struct NumberedSlots<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for NumberedSlots<T> {
    fn default() -> NumberedSlots<T> {
        NumberedSlots { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> NumberedSlots<T> {
    pub fn insert(&mut self, thing: T) -> u32 {
        if let Some(at) = self.free.pop() {
            self.places[at as usize] = Some(thing);
            return at;
        }
        self.places.push(Some(thing));
        self.places.len() as u32 - 1
    }

    pub fn remove(&mut self, at: u32) -> T {
        let thing = self.places[at as usize].take();
        self.free.push(at);
        thing.expect("it was put there and not taken out")
    }

    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

impl<T> Index<u32> for NumberedSlots<T> {
    type Output = T;
    fn index(&self, at: u32) -> &T {
        self.places[at as usize].as_ref().expect("it was put there and not taken out")
    }
}

impl<T> IndexMut<u32> for NumberedSlots<T> {
    fn index_mut(&mut self, at: u32) -> &mut T {
        self.places[at as usize].as_mut().expect("it was put there and not taken out")
    }
}
