//! The cells of all pages: memory for what was programmed, not for what could be.

/// Chunks kept to be used again.
const MOST_SPARE: usize = 8;

/// Cells by page, in chunks that have memory from the first program of one of their pages until they are erased.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    page_bytes: usize,
    pages_per_chunk: usize,
    chunks: Vec<Option<Box<[u8]>>>,
    /// A bit for each page that has bytes; the others read as zeros, whatever their chunk holds.
    present: Vec<u64>,
    /// Memory of erased chunks, to be used again: the system takes long to give new memory.
    spare: Vec<Box<[u8]>>,
    /// What a page without bytes reads as.
    zeros: Box<[u8]>,
}

impl Cells {
    /// No page has bytes yet; `pages_per_chunk` of them get memory together.
    pub fn new(pages: usize, pages_per_chunk: usize, page_bytes: usize) -> Self {
        let chunks = vec![None; pages.div_ceil(pages_per_chunk)];
        let (present, zeros) = (vec![0; pages.div_ceil(64)], vec![0; page_bytes].into());
        Self { page_bytes, pages_per_chunk, chunks, present, spare: Vec::new(), zeros }
    }

    #[inline]
    fn place(&self, page: u32) -> (usize, usize) {
        (page as usize / self.pages_per_chunk, page as usize % self.pages_per_chunk * self.page_bytes)
    }

    /// Whether a page has bytes.
    #[inline]
    pub fn is_present(&self, page: u32) -> bool {
        self.present[page as usize / 64] >> (page % 64) & 1 == 1
    }

    /// Cells of a page; zeros where it has none.
    #[inline]
    pub fn page(&self, page: u32) -> &[u8] {
        let (chunk, at) = self.place(page);
        match &self.chunks[chunk] {
            Some(cells) if self.is_present(page) => &cells[at..at + self.page_bytes],
            _ => &self.zeros,
        }
    }

    /// Cells of a page, all of which are to be overwritten.
    #[inline]
    pub fn page_anew(&mut self, page: u32) -> &mut [u8] {
        let (chunk, at) = self.place(page);
        let bytes = self.pages_per_chunk * self.page_bytes;
        self.present[page as usize / 64] |= 1 << (page % 64);
        let spare = &mut self.spare;
        let cells = self.chunks[chunk].get_or_insert_with(|| spare.pop().unwrap_or_else(|| vec![0; bytes].into()));
        &mut cells[at..at + self.page_bytes]
    }

    /// Cells of a page, to be changed.
    #[inline]
    pub fn page_mut(&mut self, page: u32) -> &mut [u8] {
        let was_present = self.is_present(page);
        let cells = self.page_anew(page);
        if !was_present {
            cells.fill(0);
        }
        cells
    }

    /// A page has no bytes.
    #[inline]
    pub fn forget(&mut self, page: u32) {
        self.present[page as usize / 64] &= !(1 << (page % 64));
    }

    /// Copies a page over another one.
    pub fn copy(&mut self, from: u32, to: u32) {
        if !self.is_present(from) {
            self.forget(to);
            return;
        }
        self.page_anew(to);
        let ((source, at), (target, into)) = (self.place(from), self.place(to));
        let bytes = self.page_bytes;
        if source == target {
            if let Some(cells) = &mut self.chunks[source] {
                cells.copy_within(at..at + bytes, into);
            }
            return;
        }
        let [source, target] = self.chunks.get_disjoint_mut([source, target]).expect("two chunks of this drive");
        if let (Some(source), Some(target)) = (source, target) {
            target[into..into + bytes].copy_from_slice(&source[at..at + bytes]);
        }
    }

    /// Pages that make up one chunk were erased: its memory is given back.
    pub fn erase(&mut self, first: u32, pages: u32) {
        (first..first + pages).for_each(|page| self.forget(page));
        if pages as usize == self.pages_per_chunk {
            let gone = self.chunks[first as usize / self.pages_per_chunk].take();
            self.spare.extend(gone.filter(|_| self.spare.len() < MOST_SPARE));
        }
    }
}
