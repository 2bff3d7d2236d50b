//! Columns between Rust and `NumPy`: whole ones, copied once.

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;

/// The values of an array of this type of element.
/// Errors: no array of it.
pub fn taken<T: Element>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    PyBuffer::<T>::get(array)?.to_vec(array.py())
}

/// A number that can lie in a column.
pub trait Cell: Copy {
    /// Its bytes, in the order of this machine.
    fn put(self, bytes: &mut Vec<u8>);
}

macro_rules! cells {
    ($($kind:ty),*) => {
        $(impl Cell for $kind {
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_ne_bytes());
            }
        })*
    };
}

cells!(f64, u64, i64, u32, u16);

/// A column as bytes that `NumPy` looks into without a copy, and cannot change.
pub fn given<T: Cell>(py: Python<'_>, values: impl IntoIterator<Item = T>) -> Bound<'_, PyBytes> {
    let values = values.into_iter();
    let mut bytes = Vec::with_capacity(values.size_hint().0 * size_of::<T>());
    values.for_each(|value| value.put(&mut bytes));
    PyBytes::new(py, &bytes)
}

/// A column of whole numbers as a `NumPy` array that cannot be changed.
/// Errors: there is no `NumPy`.
pub fn array<'py>(py: Python<'py>, values: &[u32]) -> PyResult<Bound<'py, PyAny>> {
    static FROM_BUFFER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static KIND: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let from_buffer = FROM_BUFFER.import(py, "numpy", "frombuffer")?;
    let kind =
        KIND.get_or_try_init(py, || Ok::<_, PyErr>(py.import("numpy")?.call_method1("dtype", ("uint32",))?.unbind()))?;
    from_buffer.call1((given(py, values.iter().copied()), kind))
}

/// Takes an array of one kind.
type Taken = fn(&Bound<'_, PyAny>) -> PyResult<Column>;

/// A column of a table, owned.
pub enum Column {
    Real(Vec<f64>),
    Signed(Vec<i64>),
    Whole(Vec<u64>),
    Half(Vec<u32>),
    Short(Vec<u16>),
    Byte(Vec<u8>),
    /// Texts: where each begins and the last ends, and all of them.
    Text(Vec<i32>, Vec<u8>),
}

impl Column {
    /// A column of a `NumPy` array, or of a list of texts.
    /// Errors: neither, or an element of another kind.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(texts) = object.extract::<Vec<String>>() {
            let (mut ends, mut all) = (vec![0], Vec::new());
            for text in texts {
                all.extend_from_slice(text.as_bytes());
                ends.push(
                    i32::try_from(all.len())
                        .map_err(|_| PyTypeError::new_err("a column of texts has more than 2 GiB"))?,
                );
            }
            return Ok(Self::Text(ends, all));
        }
        let kinds: [Taken; 6] = [
            |array| taken(array).map(Self::Real),
            |array| taken(array).map(Self::Signed),
            |array| taken(array).map(Self::Whole),
            |array| taken(array).map(Self::Half),
            |array| taken(array).map(Self::Short),
            |array| taken(array).map(Self::Byte),
        ];
        let found = kinds.iter().find_map(|kind| kind(object).ok());
        found.ok_or_else(|| {
            PyTypeError::new_err(
                "a column is not an array of float64, int64, uint64, uint32, uint16 or uint8, nor a list of texts",
            )
        })
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Real(values) => values.len(),
            Self::Signed(values) => values.len(),
            Self::Whole(values) => values.len(),
            Self::Half(values) => values.len(),
            Self::Short(values) => values.len(),
            Self::Byte(values) => values.len(),
            Self::Text(ends, _) => ends.len() - 1,
        }
    }
}
