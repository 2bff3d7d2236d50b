//! All tests of the crate from outside, in one program: linking is most of what a test costs.

mod archives;
mod binary_formats;
mod columns;
mod conversions;
mod detection;
mod errors;
mod key_value;
mod lost_events;
mod mutations;
mod odd_lines;
mod outside;
mod packings;
mod properties;
mod real_traces;
mod replay;
mod samples;
mod stumbles;
mod summaries;
mod support;
mod synthetic;
mod synthetic_statistics;
mod text_formats;
mod tracers;
mod volumes;
mod zones;
