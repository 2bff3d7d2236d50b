//! Write buffers: memory between the host and the layer below, with a policy that decides which pages leave.
//!
//! A buffer is one layer ([`layer::PageLayer`]) over any other, another buffer included. Policies decide, the
//! layer acts: to add one, a file in `policy/` and a line in [`buffers`]; or, from a program around this one,
//! [`register`].

mod buffered;
mod flush;
mod lost;
mod parameters;
mod policy;
mod read;
mod store;
mod through;
mod write_back;

pub use parameters::ACKNOWLEDGED_ON_FLASH;
pub use policy::outside::{EvictionFactory, EvictionPolicy, EvictionView, is_from_outside, register, source_of};

use layer::{Condition, Named, PageLayer, Parameter, Values, of_table};
use nand::{Flash, FlashState, Owner};
use units::Geometry;

/// The inputs of a new buffer.
#[derive(Clone, Copy, Debug)]
pub struct BufferContext<'a> {
    /// Shape of the flash.
    pub geometry: Geometry,
    /// Logical pages to serve.
    pub user_pages: u32,
    /// Owner of its requests to the layer below, and of its non-volatile pages. Buffers over each other need one each.
    pub owner: Owner,
    pub name: &'static str,
    pub values: &'a Values,
}

/// A buffer: its properties before a drive exists.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    /// Name in the configuration.
    pub name: &'static str,
    /// Its idea, in a line.
    pub doc: &'static str,
    /// When to use it and at which cost, in a sentence or two; empty for a registered one.
    pub when: &'static str,
    /// Parameters that it reads, whether or not others do.
    pub parameters: fn() -> Vec<Parameter>,
    /// Whether its values fit together and the drive; an error says in words what does not.
    pub check: fn(&BufferContext<'_>) -> Result<(), String>,
}

/// Puts a buffer over a layer, empty, or with the contents of non-volatile memory after a power cut.
pub type Build<F> = fn(&BufferContext<'_>, Box<dyn PageLayer<F>>, &FlashState) -> Box<dyn PageLayer<F>>;

/// Every buffer, alphabetically; behind them the registered ones.
pub fn buffers() -> Vec<Buffer> {
    policy::entries()
}

/// The key whose value is the name of a buffer.
pub const KEY: &str = "buffer.kind";

/// A parameter of buffers is read where one that declares it is chosen.
const CHOSEN: Condition = Condition::one_of(KEY, policy::declares);

/// Parameters of all buffers.
pub fn parameters() -> Vec<Parameter> {
    of_table(buffers().iter().flat_map(|entry| (entry.parameters)()), CHOSEN)
}

/// The buffer called `name`; nothing for `none`.
pub fn find(name: &str) -> Option<Buffer> {
    buffers().into_iter().find(|buffer| buffer.name == name)
}

/// The builder that puts the buffer called `name` over a layer; nothing for `none`.
pub fn build<F: Flash>(name: &str) -> Option<Build<F>> {
    policy::build(name)
}

/// Names of having no buffer and of all buffers, with a description of each.
pub fn buffer_choices() -> Vec<Named> {
    let entries = buffers().into_iter().map(|entry| (entry.name, entry.doc));
    std::iter::once(("none", "no buffer: writes go to the mapping as they come")).chain(entries).collect()
}

/// When to use each built-in buffer.
pub fn buffer_uses() -> Vec<Named> {
    buffers().into_iter().filter(|entry| !entry.when.is_empty()).map(|entry| (entry.name, entry.when)).collect()
}

/// Names of all buffers, and of having none.
pub fn buffer_names() -> Vec<&'static str> {
    buffer_choices().into_iter().map(|(name, _)| name).collect()
}
