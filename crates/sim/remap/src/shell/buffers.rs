//! Memory of a superpage each, used again.

#[derive(Debug)]
pub struct Buffers {
    all: Vec<Vec<u8>>,
    unused: Vec<u32>,
    bytes: usize,
}

impl Buffers {
    /// Buffers of `bytes` each, which may be 0.
    pub(crate) fn new(bytes: usize) -> Self {
        Self { all: Vec::new(), unused: Vec::new(), bytes }
    }

    /// A buffer filled with zeros.
    pub fn take(&mut self) -> u32 {
        if let Some(number) = self.unused.pop() {
            self.all[number as usize].fill(0);
            return number;
        }
        self.all.push(vec![0; self.bytes]);
        self.all.len() as u32 - 1
    }

    /// A buffer that holds anything.
    pub fn take_any(&mut self) -> u32 {
        self.unused.pop().unwrap_or_else(|| self.take())
    }

    /// A buffer is needed no more; its number is used again.
    pub fn release(&mut self, number: u32) {
        self.unused.push(number);
    }

    /// The contents of a buffer; nothing where there are no contents.
    pub fn get(&self, number: u32) -> &[u8] {
        &self.all[number as usize]
    }

    /// The same, to be filled.
    pub fn get_mut(&mut self, number: u32) -> &mut [u8] {
        &mut self.all[number as usize]
    }

    /// Copies `bytes` from one buffer to another one, or to another place of the same.
    pub fn copy(&mut self, from: (u32, usize), to: (u32, usize), bytes: usize) {
        if bytes == 0 {
            return;
        }
        if from.0 == to.0 {
            self.all[to.0 as usize].copy_within(from.1..from.1 + bytes, to.1);
            return;
        }
        let mut target = std::mem::take(&mut self.all[to.0 as usize]);
        target[to.1..to.1 + bytes].copy_from_slice(&self.all[from.0 as usize][from.1..from.1 + bytes]);
        self.all[to.0 as usize] = target;
    }

    pub fn ram_bytes(&self) -> u64 {
        (self.all.len() * self.bytes) as u64
    }
}
