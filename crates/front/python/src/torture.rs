//! Power loss under functions.

use crate::beside::{Together, beside};
use crate::errors::SimulationError;
use ::torture::{Commands, CutDisk, FailedCheck, Guarantee, Lie, Recorder, Recording, Torture, TortureError, Tried};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const SECTOR: u64 = 512;
/// Most bytes of a request.
const MOST: u64 = 1 << 30;

enum What {
    Recorded(Recorder<CutDisk<'static>>),
    Cut(CutDisk<'static>),
    /// Who had it has given it back.
    Over,
}

/// A disk: one that a workload writes to, or one that a power cut has left.
#[pyclass(module = "nandarium", frozen)]
pub struct Disk {
    what: Mutex<What>,
    bytes: u64,
}

impl Disk {
    fn new(what: What, bytes: u64) -> Self {
        Self { what: Mutex::new(what), bytes }
    }

    /// Whoever had it has given it back.
    fn end(&self) -> What {
        std::mem::replace(&mut *self.what(), What::Over)
    }

    fn what(&self) -> MutexGuard<'_, What> {
        self.what.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn checked(&self, offset: u64, length: u64) -> PyResult<()> {
        if !offset.is_multiple_of(SECTOR) || !length.is_multiple_of(SECTOR) {
            return Err(PyValueError::new_err(format!(
                "byte {offset}, {length} bytes: offset and length are multiples of a sector, {SECTOR} bytes"
            )));
        }
        if offset.checked_add(length).is_none_or(|end| end > self.bytes) {
            let bytes = self.bytes;
            return Err(PyValueError::new_err(format!("byte {offset}, {length} bytes: the disk has {bytes}")));
        }
        if length > MOST {
            return Err(PyValueError::new_err(format!("{length} bytes at once: {MOST} are the most")));
        }
        Ok(())
    }
}

fn over() -> PyErr {
    PyValueError::new_err("this disk belonged to a workload or a check that has ended")
}

fn refused(error: nbd::ErrorNumber) -> PyErr {
    PyOSError::new_err((5, format!("the disk cannot do that: {error:?}")))
}

#[pymethods]
impl Disk {
    /// Its size.
    #[getter]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read<'py>(&self, py: Python<'py>, offset: u64, length: u64) -> PyResult<Bound<'py, PyBytes>> {
        self.checked(offset, length)?;
        PyBytes::new_with(py, length as usize, |bytes| match &mut *self.what() {
            What::Recorded(disk) => disk.read(offset, bytes).map_err(refused),
            What::Cut(disk) => disk.read(offset, bytes).map_err(refused),
            What::Over => Err(over()),
        })
    }

    /// `data`: anything that holds bytes.
    #[pyo3(signature = (offset, data, fua=false))]
    fn write(&self, py: Python<'_>, offset: u64, data: PyBuffer<u8>, fua: bool) -> PyResult<()> {
        let data = data.to_vec(py)?;
        self.checked(offset, data.len() as u64)?;
        match &mut *self.what() {
            What::Recorded(disk) => disk.write(offset, &data, fua).map_err(refused),
            What::Cut(disk) => {
                disk.write(offset, &data);
                Ok(())
            }
            What::Over => Err(over()),
        }
    }

    fn trim(&self, offset: u64, length: u64) -> PyResult<()> {
        self.checked(offset, length)?;
        match &mut *self.what() {
            What::Recorded(disk) => disk.trim(offset, length as u32).map_err(refused),
            What::Cut(disk) => {
                disk.trim(offset, length);
                Ok(())
            }
            What::Over => Err(over()),
        }
    }

    fn flush(&self) -> PyResult<()> {
        match &mut *self.what() {
            What::Recorded(disk) => disk.flush().map_err(refused),
            What::Cut(_) => Ok(()),
            What::Over => Err(over()),
        }
    }

    /// Says something, such as what is promised from now on.
    fn say(&self, line: &str) -> PyResult<()> {
        match &mut *self.what() {
            What::Recorded(disk) => {
                disk.say(line);
                Ok(())
            }
            What::Cut(_) => Err(PyValueError::new_err("a check says nothing: it raises what is wrong")),
            What::Over => Err(over()),
        }
    }
}

/// Options for the torture of both functions and commands, by the names that users give.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    stack: Option<String>,
    settings: Vec<String>,
    cuts_within: bool,
    guarantee: String,
    /// Bytes written whole or not at all; `None`: the promise of the drive.
    atomic: Option<u64>,
    lies: Vec<String>,
    faults: Vec<String>,
    states: u64,
    seed: u64,
    replay: Option<u64>,
    /// Number of a shard, from 0, and how many there are: only its checks are made.
    shard: Option<(u64, u64)>,
    /// How many commands may run at once; `None`: one for each core.
    jobs: Option<usize>,
    /// Shards have made all checks, and this is what came of them.
    known: Option<Known>,
}

/// The first check that failed among those of all shards.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Known {
    first: Option<FailedCheck>,
}

impl Asked {
    /// On a disk in memory of so many bytes, or on a drive that is cut.
    fn on_a_disk(&self, bytes: u64) -> Result<Torture, String> {
        if self.stack.is_none() && (bytes == 0 || !bytes.is_multiple_of(SECTOR)) {
            return Err(format!("bytes is {bytes}: a disk has whole sectors of {SECTOR} bytes"));
        }
        if bytes > ::torture::MOST_BYTES {
            let most = ::torture::MOST_BYTES;
            return Err(format!("bytes is {bytes}, and all of it is kept in memory: {most} are the most"));
        }
        self.of(match &self.stack {
            None => {
                ::torture::check_memory(bytes)?;
                Torture::new(bytes)
            }
            Some(stack) => Torture::within(stack, &self.settings()).map_err(|error| error.to_string())?,
        })
    }

    /// On a drive that is served.
    fn on_a_drive(&self) -> Result<Torture, String> {
        let stack = self.stack.as_deref().unwrap_or("page");
        let torture = Torture::serving(stack, &self.settings()).map_err(|error| error.to_string())?;
        self.of(if self.cuts_within { torture.cuts_within() } else { torture })
    }

    fn settings(&self) -> Vec<&str> {
        self.settings.iter().map(String::as_str).collect()
    }

    fn of(&self, torture: Torture) -> Result<Torture, String> {
        if let Some(atomic) = self.atomic.filter(|atomic| !atomic.is_power_of_two() || *atomic < SECTOR) {
            return Err(format!("atomic is {atomic}: it is a power of two from {SECTOR} on"));
        }
        let names = |all: &[&str]| all.join(", ");
        let lies: Option<Vec<Lie>> = self.lies.iter().map(|name| Lie::named(name)).collect();
        let lies = lies.ok_or_else(|| format!("lies are {}", names(&Lie::TABLE.map(|(name, _, _)| name))))?;
        let known = names(&Guarantee::TABLE.map(|(name, _, _)| name));
        let guarantee = Guarantee::named(&self.guarantee).ok_or_else(|| format!("a guarantee is one of {known}"))?;
        let faults: Vec<&str> = self.faults.iter().map(String::as_str).collect();
        let torture = torture.guarantee(guarantee).atomic(self.atomic).lies(&lies).faults(&faults)?;
        let mut torture = torture.states(self.states).seed(self.seed);
        if let Some(number) = self.replay {
            torture = torture.replay(number);
        }
        if let Some((index, count)) = self.shard {
            torture = torture.shard(index, count);
        }
        Ok(match &self.known {
            Some(known) => torture.known(known.first.clone()),
            None => torture,
        })
    }
}

/// Makes the folder of results, and moves what is there of an earlier call.
fn made(out: Option<&Path>) -> PyResult<()> {
    out.map_or(Ok(()), |out| cli::make_folder(out).map_err(PyValueError::new_err))
}

/// The document, the text and the page, which are written into a folder as well; and of a shard only the check that
/// failed.
type Told = (String, String, String, Option<FailedCheck>);

/// The exception of commands that gave no verdict.
fn of_commands(error: TortureError) -> PyErr {
    match error {
        TortureError::Usage(_) | TortureError::Drive(_) => PyValueError::new_err(error.to_string()),
        _ => SimulationError::new_err(error.to_string()),
    }
}

/// The exception of functions that gave none.
fn of_functions(error: TortureError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn told(
    asked: &Asked,
    tried: Result<Tried, TortureError>,
    out: Option<&Path>,
    failed: fn(TortureError) -> PyErr,
) -> PyResult<Told> {
    if asked.shard.is_some() {
        let [document, text, page] = [const { String::new() }; 3];
        return Ok((document, text, page, Tried::failed_check(tried).map_err(failed)?));
    }
    let tried = tried.map_err(failed)?;
    let written = out.map_or(Ok(()), |out| tried.write_to(out));
    written.map_err(|error| SimulationError::new_err(error.to_string()))?;
    let [document, text, page] =
        tried.report(|report| [report.to_json().to_string(), report.to_text(false), report.to_page()]);
    Ok((document, text, page, None))
}

/// The request of a workload to a disk.
#[pyclass(module = "nandarium._nandarium", frozen, name = "Recording")]
pub struct Recorded(Recording);

#[pymethods]
impl Recorded {
    /// Reads it from a file.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        Ok(Self(Recording::read_from(&path)?))
    }

    /// Reads it from what `bytes` gave.
    #[staticmethod]
    fn of(bytes: &[u8]) -> PyResult<Self> {
        Ok(Self(Recording::from_bytes(bytes)?))
    }

    /// What its file would hold.
    fn bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }
}

/// Commands: prepare, workload, check, mount, and seconds that each may take.
type Texts = (Option<String>, String, String, Option<String>, u64);

fn commands(texts: Texts, recording: Option<&Recorded>) -> PyResult<Commands> {
    let (prepare, workload, check, mount, seconds) = texts;
    let mount = mount.as_deref().map(str::parse).transpose();
    let mount = mount.map_err(|problem: String| PyValueError::new_err(format!("mount: {problem}")))?;
    let (recording, limit) = (recording.map(|kept| kept.0.clone()), Duration::from_secs(seconds));
    Ok(Commands { prepare, mount, recording, limit, ..Commands::new(&workload, &check) })
}

/// Runs the first two commands as `nandarium torture` does, in this process.
#[pyfunction]
pub fn record_commands(py: Python<'_>, texts: Texts, asked: Asked) -> PyResult<Recorded> {
    let torture = asked.on_a_drive().map_err(PyValueError::new_err)?;
    let (commands, monitor) = (commands(texts, None)?, Together::new(asked.jobs));
    let recording = beside(py, monitor.stop(), |_| Ok(()), || torture.record_commands(commands, &monitor))?;
    recording.map(Recorded).map_err(of_commands)
}

/// Runs commands as `nandarium torture` does, in this process.
#[pyfunction]
#[pyo3(signature = (texts, asked, recording, out))]
pub fn torture_commands(
    py: Python<'_>,
    texts: Texts,
    asked: Asked,
    recording: Option<&Bound<'_, Recorded>>,
    out: Option<PathBuf>,
) -> PyResult<Told> {
    let torture = asked.on_a_drive().map_err(PyValueError::new_err)?;
    let commands = commands(texts, recording.map(Bound::get))?;
    let again = out
        .as_ref()
        .map(|out| format!("the same call with recording=\"{}\" and replay =", out.join("recording").display()));
    let torture = match again {
        Some(again) => torture.again(&again),
        None => torture,
    };
    made(out.as_deref())?;
    let monitor = Together::new(asked.jobs);
    let tried = beside(py, monitor.stop(), |_| Ok(()), || torture.run_commands(commands, &monitor))?;
    told(&asked, tried, out.as_deref(), of_commands)
}

/// Runs a workload once; the folder of results is made before.
#[pyfunction]
#[pyo3(signature = (workload, asked, *, bytes, out))]
pub fn record(
    py: Python<'_>,
    workload: &Bound<'_, PyAny>,
    asked: Asked,
    bytes: u64,
    out: Option<PathBuf>,
) -> PyResult<Recorded> {
    let recorder = asked.on_a_disk(bytes).map_err(PyValueError::new_err)?.recorder();
    made(out.as_deref())?;
    let bytes = serve::Target::bytes(&recorder);
    let disk = Bound::new(py, Disk::new(What::Recorded(recorder), bytes))?;
    workload.call1((&disk,))?;
    let What::Recorded(recorder) = disk.get().end() else { return Err(over()) };
    Ok(Recorded(recorder.finish().0))
}

/// Runs a check on each state that power cuts may leave of a recording.
#[pyfunction]
#[pyo3(signature = (recording, check, asked, *, bytes, out))]
pub fn torture(
    py: Python<'_>,
    recording: &Bound<'_, Recorded>,
    check: &Bound<'_, PyAny>,
    asked: Asked,
    bytes: u64,
    out: Option<PathBuf>,
) -> PyResult<Told> {
    let torture = asked.on_a_disk(bytes).map_err(PyValueError::new_err)?;
    let recording = recording.get().0.clone();
    let before = Arc::new(recording.before.clone());
    let bytes = before.len() as u64;
    let mut ended = None;
    let tried = torture.explore(recording, |cut, said| {
        let judged = Bound::new(py, Disk::new(What::Cut(cut.detached(before.clone())), bytes)).and_then(|disk| {
            let judged = check.call1((&disk, said.to_vec()));
            disk.get().end();
            judged
        });
        match judged {
            Ok(answer) if answer.is_none() => Some(Ok(())),
            // `False` was meant as a failure, and would count as none.
            Ok(answer) => {
                let shown = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
                ended = Some(PyTypeError::new_err(format!(
                    "the check returned {shown}: a check raises what is wrong with the disk, and returns None"
                )));
                None
            }
            Err(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                let kind = error.get_type(py);
                let name = kind.name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
                Some(Err(format!("{name}: {}", error.value(py))))
            }
            Err(error) => {
                ended = Some(error); // the user wants to end
                None
            }
        }
    });
    if let Some(error) = ended {
        return Err(error);
    }
    told(&asked, tried, out.as_deref(), of_functions)
}
