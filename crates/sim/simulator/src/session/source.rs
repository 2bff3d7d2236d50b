//! Where requests come from: a generator, a trace file, standard input, or the recorded sample.

use super::repeated::{Echo, REPEAT_ORDER, RepeatOrder, Repeated};
use super::shuffled::Shuffled;
use super::warm_up;
use super::{GivenRequests, SessionError};
use crate::DrivePlan;
use crate::config::keys::{CLOSED, OF_GENERATORS};
use crate::config::trace_keys::{ALLOCATOR, FIT, OF_TRACES, ORDER};
use crate::config::{PRECONDITION, Precondition};
use crate::in_use::FOOTPRINT;
use engine::random::Stream;
use layer::{Parameter, spelling::did_you_mean};
use layer::{Value, Values};
use std::io::{self, Cursor, Read};
use std::path::Path;
use trace::formats::{DevicePolicy, OddLines, Survey, TraceOptions, TraceWorkload};
use trace::synthetic::{self, SyntheticError, WorkloadParameters};
use trace::{Workload, WorkloadError};
use units::{Nanos, Request, SECTOR_BYTES};

/// Name of the recorded trace that is part of the program.
pub const SAMPLE: &str = "sample";
/// What the recorded sample is, and its bytes (see `samples/README.md`).
const SAMPLE_FILE: &str = "sqlite-git-ext4.csv.zst";
static SAMPLE_BYTES: &[u8] = include_bytes!("../../samples/sqlite-git-ext4.csv.zst");

pub(super) type Opened = Box<dyn Workload + Send>;

#[derive(Clone, Debug)]
enum Kind {
    Generator(WorkloadParameters),
    Trace(TraceOptions),
    Sample(TraceOptions),
    Given(GivenRequests),
}

/// Draws of a generator other than the draws of the measured run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rehearsal {
    /// For reaching a steady state.
    Steady,
    /// For requests before the clock starts: those of the steady state again would overwrite pages in the order in
    /// which they were written.
    WarmUp,
}

impl Rehearsal {
    /// What is added to the seed.
    const fn apart(self) -> u64 {
        match self {
            Rehearsal::Steady => 0x5851_F42D_4C95_7F2D,
            Rehearsal::WarmUp => 0xD134_2543_DE82_EF95,
        }
    }
}

/// A workload that can be opened, several times unless it is standard input.
#[derive(Clone, Debug)]
pub struct WorkloadSource {
    name: String,
    kind: Kind,
    closed: bool,
    /// Factor on the arrival times of a generator.
    time_scale: f64,
    /// Times a trace is run, and in which order.
    repeat: u64,
    order: RepeatOrder,
    /// What becomes of pages when it is run again in the same order, where that is known.
    echo: Option<Echo>,
    /// Seed of new orders.
    seed: u64,
    /// What a first pass over a trace found, where it could be read twice.
    survey: Option<Survey>,
}

/// Whether a workload of this name is a generator.
pub(super) fn is_generator(name: &str) -> bool {
    synthetic::find(name).is_some()
}

/// Whether a workload of this name is part of the program: a generator or the recorded sample.
pub fn is_built_in(name: &str) -> bool {
    is_generator(name) || name == SAMPLE
}

/// Whether a workload of this name or path, if there is one, is a trace of the user's and no generator.
pub fn is_trace(name: &str) -> bool {
    !is_built_in(name) && (name == "-" || looks_like_path(name))
}

/// A first pass over the trace called `name`, if it is one and can be read twice.
/// Errors: it cannot be read, or holds something that the configuration refuses.
pub(super) fn survey(name: &str, values: &Values) -> Result<Option<Survey>, SessionError> {
    let options = || trace_options(values, crate::scale::capacity(values) / SECTOR_BYTES);
    if name == SAMPLE {
        return Ok(Some(Survey::take_reader(Box::new(Cursor::new(SAMPLE_BYTES)), SAMPLE_FILE, &options()?)?));
    }
    if is_trace(name) && Path::new(name).is_file() {
        return Ok(Some(Survey::take(name, &options()?)?));
    }
    Ok(None)
}

impl WorkloadSource {
    /// The workload called `name` (a generator, the sample, a path, `-`) for a drive.
    /// Errors: no such workload, or an option that cannot be read.
    pub fn new(name: &str, plan: &DrivePlan) -> Result<Self, SessionError> {
        Self::surveyed(name, plan, None)
    }

    /// As [`WorkloadSource::new`], with the findings of a first pass over its trace.
    pub(super) fn surveyed(name: &str, plan: &DrivePlan, survey: Option<Survey>) -> Result<Self, SessionError> {
        let values = &plan.config.values;
        let sectors = plan.host_sectors();
        let kind = if is_generator(name) {
            refuse(values, name, OF_TRACES, "only a trace has a use for it")?;
            Kind::Generator(generator_parameters(values, sectors))
        } else if name == SAMPLE {
            Kind::Sample(trace_options(values, sectors)?)
        } else if is_trace(name) {
            Kind::Trace(trace_options(values, sectors)?)
        } else {
            let known = synthetic::WORKLOADS.iter().map(|entry| entry.name).chain([SAMPLE]);
            return Err(SessionError::NoWorkload { name: name.to_owned(), hint: did_you_mean(name, known) });
        };
        let generated = matches!(kind, Kind::Generator(_));
        if !generated {
            refuse(values, name, OF_GENERATORS, "a trace has its own sizes, mix and times")?;
            refuse_warm_up(values, name)?;
        }
        let closed = CLOSED.read(values).unwrap_or(generated);
        let echo = survey.as_ref().and_then(Survey::pattern).map(|pattern| Echo::of(pattern, plan));
        let repeat = values.whole("workload.repeat");
        if repeat > 1 && name == "-" {
            let problem =
                format!("workload.repeat = {repeat}: standard input can be read only once; save the trace to a file");
            return Err(SessionError::Generator { problem, key: String::new() });
        }
        Ok(Self {
            name: name.to_owned(),
            kind,
            closed,
            time_scale: values.real("workload.time_scale"),
            repeat,
            order: REPEAT_ORDER.read(values),
            echo,
            seed: values.whole("workload.seed"),
            survey,
        })
    }

    /// Requests that are in memory, called `name`.
    /// Errors: a setting that only other workloads have a use for; requests the drive cannot serve.
    pub fn given(name: &str, requests: &GivenRequests, plan: &DrivePlan) -> Result<Self, SessionError> {
        let values = &plan.config.values;
        let why = "requests given as arrays are taken as they are";
        refuse(values, name, OF_GENERATORS, why)?;
        refuse(values, name, OF_TRACES, why)?;
        refuse_warm_up(values, name)?;
        requests.check(name, plan.host_sectors())?;
        let closed = CLOSED.read(values).unwrap_or(!requests.is_timed());
        let kind = Kind::Given(requests.clone());
        let pattern = finds_pattern(values).then(|| requests.pattern()).flatten();
        Ok(Self {
            name: name.to_owned(),
            kind,
            closed,
            time_scale: values.real("workload.time_scale"),
            repeat: 1,
            order: RepeatOrder::Same,
            echo: pattern.map(|pattern| Echo::of(pattern, plan)),
            seed: values.whole("workload.seed"),
            survey: None,
        })
    }

    /// Keys of workloads of another kind.
    pub(super) fn unused_keys(&self) -> impl Iterator<Item = String> {
        let of_generators: &[Parameter] = if self.is_generated() { &[] } else { OF_GENERATORS };
        let of_traces: &[Parameter] =
            if matches!(self.kind, Kind::Trace(_) | Kind::Sample(_)) { &[] } else { OF_TRACES };
        let warm_up = (!self.is_generated()).then_some(warm_up::KEY);
        of_generators.iter().chain(of_traces).map(|parameter| parameter.key).chain(warm_up).map(str::to_owned)
    }

    /// Whether a queue depth is kept instead of arrival times.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Share of the drive, from its first address on, that it may write; 1 where nobody knows before it has run.
    pub(super) fn touched_share(&self, plan: &DrivePlan) -> f64 {
        let bytes = match &self.kind {
            Kind::Generator(_) => return plan.config.values.real(FOOTPRINT),
            Kind::Trace(_) | Kind::Sample(_) => self.survey.as_ref().map(Survey::span_bytes),
            Kind::Given(requests) => Some(requests.end_sector() * SECTOR_BYTES),
        };
        bytes.map_or(1.0, |bytes| (bytes as f64 / (plan.host_sectors() * SECTOR_BYTES) as f64).min(1.0))
    }

    /// Whether it is made up, and not recorded.
    pub(super) fn is_generated(&self) -> bool {
        matches!(self.kind, Kind::Generator(_))
    }

    /// How a run gets more writes. `has_more`: the workload has requests that were not run.
    pub(super) fn more_writes(&self, has_more: bool) -> &'static str {
        match &self.kind {
            Kind::Trace(_) | Kind::Sample(_) if !has_more => {
                "Raise workload.repeat (with workload.repeat_order = shuffle, if the trace writes each place once), or \
                 take a longer trace."
            }
            Kind::Given(_) if !has_more => "Give more requests that write.",
            Kind::Generator(_) | Kind::Trace(_) | Kind::Sample(_) | Kind::Given(_) => "Raise workload.requests.",
        }
    }

    /// The name in results: a generator's, or a file's without its folders.
    pub fn label(&self) -> String {
        match self.kind {
            Kind::Generator(_) | Kind::Given(_) => self.name.clone(),
            Kind::Sample(_) => SAMPLE_FILE.to_owned(),
            Kind::Trace(_) if self.name == "-" => "standard input".to_owned(),
            Kind::Trace(_) => {
                let file = Path::new(&self.name).file_name();
                file.map_or_else(|| self.name.clone(), |file| file.to_string_lossy().into_owned())
            }
        }
    }

    /// Whether it can be opened again.
    pub fn is_repeatable(&self) -> bool {
        self.name != "-" || !matches!(self.kind, Kind::Trace(_))
    }

    /// The difference from other workloads of the same name: a file's length, age and contents. Programs that copy a
    /// file keep its age.
    pub(super) fn fingerprint(&self) -> String {
        let file = match &self.kind {
            Kind::Trace(_) => std::fs::metadata(&self.name).ok().filter(std::fs::Metadata::is_file),
            Kind::Generator(_) | Kind::Sample(_) => None,
            Kind::Given(requests) => return format!("{:?} {:016x}", self.name, requests.fingerprint()),
        };
        let path = std::fs::canonicalize(&self.name).ok().filter(|_| file.is_some());
        let modified = file.as_ref().and_then(|file| file.modified().ok());
        let contents = file.as_ref().and_then(|_| sum_of(Path::new(&self.name)).ok());
        format!("{:?} {path:?} {:?} {modified:?} {contents:?}", self.name, file.map(|file| file.len()))
    }

    /// Opens it from the start.
    /// Errors: a generator refuses its parameters; a trace cannot be read or does not fit.
    pub(super) fn open(&self) -> Result<Opened, SessionError> {
        if self.repeat > 1 {
            return Ok(Box::new(Repeated::open(self.single(), self.repeat)?));
        }
        let opened: Opened = match &self.kind {
            Kind::Generator(parameters) => self.generator(parameters)?,
            Kind::Given(requests) => self.scaled(Box::new(requests.open())),
            Kind::Trace(options) => Box::new(match &self.survey {
                Some(survey) => TraceWorkload::open_surveyed(&self.name, options, survey)?,
                None => TraceWorkload::open(&self.name, options)?,
            }),
            Kind::Sample(options) => {
                let bytes = Box::new(Cursor::new(SAMPLE_BYTES));
                Box::new(match &self.survey {
                    Some(survey) => TraceWorkload::from_reader_surveyed(bytes, SAMPLE_FILE, options, survey)?,
                    None => TraceWorkload::from_reader(bytes, SAMPLE_FILE, options)?,
                })
            }
        };
        Ok(opened)
    }

    /// One pass over it.
    fn single(&self) -> Self {
        Self { repeat: 1, ..self.clone() }
    }

    /// Opens one pass over it, the first one being 0.
    pub(super) fn open_pass(&self, pass: u64) -> Result<Opened, SessionError> {
        self.ordered(pass, self.order, "workload.repeat_order")
    }

    fn ordered(&self, pass: u64, order: RepeatOrder, stream: &str) -> Result<Opened, SessionError> {
        let opened = self.single().open()?;
        if pass == 0 || order == RepeatOrder::Same {
            return Ok(opened);
        }
        // An odd factor keeps the passes of one seed, and seeds beside each other, apart.
        let seed = self.seed.wrapping_add(pass.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        Ok(Box::new(Shuffled::new(opened, Stream::new(seed, stream))))
    }

    /// Opens it without an end and, for a generator, with other draws than the measured run; a trace for one pass.
    pub(super) fn open_rehearsal(&self, rehearsal: Rehearsal) -> Result<Opened, SessionError> {
        match &self.kind {
            Kind::Generator(parameters) => {
                let mut parameters = parameters.clone();
                parameters.requests = u64::MAX;
                parameters.seed = parameters.seed.wrapping_add(rehearsal.apart());
                self.generator(&parameters)
            }
            Kind::Trace(_) | Kind::Sample(_) | Kind::Given(_) => self.single().open(),
        }
    }

    /// Opens one more pass over a trace.
    pub(super) fn reopen(&self, pass: u64) -> Result<Opened, WorkloadError> {
        reopened(self.open_pass(pass))
    }

    /// Opens one more pass over a trace that rehearses: in a new order where the same one would be no load.
    pub(super) fn reopen_rehearsal(&self, pass: u64) -> Result<Opened, WorkloadError> {
        let order = if self.once_bytes().is_some() { RepeatOrder::Shuffle } else { self.order };
        reopened(self.ordered(pass, order, "precondition.repeat_order"))
    }

    /// Bytes that a pass writes, where it is known to overwrite hardly anything by itself, in an order that matters.
    pub(super) fn once_bytes(&self) -> Option<u64> {
        match self.echo {
            Some(Echo::Alone { pass_bytes, .. }) => Some(pass_bytes),
            _ => None,
        }
    }

    /// Whether further passes in the order of now would be no load.
    pub(super) fn needs_new_order(&self) -> bool {
        self.order == RepeatOrder::Same && self.once_bytes().is_some()
    }

    /// How often a trace runs, and the share of the drive that a pass touches, where it runs several times.
    pub(super) fn passes(&self, plan: &DrivePlan) -> Option<(u64, f64)> {
        let touched = self.survey.as_ref().filter(|_| self.repeat > 1)?.touched_bytes();
        Some((self.repeat, (touched as f64 / (plan.host_sectors() * SECTOR_BYTES) as f64).min(1.0)))
    }

    /// The note where it is repeated in an order in which pages become invalid too evenly.
    pub(super) fn repetition_note(&self) -> Option<String> {
        let is_heard = self.repeat > 1 && self.order == RepeatOrder::Same;
        self.echo.filter(|_| is_heard).and_then(|echo| echo.note(self.repeat))
    }

    /// The same, where that is all there is to the wear of a run.
    pub(super) fn too_even(&self) -> Option<String> {
        self.repetition_note().filter(|_| self.once_bytes().is_some())
    }

    fn generator(&self, parameters: &WorkloadParameters) -> Result<Opened, SessionError> {
        Ok(self.scaled(synthetic::build(&self.name, parameters).map_err(|error| generator_error(&error))?))
    }

    fn scaled(&self, workload: Opened) -> Opened {
        #[expect(clippy::float_cmp, reason = "exactly the default: times stay exact integers")]
        if self.time_scale == 1.0 {
            return workload;
        }
        Box::new(Scaled { inner: workload, factor: self.time_scale })
    }
}

/// A pass of a trace that was opened before.
fn reopened(opened: Result<Opened, SessionError>) -> Result<Opened, WorkloadError> {
    match opened {
        Ok(opened) => Ok(opened),
        Err(SessionError::Workload(error)) => Err(error),
        Err(other) => unreachable!("a generator was opened before and has no end: {other}"),
    }
}

/// Whether a first pass over a trace finds how its writes lie: only repetitions ask.
fn finds_pattern(values: &Values) -> bool {
    values.whole("workload.repeat") > 1 || PRECONDITION.read(values) == Precondition::Steady
}

/// A warm-up of what is recorded is refused.
fn refuse_warm_up(values: &Values, workload: &str) -> Result<(), SessionError> {
    match values.get(warm_up::KEY) {
        Some(Value::Whole(count @ 1..)) => Err(SessionError::Generator {
            problem: format!(
                "{} = {count} has no effect on the workload `{workload}`: a trace is measured from its first request \
                 on; leave it out",
                warm_up::KEY
            ),
            key: String::new(),
        }),
        _ => Ok(()),
    }
}

/// No setting is silently without effect: refuses `keys` that do not have their default.
fn refuse(values: &Values, workload: &str, keys: &[Parameter], why: &str) -> Result<(), SessionError> {
    match keys.iter().find(|key| key.is_changed(values)) {
        None => Ok(()),
        Some(Parameter { key, .. }) => Err(SessionError::Generator {
            problem: format!("{key} has no effect on the workload `{workload}`: {why}; leave it out"),
            key: String::new(),
        }),
    }
}

/// A generator whose arrival times are stretched.
struct Scaled {
    inner: Opened,
    factor: f64,
}

impl Workload for Scaled {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        let first = batch.len();
        self.inner.next_batch(batch, limit)?;
        for request in &mut batch[first..] {
            request.arrival = (request.arrival as f64 * self.factor).round() as Nanos;
        }
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        self.inner.remaining()
    }
}

/// CRC-32 of the contents of a file.
/// Errors: it cannot be read.
fn sum_of(path: &Path) -> io::Result<u32> {
    let (mut file, mut sum) = (std::fs::File::open(path)?, crc32fast::Hasher::new());
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sum.finalize()),
            length => sum.update(&buffer[..length]),
        }
    }
}

/// A file that exists, or a name no generator could have.
fn looks_like_path(name: &str) -> bool {
    Path::new(name).exists() || name.contains(['/', '\\', '.'])
}

fn whole(values: &Values, key: &str) -> Option<u64> {
    values.get(key).map(|_| values.whole(key))
}

fn real(values: &Values, key: &str) -> Option<f64> {
    values.get(key).map(|_| values.real(key))
}

fn generator_parameters(values: &Values, sectors: u64) -> WorkloadParameters {
    WorkloadParameters {
        seed: values.whole("workload.seed"),
        footprint_share: values.real(FOOTPRINT),
        mean_interarrival_ns: whole(values, "workload.interarrival"),
        flush_every: values.whole("workload.flush_every"),
        request_bytes: whole(values, "workload.request_size"),
        read_share: real(values, "workload.read_share"),
        trim_share: real(values, "workload.trim_share"),
        zipf_exponent: real(values, "workload.zipf_exponent"),
        hot_space: real(values, "workload.hot_space"),
        hot_traffic: real(values, "workload.hot_traffic"),
        ..WorkloadParameters::new(sectors, values.whole("workload.requests"))
    }
}

/// The key behind a generator's parameter.
fn generator_error(error: &SyntheticError) -> SessionError {
    let key = match error {
        SyntheticError::UnknownName { .. } => None,
        SyntheticError::OutOfRange { parameter, .. } | SyntheticError::NotTaken { parameter, .. } => Some(*parameter),
    };
    let key = key.map(|parameter| match parameter {
        "request_bytes" => "workload.request_size".to_owned(),
        "footprint_share" => FOOTPRINT.to_owned(),
        "user_sectors" => format!("drive.capacity, in sectors of {SECTOR_BYTES} bytes"),
        other => format!("workload.{other}"),
    });
    let key = key.map(|key| format!(" (key {key})")).unwrap_or_default();
    SessionError::Generator { problem: error.to_string(), key }
}

fn trace_options(values: &Values, sectors: u64) -> Result<TraceOptions, SessionError> {
    let name = |key: &str| match values.get(key) {
        Some(Value::Name(name)) => Some(name.clone()),
        _ => None,
    };
    let devices = DevicePolicy::parse(values.name("workload.devices")).map_err(WorkloadError::from)?;
    Ok(TraceOptions {
        format: name("workload.format"),
        columns: name("workload.columns"),
        member: name("workload.member"),
        devices,
        fit: FIT.read(values),
        time_scale: values.real("workload.time_scale"),
        gap_limit_ns: whole(values, "workload.gap_limit"),
        order: ORDER.read_if_set(values),
        allocator: ALLOCATOR.read_if_set(values),
        odd_lines: name("workload.odd_lines")
            .map_or(Ok(OddLines::default()), |text| OddLines::parse(&text))
            .map_err(WorkloadError::from)?,
        finds_pattern: finds_pattern(values),
        ..TraceOptions::new(sectors)
    })
}
