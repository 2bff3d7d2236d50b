//! All tests of the crate from outside, in one program: linking is most of what a test costs.

mod ageing;
mod alone;
mod barriers;
mod booking;
mod both;
mod cancel;
mod cut;
mod failed;
mod forgetful;
mod gangs;
mod memory;
mod order;
mod pins;
mod programs;
mod recorder;
mod rig;
mod sheet;
mod slots;
mod suspend;
mod tickets;
mod waits;
