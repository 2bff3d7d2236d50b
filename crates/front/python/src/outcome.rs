//! The measurements of a run, handed over piece by piece as they are asked for.

use crate::columns::given;
use crate::errors::SimulationError;
use metrics::{Histogram, LatencyRecorder, OpTotals, RunResult};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A result.
#[pyclass(frozen, module = "nandarium._nandarium")]
pub struct Outcome {
    result: RunResult,
    /// What repetitions tell, as in `result.json`.
    repeated: Option<Value>,
    document: OnceLock<Value>,
}

impl Outcome {
    pub fn new(result: RunResult) -> Self {
        Self::repeated(result, None)
    }

    /// A result with the findings of repetitions.
    pub fn repeated(result: RunResult, repeated: Option<Value>) -> Self {
        Self { result, repeated, document: OnceLock::new() }
    }

    fn document(&self) -> &Value {
        self.document.get_or_init(|| {
            let mut document = self.result.to_json();
            if let Some(repeated) = &self.repeated {
                document["repeated"] = repeated.clone();
            }
            document
        })
    }
}

/// A name and a column of its numbers.
type Named<'py> = (String, Bound<'py, PyBytes>);

#[pymethods]
impl Outcome {
    /// What `kept` gave, of the same build.
    #[staticmethod]
    fn restored(py: Python<'_>, kept: &[u8]) -> PyResult<Self> {
        let result = py.detach(|| serde_json::from_slice(kept));
        result.map(|(result, repeated)| Self::repeated(result, repeated)).map_err(|error| {
            SimulationError::new_err(format!(
                "this is not a result of this build of nandarium ({error}); run it again here"
            ))
        })
    }

    /// All of it as bytes, for another process.
    fn kept<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let kept = py.detach(|| serde_json::to_vec(&(&self.result, &self.repeated)));
        kept.map(|kept| PyBytes::new(py, &kept)).map_err(|error| SimulationError::new_err(error.to_string()))
    }

    /// The hash, as everywhere: 16 hexadecimal digits.
    #[getter]
    fn hash(&self) -> String {
        format!("{:016x}", self.result.hash)
    }

    #[getter]
    fn stack(&self) -> &str {
        &self.result.stack
    }

    #[getter]
    fn workload(&self) -> &str {
        &self.result.workload
    }

    #[getter]
    fn status(&self) -> &'static str {
        self.result.status.name()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.result.seed
    }

    #[getter]
    fn requests(&self) -> u64 {
        self.result.requests()
    }

    #[getter]
    fn wall_s(&self) -> f64 {
        self.result.wall_s
    }

    #[getter]
    fn sim_ns(&self) -> u64 {
        self.result.sim_ns
    }

    #[getter]
    fn iops(&self) -> Option<f64> {
        self.result.iops()
    }

    #[getter]
    fn waf(&self) -> Option<f64> {
        self.result.waf()
    }

    #[getter]
    fn waf_pages(&self) -> Option<f64> {
        self.result.waf_pages()
    }

    /// `result.json`, character for character.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| cli::pretty(self.document()))
    }

    /// The table `nandarium run` prints.
    fn text(&self) -> String {
        cli::text(std::slice::from_ref(&self.result), &[])
    }

    /// Interval in nanoseconds, and columns of `float64`.
    fn series<'py>(&self, py: Python<'py>) -> (u64, Vec<Named<'py>>) {
        let columns = self.result.series_columns();
        let column = |values: Vec<Option<f64>>| given(py, values.into_iter().map(|value| value.unwrap_or(f64::NAN)));
        (self.result.series.0, columns.into_iter().map(|(name, values)| (name, column(values))).collect())
    }

    /// Of each operation the upper ends of its latency buckets, ns, and the requests in them, both `uint64`.
    fn histograms<'py>(&self, py: Python<'py>) -> Vec<(&'static str, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let of = |(name, _, recorder): (&'static str, &OpTotals, &LatencyRecorder)| {
            let histogram = recorder.histogram();
            let (ends, counts): (Vec<u64>, Vec<u64>) = histogram
                .filled()
                .map(|(bucket, count)| (Histogram::upper(bucket).min(histogram.max()), count))
                .unzip();
            (name, given(py, ends), given(py, counts))
        };
        self.result.operations().map(of).collect()
    }

    /// Erases (`int64`, -1: bad) and valid pages (`uint16`) of each block, pages of a block, blocks of a die.
    fn blocks<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>, u32, u32) {
        let RunResult { erases, valid, shape, .. } = &self.result;
        let erases = given(py, erases.iter().map(|erases| erases.map_or(-1, i64::from)));
        (erases, given(py, valid.iter().copied()), shape.0, shape.1)
    }

    /// Reads and writes (`uint32`) by row of time and bin of addresses; bins, requests of a row, sectors of a bin.
    fn addresses<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>, usize, u64, u64) {
        let map = &self.result.addresses;
        (given(py, map.counts(0)), given(py, map.counts(1)), map.bins, map.requests_per_row, map.sectors_per_bin)
    }

    /// Writes `result.json`, `series.csv` and `report.html`, as `--out` does.
    fn write_folder(&self, folder: PathBuf) -> PyResult<()> {
        cli::write_folder(&folder, self.document()).map_err(SimulationError::new_err)
    }
}

/// Results side by side, as `nandarium compare` prints them.
#[pyfunction]
pub fn comparison_text(outcomes: Vec<PyRef<'_, Outcome>>) -> String {
    let results: Vec<RunResult> = outcomes.iter().map(|outcome| outcome.result.clone()).collect();
    let repeated = outcomes.iter().filter(|outcome| outcome.repeated.is_some());
    let documents: Vec<Value> = repeated.map(|outcome| outcome.document().clone()).collect();
    cli::text(&results, &documents)
}

/// Writes one report page of some results.
#[pyfunction]
pub fn write_page(path: PathBuf, outcomes: Vec<PyRef<'_, Outcome>>) -> PyResult<()> {
    let documents: Vec<Value> = outcomes.iter().map(|outcome| outcome.document().clone()).collect();
    cli::write_page(&path, &documents).map_err(SimulationError::new_err)
}
