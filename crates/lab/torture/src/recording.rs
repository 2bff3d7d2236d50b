//! The requests of a program to a drive, with contents, in order.

use nbd::{ErrorNumber, Extent};
use serve::{Answer, Answers, Control, Order, OrderKind, Target};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A request that changes what a drive holds, or lets it last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The requests of the program.
    pub order: Order,
    /// The bytes of a write.
    pub payload: Box<[u8]>,
}

/// Something that happened, by the number of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It was asked for.
    Asked(usize),
    /// It was done, as far as the program knows.
    Answered(usize),
}

/// A sequence of requests, with the bytes that were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The contents of the drive when the recording began.
    pub before: Vec<u8>,
    /// Requests in the order in which they were asked for.
    pub requests: Vec<Recorded>,
    /// The events, in order.
    pub steps: Vec<Step>,
    /// Lines that the program said, each with the steps that had happened when it was heard: it may have been said
    /// earlier, and never later.
    pub said: Vec<(usize, String)>,
}

impl Recording {
    /// Whether anything in it changes what a drive holds.
    pub fn changes_something(&self) -> bool {
        self.requests.iter().any(|request| request.order.length > 0)
    }

    /// Lines that were heard before a step.
    pub fn said_by(&self, step: usize) -> impl Iterator<Item = &str> {
        self.said.iter().take_while(move |(at, _)| *at <= step).map(|(_, line)| line.as_str())
    }
}

/// Asks a target for something and waits for it, while nobody else does; `payload` as in [`Target::submit`].
///
/// # Errors
/// The target refuses.
pub fn ask(target: &mut dyn Target, order: &Order, payload: &[u8]) -> Result<Vec<u8>, ErrorNumber> {
    let mut answers = Answers::default();
    target.submit(0, order, payload);
    while answers.all.is_empty() {
        target.poll(&mut answers);
    }
    answers.all[0].result.map(|at| answers.bytes.split_off(at))
}

/// Records what goes to a target. Reads go through and leave no trace.
pub struct Recorder<T> {
    target: T,
    recording: Recording,
    /// Numbers of requests under way, by their tags.
    under_way: Vec<Option<usize>>,
    /// How many steps there are, for whoever listens to the program meanwhile.
    count: Arc<AtomicUsize>,
    /// Hears what the program has said before it asks for something.
    ear: Box<dyn FnMut() + Send>,
}

impl<T: Target> Recorder<T> {
    /// Records from now on what `target` is asked for, which holds `before`.
    pub fn new(target: T, before: Vec<u8>) -> Self {
        Self {
            target,
            recording: Recording { before, ..Recording::default() },
            under_way: Vec::new(),
            count: Arc::default(),
            ear: Box::new(|| {}),
        }
    }

    /// `ear` is called before each request is recorded: lines of the program up to then come before it.
    #[must_use]
    pub fn with_ear(self, ear: impl FnMut() + Send + 'static) -> Self {
        Self { ear: Box::new(ear), ..self }
    }

    /// How many steps were recorded so far, kept up to date.
    pub fn count(&self) -> Arc<AtomicUsize> {
        self.count.clone()
    }

    /// What an order changes: a trim forgets whole pieces alone.
    fn whole(&self, order: &Order) -> Order {
        let piece = u64::from(self.target.trim_bytes());
        if order.kind != OrderKind::Trim {
            return *order;
        }
        let first = order.offset.next_multiple_of(piece);
        let end = (order.offset + u64::from(order.length)) / piece * piece;
        Order { offset: first, length: end.saturating_sub(first) as u32, ..*order }
    }

    fn step(&mut self, step: Step) {
        self.recording.steps.push(step);
        self.count.store(self.recording.steps.len(), Ordering::Release);
    }

    /// Writes whole sectors.
    ///
    /// # Errors
    /// The target refuses.
    pub fn write(&mut self, offset: u64, bytes: &[u8], fua: bool) -> Result<(), ErrorNumber> {
        let order = Order { kind: OrderKind::Write, offset, length: bytes.len() as u32, fua };
        ask(self, &order, bytes).map(drop)
    }

    /// Reads whole sectors, which leaves no trace.
    ///
    /// # Errors
    /// The target refuses.
    pub fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), ErrorNumber> {
        let order = Order { kind: OrderKind::Read, offset, length: into.len() as u32, fua: false };
        into.copy_from_slice(&ask(self, &order, &[])?);
        Ok(())
    }

    /// Sectors hold zeros from now on.
    ///
    /// # Errors
    /// The target refuses.
    pub fn trim(&mut self, offset: u64, bytes: u32) -> Result<(), ErrorNumber> {
        ask(self, &Order { kind: OrderKind::Trim, offset, length: bytes, fua: false }, &[]).map(drop)
    }

    /// Lets what was written last.
    ///
    /// # Errors
    /// The target refuses.
    pub fn flush(&mut self) -> Result<(), ErrorNumber> {
        ask(self, &Order { kind: OrderKind::Flush, offset: 0, length: 0, fua: false }, &[]).map(drop)
    }

    /// The program says something, such as what it has promised to keep.
    pub fn say(&mut self, line: &str) {
        self.recording.said.push((self.recording.steps.len(), line.to_owned()));
    }

    /// The recording, and the target.
    pub fn finish(self) -> (Recording, T) {
        (self.recording, self.target)
    }
}

impl<T: Target> Target for Recorder<T> {
    fn bytes(&self) -> u64 {
        self.target.bytes()
    }

    fn preferred_bytes(&self) -> u32 {
        self.target.preferred_bytes()
    }

    fn trim_bytes(&self) -> u32 {
        self.target.trim_bytes()
    }

    fn extents(&mut self, offset: u64, length: u64, extents: &mut Vec<Extent>) -> Result<(), ErrorNumber> {
        self.target.extents(offset, length, extents)
    }

    fn submit(&mut self, tag: u32, order: &Order, payload: &[u8]) {
        if order.kind != OrderKind::Read {
            (self.ear)();
            let number = self.recording.requests.len();
            let payload = if order.kind == OrderKind::Write { payload.into() } else { Box::default() };
            self.recording.requests.push(Recorded { order: self.whole(order), payload });
            self.step(Step::Asked(number));
            if self.under_way.len() <= tag as usize {
                self.under_way.resize(tag as usize + 1, None);
            }
            self.under_way[tag as usize] = Some(number);
        }
        self.target.submit(tag, order, payload);
    }

    fn poll(&mut self, answers: &mut Answers) -> Option<Duration> {
        let known = answers.all.len();
        let again = self.target.poll(answers);
        for Answer { tag, result } in &answers.all[known..] {
            let number = self.under_way.get_mut(*tag as usize).and_then(Option::take);
            let is_done: Result<usize, ErrorNumber> = *result;
            if let (Some(number), Ok(_)) = (number, is_done) {
                self.step(Step::Answered(number));
            }
        }
        again
    }

    fn control(&mut self, command: &str) -> Control {
        self.target.control(command)
    }

    fn close(&mut self) -> Result<(), String> {
        self.target.close()
    }
}
