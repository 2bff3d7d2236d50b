//! Bytes that came in and are not read yet, bytes that go out and are not sent yet.

/// Size of the input buffer: more than the longest request that is kept in it whole, and enough that a burst
/// of small requests comes in with one read of the socket.
const INPUT_BYTES: usize = 256 << 10;
/// An output buffer that grew beyond this gives memory back once it is empty.
const KEPT_OUTPUT_BYTES: usize = 8 << 20;

/// `bytes[start..end]` has been received; the first `held` of it belong to the request handed out last.
#[derive(Debug)]
pub(crate) struct Input {
    bytes: Vec<u8>,
    start: usize,
    held: usize,
    end: usize,
}

impl Input {
    pub fn new() -> Self {
        Self { bytes: vec![0; INPUT_BYTES], start: 0, held: 0, end: 0 }
    }

    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.start + self.held..self.end]
    }

    pub fn consume(&mut self, count: usize) {
        self.hold(count);
        self.release();
    }

    /// Keeps the next `count` bytes where they are until [`Input::release`].
    pub fn hold(&mut self, count: usize) {
        debug_assert!(self.held == 0 && count <= self.end - self.start, "bytes that are there");
        self.held = count;
    }

    pub fn held(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.held]
    }

    pub fn release(&mut self) {
        self.start += self.held;
        self.held = 0;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Where more bytes may go. Bytes are moved to the front only where that is little work for the room it
    /// makes.
    pub fn space(&mut self) -> &mut [u8] {
        let crowded = self.bytes.len() - self.end < self.bytes.len() / 2;
        if crowded && self.start > 0 && self.start >= self.end - self.start {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        &mut self.bytes[self.end..]
    }

    pub fn filled(&mut self, count: usize) {
        assert!(count <= self.bytes.len() - self.end, "more bytes than there was space for");
        self.end += count;
    }

    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

/// `bytes[start..end]` waits to be sent. The rest stays initialised, so that a reply costs no
/// clearing.
#[derive(Debug, Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Output {
    pub fn unsent(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Room for `count` more bytes, with anything in it; all of it counts as written.
    pub fn room(&mut self, count: usize) -> &mut [u8] {
        if self.bytes.len() - self.end < count {
            self.grow(count);
        }
        let at = self.end;
        self.end += count;
        &mut self.bytes[at..self.end]
    }

    #[cold]
    fn grow(&mut self, count: usize) {
        // Moved only if what moves is no more than what was sent since, so that sending stays linear.
        if self.start >= self.len() {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.len());
        }
        let needed = self.end + count;
        if self.bytes.len() < needed {
            self.bytes.resize(needed.next_power_of_two().max(4096), 0);
        }
    }

    pub fn put(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
    }

    /// Takes back what was put since [`Output::len`] was `length`.
    pub fn truncate(&mut self, length: usize) {
        self.end = self.start + length;
    }

    /// Gives the memory back if nothing waits in it.
    pub fn release_memory(&mut self) {
        if self.len() == 0 {
            *self = Self::default();
        }
    }

    pub fn taken(&mut self, count: usize) {
        assert!(count <= self.len(), "more bytes than there were to send");
        self.start += count;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.bytes.len() > KEPT_OUTPUT_BYTES {
                self.bytes.truncate(KEPT_OUTPUT_BYTES);
                self.bytes.shrink_to_fit();
            }
        }
    }

    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}
