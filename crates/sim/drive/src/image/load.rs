//! Reading the file: programmed pages, pages torn by the end of a program, and damaged pages.

use super::format::{HEAD, Head, ROW, Row, STEP};
use super::{FileDamage, Image, State};
use crate::error::DriveError;
use nand::{FlashState, Oob, PageKind};
use std::io;
use std::os::unix::fs::FileExt;
use units::BlockId;

/// What is known of the whole file at last.
#[derive(Default)]
struct Reading {
    damage: FileDamage,
    /// Number of the last write whose page has its second head, and of the last of all.
    settled: u64,
    last: u64,
    /// Numbers of writes behind that one.
    behind: Vec<u64>,
    /// Numbers of the writes of pages without a sound second head.
    single: Vec<u64>,
    /// Pages without one whose places are not whole.
    broken: Vec<(u32, Head)>,
    place: Vec<u8>,
}

impl Reading {
    /// A place with the head of this write was found.
    fn found(&mut self, turn: u64) {
        self.last = self.last.max(turn);
        if turn > self.settled {
            self.behind.push(turn);
        }
    }
}

impl Image {
    /// Puts what the file holds into flash that is factory-fresh. Nothing is written.
    pub fn load(&self, flash: &mut FlashState) -> Result<FileDamage, DriveError> {
        let mut state = self.lock();
        let mut reading = Reading { place: vec![0; HEAD + self.geometry.page_bytes as usize], ..Reading::default() };
        let mut heads = vec![0; self.places.heads_bytes()];
        let tables = self.tables().map_err(|error| self.failed(error))?;
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let rows =
                tables.each_ref().map(|table| Row::read(self.sums, block.0, &table[block.index() * ROW..][..ROW]));
            let row = match rows {
                // The first one is written first.
                [Some(first), second] if first.touched || second == Some(first) => first,
                [_, Some(second)] if second.touched => second,
                _ => return Err(self.foreign(format!(
                    "its record of block {} is damaged, and the block's pages with it; restore the file from a copy",
                    block.0
                ))),
            };
            state.rows[block.index()] = row;
            if !row.touched {
                continue;
            }
            let first = self.geometry.page_at(block, 0).0;
            self.file.read_exact_at(&mut heads, self.places.head(first)).map_err(|error| self.failed(error))?;
            let (mut done, mut found) = (0, 0);
            for position in 0..self.geometry.pages_per_block {
                let page = self.geometry.page_at(block, position).0;
                let head = &heads[position as usize * STEP..][..HEAD];
                if self.load_page(flash, page, row.kept.erases, head, &mut reading, &mut state)? {
                    (done, found) = (position + 1, found + 1);
                }
            }
            flash.blocks.restore(block, done, found < done, row.kept);
            // Power may have gone between the two rows, but then nothing was programmed behind them.
            reading.damage.mended += u64::from(found > 0 && rows[0] != rows[1]);
        }
        self.finish(flash, reading, &mut state)
    }

    /// What is said of all blocks, twice.
    fn tables(&self) -> io::Result<[Vec<u8>; 2]> {
        let mut tables = [0; 2].map(|_| vec![0; self.geometry.blocks() as usize * ROW]);
        for (table, at) in tables.iter_mut().zip(self.places.rows(0)) {
            self.file.read_exact_at(table, at)?;
        }
        Ok(tables)
    }

    /// Puts one page into flash. `false`: it was not programmed since its block was erased.
    fn load_page(
        &self,
        flash: &mut FlashState,
        page: u32,
        erases: u32,
        bytes: &[u8],
        reading: &mut Reading,
        state: &mut State,
    ) -> Result<bool, DriveError> {
        let sums = self.sums;
        let second = Head::read(sums, page, bytes);
        let is_damaged = second.is_none() && bytes.iter().any(|byte| *byte != 0);
        reading.settled = reading.settled.max(second.map_or(0, |head| head.turn));
        let second = second.filter(|head| head.erases == erases);
        // Nothing more is to be known of these: before one is programmed once more, its head says that it is torn.
        if let Some(head) = second.filter(Head::is_empty) {
            restore(flash, page, &head, None);
            return Ok(true);
        }
        let place = &mut reading.place;
        let wanted = if second.is_some() { place.len() } else { HEAD };
        self.file.read_exact_at(&mut place[..wanted], self.places.place(page)).map_err(|error| self.failed(error))?;
        let first = Head::read(sums, page, place);
        let turn = first.map_or(0, |head| head.turn);
        let first = first.filter(|head| head.erases == erases);
        // It was torn, and has been programmed once more since.
        let is_anew = |second: &Head| second.is_gone() && first.is_some_and(|first| first.turn > second.turn);
        let second = second.filter(|second| !is_anew(second));
        match (first, second) {
            (_, Some(second)) if second.is_gone() => restore(flash, page, &second, None),
            (Some(first), Some(second)) if first == second => match first.body(sums, page, &place[HEAD..]) {
                Some(body) => restore(flash, page, &first, Some(body)),
                None => self.lose(flash, page, &first, reading)?,
            },
            // It was programmed, and has turned out torn or lost since.
            (Some(first), Some(second)) if first.turn > second.turn && first.has_no_body() => {
                reading.found(first.turn);
                state.pending.push((page, first.bytes(sums, page)));
                restore(flash, page, &first, None);
            }
            (_, Some(second)) => self.lose(flash, page, &second, reading)?,
            (Some(first), None) => {
                reading.found(first.turn);
                reading.single.push(if is_damaged { 0 } else { first.turn });
                let place = &mut reading.place;
                self.file.read_exact_at(place, self.places.place(page)).map_err(|error| self.failed(error))?;
                match first.body(sums, page, &place[HEAD..]) {
                    Some(body) => {
                        state.pending.push((page, first.bytes(sums, page)));
                        restore(flash, page, &first, Some(body));
                    }
                    None => reading.broken.push((page, first)),
                }
            }
            (None, None) => {
                // Pages that were erased since count as well.
                reading.found(turn);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A page is damaged: one copy of it is, or all there is.
    fn lose(&self, flash: &mut FlashState, page: u32, head: &Head, reading: &mut Reading) -> Result<(), DriveError> {
        if head.kind != PageKind::Metadata as u8 {
            reading.damage.pages += 1;
            restore(flash, page, &head.of(PageKind::Lost), None);
            return Ok(());
        }
        reading.damage.mended += 1;
        if !head.has_second() {
            // The layers make such a record again from the pages it is about.
            restore(flash, page, &head.of(PageKind::Torn), None);
            return Ok(());
        }
        let place = &mut reading.place[HEAD..];
        self.file.read_exact_at(place, self.places.second(page)).map_err(|error| self.failed(error))?;
        let Some(body) = head.body(self.sums, page, place) else {
            return Err(
                self.foreign("both copies of a record of trims are damaged; restore the file from a copy".to_owned())
            );
        };
        restore(flash, page, head, Some(body));
        Ok(())
    }

    /// The end of a program can have torn its last write, and no other.
    fn finish(
        &self,
        flash: &mut FlashState,
        mut reading: Reading,
        state: &mut State,
    ) -> Result<FileDamage, DriveError> {
        let (settled, last) = (reading.settled, reading.last.max(reading.settled));
        for (page, head) in std::mem::take(&mut reading.broken) {
            if head.turn == last {
                let torn = head.of(PageKind::Torn);
                state.pending.push((page, torn.bytes(self.sums, page)));
                restore(flash, page, &torn, None);
            } else {
                self.lose(flash, page, &head, &mut reading)?;
            }
        }
        // Where later pages have their second head, earlier ones had theirs.
        reading.damage.mended += reading.single.iter().filter(|turn| **turn <= settled).count() as u64;
        let behind = reading.behind.iter().filter(|turn| **turn > settled).count() as u64;
        reading.damage.writes = (last - settled).saturating_sub(behind);
        state.turn = last;
        Ok(reading.damage)
    }
}

impl Head {
    /// Its page is torn or lost.
    fn is_gone(&self) -> bool {
        self.kind == PageKind::Torn as u8 || self.kind == PageKind::Lost as u8
    }

    /// Its page is torn or lost, or was programmed without bytes.
    fn has_no_body(&self) -> bool {
        self.is_gone() || self.is_empty()
    }

    /// Its page is a record that nothing else says, so that its body is in the file twice.
    pub fn has_second(&self) -> bool {
        self.is_record() && self.logical == u32::MAX
    }
}

fn restore(flash: &mut FlashState, page: u32, head: &Head, body: Option<&[u8]>) {
    let Some(contents) = flash.contents_mut() else { return };
    let kind = match head.kind {
        1 => PageKind::Data,
        2 => PageKind::Metadata,
        4 => PageKind::Lost,
        _ => PageKind::Torn,
    };
    let oob = Oob { kind, logical: head.logical, sequence: head.sequence };
    match body {
        Some(record) if head.is_record() => contents.restore_page(page, oob, &[], Some(record)),
        Some(cells) => contents.restore_page(page, oob, cells, None),
        None => contents.restore_oob(page, oob),
    }
}
