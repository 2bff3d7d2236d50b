//! Whether to look for the next request without falling asleep.
//!
//! To look pays while a processor is idle: to fall asleep and to be woken takes longer than most clients take between
//! two requests. While other programs wait for the processor it costs: each yield gives up the time slice, and the
//! request that comes waits until those programs have used theirs. A loop that sleeps instead is run soon after it is
//! woken.

use std::time::{Duration, Instant};

/// How long to look for the next request before falling asleep.
const SPIN: Duration = Duration::from_micros(50);
/// A yield that takes longer than this has let a busy program run. A client on the same processor sends its next
/// request sooner.
const OTHERS: Duration = Duration::from_micros(250);
/// Pauses after a yield to another program: the first one, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(512)];
/// Looking pays if no busy program runs for this long of it. Otherwise the next pause is twice as long: the loop spends
/// its share of the processor on looking, and has none left when a request comes. Time in which a client sends nothing
/// tells nothing.
const PAYS_FROM: Duration = Duration::from_millis(20);

/// Decides when to look, from the time that yields take.
pub(crate) struct Spin {
    /// There is a processor for the client beside this one.
    pays: bool,
    /// No look before this moment.
    resumes: Instant,
    /// Length of the last pause.
    pause: Duration,
    /// Time of the yields since then.
    looked: Duration,
}

impl Spin {
    pub fn new() -> Self {
        let pays = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
        Self { pays, resumes: Instant::now(), pause: PAUSES[0], looked: Duration::ZERO }
    }

    /// How long to look for a request from `now` on; zero: not at all.
    pub fn time(&self, now: Instant) -> Duration {
        if self.pays && now >= self.resumes { SPIN } else { Duration::ZERO }
    }

    /// Lets others run. Whether to look on.
    pub fn give_way(&mut self) -> bool {
        let begun = Instant::now();
        std::thread::yield_now();
        let ended = Instant::now();
        self.note(ended - begun, ended)
    }

    /// Takes in that a yield took `took` until `now`. Whether to look on.
    fn note(&mut self, took: Duration, now: Instant) -> bool {
        if took <= OTHERS {
            self.looked += took;
            return true;
        }
        let is_soon = std::mem::take(&mut self.looked) < PAYS_FROM;
        self.pause = if is_soon { (2 * self.pause).min(PAUSES[1]) } else { PAUSES[0] };
        self.resumes = now + self.pause;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_two_processors(now: Instant) -> Spin {
        Spin { pays: true, resumes: now, pause: PAUSES[0], looked: Duration::ZERO }
    }

    #[test]
    fn a_loop_among_busy_programs_sleeps_and_looks_more_and_more_seldom() {
        let mut now = Instant::now();
        let mut spin = on_two_processors(now);
        let mut looks = 0;
        let end = now + Duration::from_secs(10);
        while now < end {
            now += Duration::from_micros(100);
            if !spin.time(now).is_zero() {
                looks += 1;
                now += Duration::from_millis(3);
                assert!(!spin.note(Duration::from_millis(3), now), "another program ran");
            }
        }
        assert!((20..60).contains(&looks), "{looks} looks in 10 s");
    }

    #[test]
    fn a_program_that_runs_now_and_then_is_followed_by_short_pauses() {
        let mut now = Instant::now();
        let mut spin = on_two_processors(now);
        for _ in 0..100 {
            now += Duration::from_millis(100);
            assert_eq!(spin.time(now), SPIN);
            (0..30_000).for_each(|_| assert!(spin.note(Duration::from_micros(1), now)));
            assert!(!spin.note(Duration::from_micros(300), now));
            assert!(spin.time(now).is_zero());
            assert_eq!(spin.time(now + PAUSES[0]), SPIN, "the pause is the first one again");
        }
    }

    #[test]
    fn a_client_that_pauses_does_not_shorten_the_pauses() {
        let mut now = Instant::now();
        let mut spin = on_two_processors(now);
        for _ in 0..4 {
            now += Duration::from_secs(10);
            assert!(!spin.note(Duration::from_millis(3), now), "another program ran");
        }
        assert!(spin.time(now + 8 * PAUSES[0]).is_zero(), "the pauses grew");
    }

    #[test]
    fn one_processor_is_left_to_the_client() {
        let now = Instant::now();
        assert!(Spin { pays: false, ..on_two_processors(now) }.time(now).is_zero());
    }
}
