//! Power loss under functions.

use ::torture::{CutDisk, Guarantee, Lie, Recorder, Torture};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// What is asked for, by the names that users give.
fn of_names(
    bytes: u64,
    stack: Option<&str>,
    settings: &[String],
    guarantee: &str,
    atomic: u64,
    lies: &[String],
    faults: &[String],
) -> Result<Torture, String> {
    if !atomic.is_power_of_two() || atomic < SECTOR {
        return Err(format!("atomic is {atomic}: it is a power of two from {SECTOR} on"));
    }
    if stack.is_none() && (bytes == 0 || !bytes.is_multiple_of(SECTOR)) {
        return Err(format!("bytes is {bytes}: a disk has whole sectors of {SECTOR} bytes"));
    }
    if bytes > ::torture::MOST_BYTES {
        return Err(format!(
            "bytes is {bytes}, and all of it is kept in memory: {} are the most",
            ::torture::MOST_BYTES
        ));
    }
    let [settings, faults] = [settings, faults].map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
    let names = |all: &[&str]| all.join(", ");
    let lies: Option<Vec<Lie>> = lies.iter().map(|name| Lie::named(name)).collect();
    let lies = lies.ok_or_else(|| format!("lies are {}", names(&Lie::TABLE.map(|(name, _, _)| name))))?;
    let known = names(&Guarantee::TABLE.map(|(name, _, _)| name));
    let guarantee = Guarantee::named(guarantee).ok_or_else(|| format!("a guarantee is one of {known}"))?;
    let torture = match stack {
        None => {
            ::torture::check_memory(bytes)?;
            Torture::new(bytes)
        }
        Some(stack) => Torture::within(stack, &settings).map_err(|error| error.to_string())?,
    };
    torture.guarantee(guarantee).atomic(atomic).lies(&lies).faults(&faults)
}

/// Runs a workload once and a check on each state that power cuts may leave. Returns the document, the text and the
/// page.
#[pyfunction]
#[pyo3(signature = (workload, check, *, bytes, stack, settings, guarantee, atomic, lies, faults, states, seed, replay))]
#[expect(clippy::too_many_arguments, reason = "all of them are named by whoever calls")]
pub fn torture(
    py: Python<'_>,
    workload: &Bound<'_, PyAny>,
    check: &Bound<'_, PyAny>,
    bytes: u64,
    stack: Option<&str>,
    settings: Vec<String>,
    guarantee: &str,
    atomic: u64,
    lies: Vec<String>,
    faults: Vec<String>,
    states: u64,
    seed: u64,
    replay: Option<u64>,
) -> PyResult<(String, String, String)> {
    let value = |problem: String| PyValueError::new_err(problem);
    let torture = of_names(bytes, stack, &settings, guarantee, atomic, &lies, &faults).map_err(value)?;
    let torture = torture.states(states).seed(seed);
    let torture = replay.map_or_else(|| torture.clone(), |number| torture.clone().replay(number));
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
    let tried = tried.map_err(|error| value(error.to_string()))?;
    Ok(tried.report(|report| (report.to_json().to_string(), report.to_text(false), report.to_page())))
}
