//! The cells of all pages: memory for what was programmed, not for what could be.

/// Chunks kept to be used again.
const MOST_SPARE: usize = 8;

/// Cells by page, in chunks that have memory from the first program of one of their pages until they are erased.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    page_bytes: usize,
    pages_per_chunk: usize,
    chunks: Vec<Option<Box<[u8]>>>,
    /// Memory of erased chunks, to be used again: the system takes long to give new memory.
    spare: Vec<Box<[u8]>>,
    /// What a page without memory reads as.
    zeros: Box<[u8]>,
}

impl Cells {
    /// No page has memory yet; `pages_per_chunk` of them get it together.
    pub fn new(pages: usize, pages_per_chunk: usize, page_bytes: usize) -> Self {
        let chunks = vec![None; pages.div_ceil(pages_per_chunk)];
        Self { page_bytes, pages_per_chunk, chunks, spare: Vec::new(), zeros: vec![0; page_bytes].into() }
    }

    #[inline]
    fn place(&self, page: u32) -> (usize, usize) {
        (page as usize / self.pages_per_chunk, page as usize % self.pages_per_chunk * self.page_bytes)
    }

    /// Cells of a page; zeros where there is no memory.
    #[inline]
    pub fn page(&self, page: u32) -> &[u8] {
        let (chunk, at) = self.place(page);
        match &self.chunks[chunk] {
            Some(cells) => &cells[at..at + self.page_bytes],
            None => &self.zeros,
        }
    }

    /// Cells of a page, to be changed.
    #[inline]
    pub fn page_mut(&mut self, page: u32) -> &mut [u8] {
        let (chunk, at) = self.place(page);
        let bytes = self.pages_per_chunk * self.page_bytes;
        let cells = self.chunks[chunk].get_or_insert_with(|| {
            let used = self.spare.pop().map(|mut cells| {
                cells.fill(0);
                cells
            });
            used.unwrap_or_else(|| vec![0; bytes].into())
        });
        &mut cells[at..at + self.page_bytes]
    }

    /// Copies a page over another one.
    pub fn copy(&mut self, from: u32, to: u32) {
        let ((source, at), (target, into)) = (self.place(from), self.place(to));
        let bytes = self.page_bytes;
        if source == target {
            if let Some(cells) = &mut self.chunks[source] {
                cells.copy_within(at..at + bytes, into);
            }
            return;
        }
        self.page_mut(to);
        let [source, target] = self.chunks.get_disjoint_mut([source, target]).expect("two chunks of this drive");
        let target = &mut target.as_mut().expect("it has memory now")[into..into + bytes];
        match source {
            Some(cells) => target.copy_from_slice(&cells[at..at + bytes]),
            None => target.fill(0),
        }
    }

    /// Pages that make up one chunk were erased: its memory is given back.
    pub fn erase(&mut self, first: u32, pages: u32) {
        if pages as usize == self.pages_per_chunk {
            let gone = self.chunks[first as usize / self.pages_per_chunk].take();
            self.spare.extend(gone.filter(|_| self.spare.len() < MOST_SPARE));
        }
    }
}
