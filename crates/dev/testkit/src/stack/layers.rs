//! Stripes, zones and buffers of a drawn stack.

use super::{Faults, Shape, Stack, draw_value, stands_deaths};
use buffer::{buffer_names, buffers};
use engine::random::Stream;
use layer::ParameterKind;

impl Stack {
    /// Stripes over a few chips, or none.
    pub(super) fn draw_stripes(
        &mut self,
        stream: &mut Stream,
        shape: &mut Shape,
        stripe: Option<&'static str>,
        faults: Faults,
    ) {
        let mut names = stripe::stripe_names();
        let dies = faults == Faults::Deaths;
        names.retain(|name| !dies || stands_deaths(name));
        // A third of the drives that could have some do, and all whose dies die.
        let index = stream.below(if dies { 1 } else { 3 } * names.len() as u64) as usize;
        let drawn = if self.get("ftl.kind") == "page" { names.get(index).copied() } else { None };
        let kind = stripe.or(drawn).unwrap_or("none");
        self.set("stripe.kind", kind);
        if kind == "none" || kind == coded::KIND {
            return;
        }
        let planes: u64 = self.get("flash.planes_per_die").parse().expect("it was drawn as a number");
        let chips = 3 + stream.below(3) + u64::from(kind.starts_with("raid6"));
        let per_channel = if dies { 1 + stream.below(2) } else { 1 };
        let spares = if dies && per_channel == 1 { stream.below(3) } else { 0 };
        self.set("flash.channels", chips + spares).set("flash.dies_per_channel", per_channel);
        self.set("stripe.chips", chips).set("stripe.spares", spares);
        shape.planes = chips * per_channel * planes;
        let has_own_map = stripe::has_own_map(kind);
        if dies && has_own_map {
            shape.spare_blocks += 2 * shape.data_blocks; // with fewer dies there is more parity
        }
        self.set("stripe.in_flight", 1 + stream.below(4)).set("stripe.cache.entries", 1 + stream.below(6));
        self.set("stripe.buffer_size", format!("{}B", stream.below(12) * shape.page_bytes));
        if has_own_map {
            self.set("stripe.granularity", "page"); // not read, and not drawn, so that a seed keeps the rest
        }
        // Drawn apart, so that a seed keeps the rest of its drive.
        let mut apart = stream.clone();
        self.set("stripe.reads", ["direct", "lazy", "gc-aware"][(apart.below(3 << 16) >> 16) as usize]);
        for parameter in stripe::parameters() {
            if matches!(parameter.kind, ParameterKind::Choice(_) | ParameterKind::Switch)
                && self.get(parameter.key).is_empty()
            {
                let value = draw_value(stream, parameter.kind).expect("choices and switches can be drawn");
                self.set(parameter.key, value);
            }
        }
    }

    /// A few zones over a few banks.
    pub(super) fn draw_zones(&mut self, stream: &mut Stream, shape: &mut Shape) {
        let (banks, group) = [(4, 2), (6, 3), (3, 3), (4, 4), (8, 4)][stream.below(5) as usize];
        let zones = 1 + stream.below(3);
        let block = 1 << stream.below(3);
        shape.planes = banks;
        shape.page_bytes = 512 << stream.below(2);
        shape.pages_per_block = block * (1 + stream.below(2)) * 2;
        let row = banks * shape.pages_per_block * shape.page_bytes;
        // The smallest capacity a configuration accepts is 4 KiB.
        let size = row * (1 + stream.below(3)).max(4096_u64.div_ceil(row * zones));
        self.set("flash.channels", banks).set("flash.dies_per_channel", 1).set("flash.planes_per_die", 1);
        self.set("flash.page_size", format!("{}B", shape.page_bytes))
            .set("flash.pages_per_block", shape.pages_per_block);
        self.set("coded.size", format!("{size}B")).set("drive.capacity", format!("{}B", size * zones));
        self.set("coded.block", format!("{}B", block * shape.page_bytes)).set("coded.group", group);
        let spare = 2 + stream.below(2) + shape.spare_blocks;
        self.set("coded.spare_blocks", spare);
        if spare == 2 {
            self.set("ftl.gc.frontier", "shared");
        }
        self.choose(stream, "coded.queues", &["bank", "bank", "bank", "one", "lockstep"]);
        let coded = self.get("coded.queues") != "lockstep" && stream.chance(0.8);
        self.set("coded.code_zones", if coded { 1 + stream.below(zones) } else { 0 });
        // One group takes a code whose blocks find a bank of their own.
        let mut codes = vec!["regular-2", "regular-2", "mirror"];
        if banks != group {
            codes.extend(["parity", "mds"]);
        }
        if (banks, group) == (3, 3) {
            codes = vec!["regular-2", "mirror"];
        }
        self.choose(stream, "coded.code", &codes);
        for key in [
            "coded.decoder",
            "coded.reads",
            "coded.stale_codes",
            "coded.offline_first",
            "coded.encoding_takes_time",
            "coded.popularity_halves",
            "coded.cleaning",
        ] {
            let parameter =
                coded::parameters().into_iter().find(|parameter| parameter.key == key).expect("it is a key of zones");
            let value = draw_value(stream, parameter.kind).expect("choices and switches can be drawn");
            self.set(key, value);
        }
        if self.get("coded.code") == "mds" && self.get("coded.stale_codes") == "update" {
            self.set("coded.stale_codes", "reencode-idle");
        }
        self.choose(stream, "coded.offline_every", &["100us", "1ms", "10ms"]);
        self.set("coded.encode_rows", 1 + stream.below(8));
        self.set("coded.read_ahead.after", format!("{}B", stream.below(9) * shape.page_bytes));
        self.set("coded.read_ahead.streams", 1 + stream.below(3)).set("coded.read_ahead.window", 1 + stream.below(4));
        if stream.clone().chance(0.5) {
            self.set("ftl.gc.free_blocks", 0);
        }
    }

    /// A buffer of a few pages or blocks, or none.
    pub(super) fn draw_buffer(&mut self, stream: &mut Stream, shape: &Shape, buffer: Option<&'static str>) {
        // `sorted` has the keys of `page-lru` and shares its turn, so that seeds keep the drives that they had before.
        let names: Vec<_> = buffer_names().into_iter().filter(|name| *name != "sorted").collect();
        // Half of the drives have none.
        let index = stream.below(2 * names.len() as u64) as usize;
        let drawn = match names.get(index).copied() {
            Some("page-lru") if stream.clone().chance(0.5) => "sorted",
            drawn => drawn.unwrap_or("none"),
        };
        let kind = buffer.unwrap_or(drawn);
        self.set("buffer.kind", kind);
        let all = buffers();
        let Some(entry) = all.iter().find(|entry| entry.name == kind) else { return };
        let block = shape.page_bytes * shape.pages_per_block;
        let pages = 1 + stream.below(12);
        let blocks = block * (1 + stream.below(3));
        let own: Vec<_> = (entry.parameters)();
        for parameter in &own {
            let value = match (parameter.key, parameter.kind) {
                ("buffer.block_buffer", _) => format!("{blocks}B"),
                ("buffer.size", _) if own.iter().any(|other| other.key == "buffer.block_buffer") => {
                    format!("{}B", blocks + pages * shape.page_bytes)
                }
                ("buffer.size", _) if own.iter().any(|other| other.key == "buffer.block_size") => format!("{blocks}B"),
                ("buffer.size", _) => format!("{}B", pages * shape.page_bytes),
                ("buffer.block_size", _) if kind == "group-lru" => {
                    format!("{}B", shape.page_bytes * (1 + stream.below(9)))
                }
                ("buffer.block_size", _) => continue,
                ("buffer.acknowledge", _) if self.is_on("buffer.nonvolatile") => continue,
                ("buffer.small_request", _) => format!("{}B", shape.page_bytes << stream.below(3)),
                (_, kind) => {
                    let Some(value) = draw_value(stream, kind) else { continue };
                    value
                }
            };
            self.set(parameter.key, value);
        }
        if self.is_on("buffer.nonvolatile") {
            self.set("drive.atomic", format!("{}B", shape.page_bytes << (1 + stream.clone().below(2))));
        }
    }
}
