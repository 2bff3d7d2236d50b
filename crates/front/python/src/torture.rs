//! Power loss under functions.

use crate::beside::beside;
use crate::errors::SimulationError;
use ::torture::{Commands, CutDisk, Guarantee, Lie, Recorder, Recording, Torture, TortureError, Tried};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
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

/// A disk: what a workload writes to, or what a power cut has left.
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

/// What both functions and commands are put through, by the names that users give.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    stack: Option<String>,
    settings: Vec<String>,
    cuts_within: bool,
    guarantee: String,
    atomic: u64,
    lies: Vec<String>,
    faults: Vec<String>,
    states: u64,
    seed: u64,
    replay: Option<u64>,
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
        let atomic = self.atomic;
        if !atomic.is_power_of_two() || atomic < SECTOR {
            return Err(format!("atomic is {atomic}: it is a power of two from {SECTOR} on"));
        }
        let names = |all: &[&str]| all.join(", ");
        let lies: Option<Vec<Lie>> = self.lies.iter().map(|name| Lie::named(name)).collect();
        let lies = lies.ok_or_else(|| format!("lies are {}", names(&Lie::TABLE.map(|(name, _, _)| name))))?;
        let known = names(&Guarantee::TABLE.map(|(name, _, _)| name));
        let guarantee = Guarantee::named(&self.guarantee).ok_or_else(|| format!("a guarantee is one of {known}"))?;
        let faults: Vec<&str> = self.faults.iter().map(String::as_str).collect();
        let torture = torture.guarantee(guarantee).atomic(atomic).lies(&lies).faults(&faults)?;
        let torture = torture.states(self.states).seed(self.seed);
        Ok(match self.replay {
            Some(number) => torture.replay(number),
            None => torture,
        })
    }
}

/// Makes the folder of results, and moves what is there of an earlier call.
fn made(out: Option<&Path>) -> PyResult<()> {
    out.map_or(Ok(()), |out| cli::make_folder(out).map_err(PyValueError::new_err))
}

/// The document, the text and the page, which are written into a folder as well.
fn told(tried: &Tried, out: Option<&Path>) -> PyResult<(String, String, String)> {
    let written = out.map_or(Ok(()), |out| tried.write_to(out));
    written.map_err(|error| SimulationError::new_err(error.to_string()))?;
    Ok(tried.report(|report| (report.to_json().to_string(), report.to_text(false), report.to_page())))
}

/// Runs two commands as `nandarium torture` does, in this process.
#[pyfunction]
#[pyo3(signature = (workload, check, asked, *, prepare, mount, recording, time_limit, out))]
#[expect(clippy::too_many_arguments, reason = "all of them are named by whoever calls")]
pub fn torture_commands(
    py: Python<'_>,
    workload: &str,
    check: &str,
    asked: Asked,
    prepare: Option<String>,
    mount: Option<&str>,
    recording: Option<PathBuf>,
    time_limit: u64,
    out: Option<PathBuf>,
) -> PyResult<(String, String, String)> {
    let value = |problem: String| PyValueError::new_err(problem);
    let torture = asked.on_a_drive().map_err(value)?;
    let mount = mount.map(str::parse).transpose().map_err(|problem: String| value(format!("mount: {problem}")))?;
    let recording = recording.map(|path| Recording::read_from(&path)).transpose()?;
    let limit = Duration::from_secs(time_limit);
    let commands = Commands { prepare, mount, recording, limit, ..Commands::new(workload, check) };
    let again = out
        .as_ref()
        .map(|out| format!("the same call with recording=\"{}\" and replay =", out.join("recording").display()));
    let torture = match again {
        Some(again) => torture.again(&again),
        None => torture,
    };
    made(out.as_deref())?;
    let stop = AtomicBool::new(false);
    let tried = beside(py, &stop, |_| Ok(()), || torture.run_commands(commands, &stop, &mut ()))?;
    let tried = tried.map_err(|error| match error {
        TortureError::Usage(_) | TortureError::Drive(_) => value(error.to_string()),
        _ => SimulationError::new_err(error.to_string()),
    })?;
    told(&tried, out.as_deref())
}

/// Runs a workload once and a check on each state that power cuts may leave. Returns the document, the text and the
/// page.
#[pyfunction]
#[pyo3(signature = (workload, check, asked, *, bytes, out))]
pub fn torture(
    py: Python<'_>,
    workload: &Bound<'_, PyAny>,
    check: &Bound<'_, PyAny>,
    asked: Asked,
    bytes: u64,
    out: Option<PathBuf>,
) -> PyResult<(String, String, String)> {
    let value = |problem: String| PyValueError::new_err(problem);
    let torture = asked.on_a_disk(bytes).map_err(value)?;
    made(out.as_deref())?;
    let recorder = torture.recorder();
    let bytes = serve::Target::bytes(&recorder);
    let disk = Bound::new(py, Disk::new(What::Recorded(recorder), bytes))?;
    workload.call1((&disk,))?;
    let What::Recorded(recorder) = disk.get().end() else { return Err(over()) };
    let recording = recorder.finish().0;
    let before = Arc::new(recording.before.clone());
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
    told(&tried.map_err(|error| value(error.to_string()))?, out.as_deref())
}
