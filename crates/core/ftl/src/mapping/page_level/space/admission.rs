//! Admission of a collection: whether there is room for all that emptying a block programs.

use super::{Space, Stream};
use crate::mapping::page_level::access::Sharing;
use crate::mapping::page_level::entry::Back;
use crate::mapping::page_level::pages::Pages;
use units::{BlockId, Lpn, Ppn};

/// A block that may be emptied.
pub(crate) struct Emptying<'a> {
    pub space: &'a Space,
    pub pages: &'a Pages,
    pub lane: usize,
    pub block: BlockId,
    /// Trims that are not on flash yet hold some of it: their record is programmed before its erase.
    pub held: bool,
}

/// Pages that moving what is valid out of a block takes.
struct Need {
    /// Where its user data goes.
    stream: Stream,
    data: u32,
    translation: u32,
    /// Translation pages programmed anew at most.
    updates: u32,
}

impl Emptying<'_> {
    fn need(&self) -> Need {
        let mut need = Need { stream: Stream::Copies, data: u32::from(self.held), translation: 0, updates: 0 };
        let mut user = 0;
        for page in self.pages.blocks().valid_pages_of(self.block) {
            match self.space.copy_stream(self.pages.back(Ppn(page))) {
                Stream::Translation => need.translation += 1,
                stream => {
                    need.stream = stream;
                    need.data += 1;
                    user += 1;
                }
            }
        }
        if self.space.sharing == Sharing::Own {
            need.translation += std::mem::take(&mut need.data) - user;
            need.data = user;
            need.updates = user.min(1);
        } else {
            need.updates = user;
        }
        need
    }

    /// Translation pages that emptying it programs at most.
    pub fn translation_pages(&self) -> u32 {
        let need = self.need();
        need.translation + need.updates
    }

    /// Every copy, and the trims that hold its pages, must find room without waiting for anything but erases already
    /// issued. `updates`: and so must the translation pages that change; otherwise they may stay behind for now.
    pub fn is_admitted(&self, updates: bool) -> bool {
        if self.space.has_translation_pages() {
            self.is_admitted_with_translation(updates)
        } else {
            self.is_admitted_plain()
        }
    }

    fn is_admitted_plain(&self) -> bool {
        let valid = self.pages.blocks().valid_count(self.block);
        let room = self.space.room_for(self.lane, Back::data(Lpn(0)));
        // Tombstones may go to another lane.
        let leaving =
            if self.space.lanes.are_shedding() && room < valid + 1 { self.pages.tombstones_in(self.block) } else { 0 };
        room >= valid - leaving + u32::from(self.held)
    }

    fn is_admitted_with_translation(&self, updates: bool) -> bool {
        let Self { space, pages, lane, block, .. } = *self;
        let blocks = |pages: u32| pages.div_ceil(space.geometry.pages_per_block) as usize;
        let free = space.lanes[lane].free();
        let room = space.frontier(lane, Stream::Translation).room();
        let translation_room = room.saturating_sub(space.translation.promised_in(lane));
        // Whatever a block holds, this many pages of either kind are enough; most are admitted so.
        let most = pages.blocks().valid_count(block) + 1;
        let own = space.sharing == Sharing::Own;
        if !own {
            let data_room = space.frontier(lane, space.data_stream()).room();
            if blocks(most.saturating_sub(data_room)) + blocks(most.saturating_sub(translation_room)) <= free {
                return true;
            }
        }
        let need = self.need();
        let translation = need.translation + if updates { need.updates } else { 0 };
        let stream = if own { need.stream } else { space.data_stream() };
        let data_room = if need.data == 0 { 0 } else { space.frontier(lane, stream).room() };
        let more = blocks(need.data.saturating_sub(data_room)) + blocks(translation.saturating_sub(translation_room));
        more <= free
    }
}
