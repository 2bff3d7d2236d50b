//! Victim policies: which closed block is collected next.
//!
//! A policy decides and does not act: it sees valid counts, closing order and wear of the blocks of one plane, and
//! returns the number of one block. To add one: a file here, its `mod` and a line in [`VICTIMS`]; or, from a program
//! around this one, [`register`].

#![deny(missing_docs)]
#![warn(clippy::missing_errors_doc)]

mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod random;
mod windowed_greedy;

use crate::blocks::{key_is_candidate, valid_of};
use engine::random::Stream;
use layer::registry::{Registry, Source};
use layer::{Condition, Declared, Named, Parameter, Values, of_table};
use nand::BlockRow;
use std::sync::{Arc, LazyLock};

/// The source of candidates and of their valid pages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keys<'a> {
    /// Of erase blocks, as [`crate::BlockTable`] keeps them.
    Blocks(&'a [i16]),
    /// Of superblocks, which may have more pages: their valid pages, or [`Keys::NO_CANDIDATE`].
    Superblocks(&'a [u32]),
}

impl Keys<'_> {
    /// Of a superblock that may not be collected.
    pub const NO_CANDIDATE: u32 = u32::MAX;
}

/// The view of a victim policy: the blocks of one plane, or the superblocks of a drive. The valid pages of a superblock
/// include all room that its collection does not give, such as the parities of its copies.
#[derive(Debug)]
pub struct VictimView<'a> {
    pub(crate) keys: Keys<'a>,
    /// Running number at which each block was closed.
    pub closed_at: &'a [u32],
    /// Running number the next closing would get.
    pub closings: u32,
    /// Wear and other states of each block; of a superblock, the states of one of its blocks.
    pub rows: &'a [BlockRow],
    /// Pages of a block.
    pub pages_per_block: u32,
}

impl VictimView<'_> {
    /// Number of blocks, candidates or not.
    pub fn len(&self) -> usize {
        match self.keys {
            Keys::Blocks(keys) => keys.len(),
            Keys::Superblocks(keys) => keys.len(),
        }
    }

    /// Whether the plane has no block.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Valid pages of a block if it may be collected.
    #[inline]
    pub fn valid(&self, block: usize) -> Option<u32> {
        match self.keys {
            Keys::Blocks(keys) => key_is_candidate(keys[block]).then_some(valid_of(keys[block])),
            Keys::Superblocks(keys) => (keys[block] != Keys::NO_CANDIDATE).then_some(keys[block]),
        }
    }

    /// The candidate with the fewest valid pages, the lowest number among equals.
    pub fn least_valid(&self) -> Option<usize> {
        let block = match self.keys {
            Keys::Blocks(keys) => first_least(keys),
            Keys::Superblocks(keys) => first_least(keys),
        };
        block.filter(|block| self.valid(*block).is_some())
    }

    /// All candidates with their valid counts.
    pub fn candidates(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let (blocks, superblocks): (&[i16], &[u32]) = match self.keys {
            Keys::Blocks(keys) => (keys, &[]),
            Keys::Superblocks(keys) => (&[], keys),
        };
        let blocks = blocks.iter().enumerate().filter(|(_, key)| key_is_candidate(**key));
        let superblocks = superblocks.iter().enumerate().filter(|(_, key)| **key != Keys::NO_CANDIDATE);
        blocks.map(|(block, key)| (block, valid_of(*key))).chain(superblocks.map(|(block, key)| (block, *key)))
    }
}

/// Keys that are looked at together: many, as the end of each chunk costs instructions, but not so many that to look
/// for one key in a chunk takes as long as to look at all chunks.
const CHUNK: usize = 256;

/// The place of the least key, the first among equals. Candidates have lower keys than all other blocks.
fn first_least<K: Copy + Ord>(keys: &[K]) -> Option<usize> {
    let (mut first, mut least) = (0, *keys.first()?);
    for (number, chunk) in keys.chunks(CHUNK).enumerate() {
        // A plain loop becomes vector instructions in every build; `Iterator::min` only where all crates are optimised
        // as one.
        let mut least_here = chunk[0];
        for key in chunk {
            least_here = if *key < least_here { *key } else { least_here };
        }
        if least_here < least {
            (first, least) = (number * CHUNK, least_here);
        }
    }
    keys[first..].iter().position(|key| *key == least).map(|place| first + place)
}

/// Chooses the block to collect.
pub trait VictimPolicy {
    /// The block to collect, or `None` to wait. It must be a candidate. Collecting a full block gives no room: if a
    /// policy chooses only full blocks while other blocks would give room, the mapping overrules it in the end.
    fn pick(&mut self, view: &VictimView<'_>, stream: &mut Stream) -> Option<usize>;

    /// Whether it leaves the same shares of valid pages on a drive with fewer blocks, so that copies of a small drive
    /// can bring a large one into use. `superblocks`: it chooses among superblocks.
    fn scales(&self, _superblocks: bool) -> bool {
        false
    }
}

/// A line of [`VICTIMS`].
#[derive(Debug)]
pub struct VictimEntry {
    /// Name in the configuration.
    pub name: &'static str,
    /// Its rule, in a line.
    pub doc: &'static str,
    /// When to use it and at which cost, in a sentence or two.
    pub when: &'static str,
    /// Parameters only this policy reads.
    pub parameters: &'static [Parameter],
    /// Builds the policy from its parameters.
    pub build: fn(&Values) -> Box<dyn VictimPolicy>,
}

/// Every victim policy, alphabetically.
pub const VICTIMS: &[VictimEntry] =
    &[cost_benefit::ENTRY, d_choices::ENTRY, fifo::ENTRY, greedy::ENTRY, random::ENTRY, windowed_greedy::ENTRY];

/// A parameter of victim policies is read where one that declares it is chosen.
const CHOSEN: Condition = Condition::one_of("ftl.gc.victim", |key, name| DECLARED.declares(key, name));

static DECLARED: LazyLock<Declared> =
    LazyLock::new(|| Declared::new(VICTIMS.iter().map(|entry| (entry.name, entry.parameters.to_vec()))));

/// Parameters of all victim policies.
pub(crate) fn parameters() -> Vec<Parameter> {
    of_table(VICTIMS.iter().flat_map(|entry| entry.parameters).copied(), CHOSEN)
}

/// A function that builds a victim policy that is not in [`VICTIMS`]: once for each drive.
pub type VictimFactory = dyn Fn(&Values) -> Box<dyn VictimPolicy> + Send + Sync;

static OUTSIDE: Registry<VictimFactory> = Registry::new();

/// Makes `ftl.gc.victim = name` mean what `build` builds, for configurations loaded from now on. The last one
/// registered under a name counts. `source`: the file that it was read from, if that tells what it does.
///
/// # Errors
/// A built-in policy has this name, or it is no name.
pub fn register(name: &str, doc: &str, build: Arc<VictimFactory>, source: Option<Source>) -> Result<(), String> {
    let taken: Vec<&str> = VICTIMS.iter().map(|entry| entry.name).collect();
    OUTSIDE.register(name, doc, build, source, &taken)
}

/// Name and description of every victim policy: the built-in ones, then those from outside.
pub fn victims() -> Vec<Named> {
    let built_in = VICTIMS.iter().map(|entry| (entry.name, entry.doc));
    built_in.chain(OUTSIDE.list()).collect()
}

/// When to use each built-in victim policy.
pub fn victim_uses() -> Vec<Named> {
    VICTIMS.iter().map(|entry| (entry.name, entry.when)).collect()
}

/// Whether the victim policy called `name` was registered, so that its name does not tell its actions.
pub fn is_from_outside(name: &str) -> bool {
    OUTSIDE.has(name)
}

/// The file that the policy called `name` was read from, if it was registered with one.
pub fn source_of(name: &str) -> Option<Source> {
    OUTSIDE.source(name)
}

/// Builds the policy called `name`.
///
/// # Panics
/// If there is none of that name (names are checked with the configuration).
pub fn build_victim(name: &str, values: &Values) -> Box<dyn VictimPolicy> {
    if let Some(entry) = VICTIMS.iter().find(|entry| entry.name == name) {
        return (entry.build)(values);
    }
    OUTSIDE.find(name).expect("victim names are checked with the configuration")(values)
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    #[test]
    fn a_policy_chooses_superblocks_as_it_chooses_blocks() {
        let (valid, closed_at) = ([None, Some(9), Some(3), Some(60), None, Some(3)], [1, 7, 9, 2, 3, 5]);
        let keys = valid.map(|valid| valid.map_or(Keys::NO_CANDIDATE, |valid| valid as u32));
        let keys = Keys::Superblocks(&keys);
        let view = VictimView { keys, closed_at: &closed_at, closings: 100, rows: &[], pages_per_block: 64 };
        let values = ::testing::values(parameters(), &[]);
        for entry in VICTIMS {
            let picked = (entry.build)(&values).pick(&view, &mut Stream::new(1, "test"));
            assert_eq!(picked, pick(&mut *(entry.build)(&values), &valid, &closed_at), "{}", entry.name);
        }
    }

    /// Runs a policy over hand-made blocks: `None` is not a candidate.
    pub fn pick(policy: &mut dyn VictimPolicy, valid: &[Option<i16>], closed_at: &[u32]) -> Option<usize> {
        let keys: Vec<i16> = valid.iter().map(|v| v.map_or(0, |valid| i16::MIN | valid)).collect();
        let view = VictimView { keys: Keys::Blocks(&keys), closed_at, closings: 100, rows: &[], pages_per_block: 64 };
        policy.pick(&view, &mut Stream::new(1, "test"))
    }

    #[test]
    fn the_first_of_the_least_keys_is_found_wherever_it_stands() {
        let mut stream = Stream::new(5, "test");
        for length in [0, 1, 7, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 5 * CHUNK + 17] {
            for kinds in [1, 3, 4 * CHUNK as u64] {
                let keys: Vec<u32> = (0..length).map(|_| stream.below(kinds) as u32).collect();
                let found = (0..length).min_by_key(|place| keys[*place]);
                assert_eq!(first_least(&keys), found, "{length} keys of {kinds} kinds");
                let signed: Vec<i16> = keys.iter().map(|key| i16::MIN + *key as i16).collect();
                assert_eq!(first_least(&signed), found, "{length} signed keys of {kinds} kinds");
            }
        }
    }

    #[test]
    fn a_parameter_is_read_where_its_policy_is_chosen() {
        for entry in VICTIMS {
            for own in entry.parameters {
                let declared = parameters().into_iter().find(|known| known.key == own.key).expect("it is listed");
                for other in VICTIMS {
                    let mut values = Values::default();
                    values.set("ftl.gc.victim", layer::Value::Name(other.name.to_owned()));
                    let is_own = other.parameters.iter().any(|known| known.key == own.key);
                    assert_eq!(declared.unread(&values, &[]).is_none(), is_own, "{} with {}", own.key, other.name);
                }
            }
        }
    }

    #[test]
    fn every_policy_picks_only_candidates_and_nothing_when_there_is_none() {
        let values = ::testing::values(parameters(), &[]);
        for entry in VICTIMS {
            let mut policy = (entry.build)(&values);
            assert_eq!(pick(&mut *policy, &[None, Some(5), None], &[3, 2, 1]), Some(1), "{}", entry.name);
            assert_eq!(pick(&mut *policy, &[None, None], &[1, 2]), None, "{}", entry.name);
        }
    }
}
