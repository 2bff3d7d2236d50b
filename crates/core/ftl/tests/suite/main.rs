//! Mappings against a plain map of what the host wrote: every mapping of the table, over small flash.

mod drawn;
mod elastic;
mod laws;
mod lives;
mod old_versions;
