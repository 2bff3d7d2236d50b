//! Policies that a program adds to the built-in ones, by name, before it loads a configuration.
//!
//! Protects: a name means one thing; a drive that is being built keeps its policy when another one is registered.

use std::sync::{Arc, PoisonError, RwLock};

/// The file that a policy was read from. Its bytes tell what the policy does, which a name does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its path, from the root.
    pub path: String,
    /// A hash of its bytes.
    pub digest: String,
}

/// A policy from outside.
struct Entry<F: ?Sized + 'static> {
    name: &'static str,
    doc: &'static str,
    build: Arc<F>,
    source: Option<Source>,
}

/// Named policies of one kind; `F` builds one.
pub struct Registry<F: ?Sized + 'static> {
    entries: RwLock<Vec<Entry<F>>>,
}

impl<F: ?Sized + 'static> Registry<F> {
    /// A registry without entries, for a static.
    #[expect(clippy::new_without_default, reason = "it is made for statics, which need a constant")]
    pub const fn new() -> Self {
        Self { entries: RwLock::new(Vec::new()) }
    }

    /// Adds a policy, or puts another one in the place of one registered before. Names live as long as the program.
    /// `source`: the file that it was read from, if that tells what it does.
    ///
    /// # Errors
    /// The name is one of `taken`, or no name, in words.
    pub fn register(
        &self,
        name: &str,
        doc: &str,
        build: Arc<F>,
        source: Option<Source>,
        taken: &[&str],
    ) -> Result<(), String> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_plain) {
            return Err(format!(
                "`{name}` is not a name for a policy; write lower-case letters, digits and hyphens, beginning with a \
                 letter"
            ));
        }
        if taken.contains(&name) {
            return Err(format!("`{name}` is the name of a built-in policy; take another one"));
        }
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let doc = String::from(doc).leak();
        match entries.iter_mut().find(|entry| entry.name == name) {
            Some(entry) => (entry.doc, entry.build, entry.source) = (doc, build, source),
            None => entries.push(Entry { name: String::from(name).leak(), doc, build, source }),
        }
        Ok(())
    }

    /// Name and description of each, in the order in which they came.
    pub fn list(&self) -> Vec<(&'static str, &'static str)> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.iter().map(|entry| (entry.name, entry.doc)).collect()
    }

    /// Whether there is one of this name.
    pub fn has(&self, name: &str) -> bool {
        self.list().iter().any(|(known, _)| *known == name)
    }

    /// The file that the policy called `name` was read from, if it was.
    pub fn source(&self, name: &str) -> Option<Source> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.iter().find(|entry| entry.name == name)?.source.clone()
    }

    /// The builder of the policy called `name`.
    pub fn find(&self, name: &str) -> Option<Arc<F>> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.iter().find(|entry| entry.name == name).map(|entry| Arc::clone(&entry.build))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_plain_and_not_taken_and_the_last_one_counts() {
        let registry: Registry<dyn Fn() -> u32 + Send + Sync> = Registry::new();
        let from = |digest: &str| Some(Source { path: "/mine.py".to_owned(), digest: digest.to_owned() });
        assert!(registry.register("Mine!", "", Arc::new(|| 1), None, &[]).unwrap_err().contains("lower-case"));
        assert!(
            registry.register("greedy", "", Arc::new(|| 1), from("1"), &["greedy"]).unwrap_err().contains("built-in")
        );
        registry.register("mine", "first", Arc::new(|| 1), from("1"), &["greedy"]).unwrap();
        let first = registry.find("mine").unwrap();
        assert_eq!(registry.source("mine"), from("1"));
        registry.register("mine", "second", Arc::new(|| 2), None, &["greedy"]).unwrap();
        assert_eq!((first(), registry.find("mine").unwrap()()), (1, 2));
        assert_eq!(registry.source("mine"), None, "of the one that counts");
        assert_eq!(registry.list(), [("mine", "second")]);
        assert!(registry.has("mine") && !registry.has("other"));
    }
}
