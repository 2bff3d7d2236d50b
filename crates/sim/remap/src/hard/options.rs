//! Options of a remapping driver.

use super::layout::Layout;
use crate::parameters;
use crate::{DriverOptions, Hard, LayoutError, Site, Terms, WriteCache};
use layer::{Choices, Parameter, ParameterKind as Kind, Values};

/// The fate of a virtual superpage that is not full when its pages have to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partial {
    /// It is filled up; the slots that hold nothing are lost until it is reclaimed.
    #[default]
    Pad,
    /// Only the part that is filled is written, and the next pages go to the same virtual superpage. The device
    /// has to read and modify.
    Hold,
}

/// The pages that a fresh drive maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Nothing: every page reads zeros.
    #[default]
    Empty,
    /// Each page to the virtual page of the same number: what the device holds there can be read.
    Identity,
}

/// The options. `hold_back` and `start` belong to the layout and count only where a drive is formatted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The options of every driver.
    pub terms: Terms,
    /// Share of the virtual space that is held back from the host, 0.01 to 0.9. A small device gives more.
    pub hold_back: f64,
    /// The pages that a fresh drive maps.
    pub start: Start,
    /// The fate of a virtual superpage that is not full after the timeout.
    pub partial: Partial,
    /// Free virtual superpages that only reclamation may take: 1 or more.
    pub var_free: u32,
    /// Virtual superpages that reclamation keeps free beyond those, or about to be, so that many are freed by one write
    /// of the journal. `None`: an eighth of the space held back, at most as many as one journal superpage can free.
    /// Where space is short, the journal is written for them: its superpages carry a quarter to a half of the records
    /// that fit.
    pub var_ahead: Option<u32>,
    /// Share of virtual superpages that reclamation keeps free while the host is idle, 0 to 1.
    pub var_background: f64,
    /// Tell the device which virtual superpages are free. That costs it records of its own, see `remap.trim`.
    pub trim: bool,
}

impl Options {
    /// As they count over a layout.
    pub(super) fn limited(self, layout: &Layout) -> Self {
        let &Layout { page_sectors, superpage_sectors, start, .. } = layout;
        let terms = Terms { page_sectors, superpage_sectors, ..self.terms };
        Self { terms, start, var_free: self.var_free.clamp(1, layout.most_var_free()), ..self }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            terms: Terms::default(),
            hold_back: 0.1,
            start: Start::Empty,
            partial: Partial::Pad,
            var_free: 2,
            var_ahead: None,
            var_background: 0.05,
            trim: false,
        }
    }
}

const PARTIALS: Choices<Partial> = Choices {
    key: "remap.partial",
    table: &[
        ("pad", "it writes the whole superpage; slots without a page are lost until it is reclaimed", Partial::Pad),
        (
            "hold",
            "it writes only the filled part, which the drive has to read and modify; the next pages go to the rest",
            Partial::Hold,
        ),
    ],
};

fn when_written() -> [Parameter; 6] {
    [
        parameters::superpage(),
        Parameter::new(
            "remap.hold_back",
            Kind::Share { max: 0.9 },
            "10%",
            "Share of the driver's space that the host does not see: spare space for reclamation, at least 1 %. A \
             small drive gives more. With less spare space the driver writes its journal earlier, with fewer of the \
             1020 records that fit into 16 KiB: 112 with 5 % and 261 with 10 % (uniform 4 KiB writes, 200,000 \
             requests, 256 MiB; with 1 GiB 370 and 405). The journal then adds 12 % and 4.3 % to the bytes that the \
             host writes (with 1 GiB 3.7 % and 2.7 %).",
        ),
        parameters::timeout(),
        Parameter::new(
            PARTIALS.key,
            Kind::Choice(|| PARTIALS.named()),
            "pad",
            "How the driver writes a virtual superpage that is not full when remap.timeout ends.",
        ),
        parameters::write_cache(),
        Parameter::new(
            "remap.bypass",
            Kind::Switch,
            "false",
            "Write whole superpages in place where one virtual superpage holds exactly their pages. Saves map changes \
             for large aligned writes.",
        ),
    ]
}

fn reclamation() -> [Parameter; 4] {
    [
        Parameter::new(
            "remap.var_free",
            Kind::Count { min: 1, max: 1000 },
            "2",
            "Free virtual superpages at which reclamation (VAR) begins; they are reserved for it. A reclaimed \
             superpage is free only after the journal no longer refers to it, so the driver writes the journal before \
             it is full: the journal carried 260 to 530 of the 1020 records that fit into 16 KiB (uniform 4 KiB \
             writes and oltp, 200,000 requests, 256 MiB).",
        ),
        Parameter::new(
            "remap.var_background",
            Kind::Share { max: 1.0 },
            "5%",
            "Share of virtual superpages that reclamation keeps free while the host is idle.",
        ),
        parameters::idle_after(),
        Parameter::new(
            "remap.trim",
            Kind::Switch,
            "false",
            "Tell the drive which virtual superpages are free. The driver writes them again soon, and the drive \
             writes records of the trims: 2 to 4 % more programs with uniform 4 KiB writes, 5 % fewer with oltp \
             (200,000 requests, 256 MiB).",
        ),
    ]
}

impl DriverOptions for Options {
    type Driver = Hard;
    type Layout = Layout;

    const NAME: &'static str = "hard";
    const DOC: &'static str = "small writes become aligned writes of whole superpages, through a map of 4 KiB pages";
    const WHEN: &'static str = "Use it for a steady load of small random writes above a drive with superpages. Its \
                                map takes memory of the host, and reads in order are slow after random writes.";
    const KEEPS: &'static str = "its remapping driver holds back the rest and keeps its map there";
    const SIZE_KEY: &'static str = "remap.superpage";

    fn parameters() -> Vec<Parameter> {
        when_written().into_iter().chain(reclamation()).collect()
    }

    fn of(values: &Values, site: &Site) -> Result<Self, String> {
        let terms = parameters::terms(values, site)?;
        if values.real("remap.hold_back") < 0.01 {
            return Err(
                "remap.hold_back is below 1 %, which leaves reclamation nothing to work with; 10% is usual".to_owned()
            );
        }
        Ok(Self {
            terms: Terms { replaces_pages: !values.on("remap.bypass"), ..terms },
            hold_back: values.real("remap.hold_back"),
            partial: PARTIALS.read(values),
            var_free: values.whole("remap.var_free") as u32,
            var_background: values.real("remap.var_background"),
            trim: values.on("remap.trim"),
            ..Self::default()
        })
    }

    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn layout(&self, device_sectors: u64) -> Result<Layout, LayoutError> {
        Layout::new(self, device_sectors)
    }

    fn small(dice: &mut dyn FnMut(u32) -> u32) -> Self {
        let mut options = Self {
            terms: Terms::small(dice),
            hold_back: [0.05, 0.1, 0.2, 0.3][dice(4) as usize],
            partial: [Partial::Pad, Partial::Hold][dice(2) as usize],
            ..Self::default()
        };
        options.terms.write_cache = [WriteCache::Through, WriteCache::Volatile][dice(2) as usize];
        options.terms.replaces_pages = dice(3) != 0;
        options.var_free = 1 + dice(3);
        options.var_ahead = [None, Some(0), Some(3)][dice(3) as usize];
        options.var_background = [0.0, 0.05, 0.5][dice(3) as usize];
        options.trim = dice(2) == 0;
        options.terms.buffers = [2, 4, 64][dice(3) as usize];
        options
    }
}
