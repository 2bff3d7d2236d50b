#![allow(
    unsafe_code,
    reason = "the Arrow C data interface is structs of pointers; it bought tables for every data frame without a \
        dependency"
)]
//! Tables for whoever speaks Arrow: its C data interface, in capsules.
//!
//! Faithful to: the C data and C stream interfaces and the `PyCapsule` protocol over them: a consumer moves a struct
//! out by taking a copy and clearing `release`; a capsule nobody consumed releases what it holds.
//! Protects: columns stay where they are until the last array over them has been released; children are freed by
//! their parent alone.

use crate::columns::Column;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// `ArrowSchema` of the C data interface.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    children_count: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private: *mut c_void,
}

/// `ArrowArray` of the C data interface.
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    buffers_count: i64,
    children_count: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private: *mut c_void,
}

/// `ArrowArrayStream` of the C stream interface.
#[repr(C)]
struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private: *mut c_void,
}

// SAFETY: each struct owns what it points to, and columns are never changed once they are in a batch.
unsafe impl Send for Schema {}
// SAFETY: as above.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Send for Stream {}

macro_rules! released_when_dropped {
    ($($kind:ty),*) => {
        $(impl Drop for $kind {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: a struct that still has its release function owns what it points to.
                    unsafe { release(self) };
                }
            }
        })*
    };
}

released_when_dropped!(Schema, Array, Stream);

/// Columns of one length, with names.
struct Batch {
    names: Vec<CString>,
    columns: Vec<Column>,
    rows: usize,
}

impl Batch {
    fn of(names: Vec<String>, columns: &[Bound<'_, PyAny>]) -> PyResult<Arc<Self>> {
        let names: Result<Vec<CString>, _> = names.into_iter().map(CString::new).collect();
        let names = names.map_err(|_| PyValueError::new_err("a column's name has a zero byte in it"))?;
        let columns: Vec<Column> = columns.iter().map(Column::of).collect::<PyResult<_>>()?;
        let rows = columns.first().map_or(0, Column::len);
        if names.len() != columns.len() || columns.iter().any(|column| column.len() != rows) {
            return Err(PyValueError::new_err("columns of a table have one name and one length"));
        }
        Ok(Arc::new(Self { names, columns, rows }))
    }
}

fn format_of(column: &Column) -> &'static CStr {
    match column {
        Column::Real(_) => c"g",
        Column::Signed(_) => c"l",
        Column::Whole(_) => c"L",
        Column::Half(_) => c"I",
        Column::Short(_) => c"S",
        Column::Byte(_) => c"C",
        Column::Text(..) => c"u",
    }
}

/// The values of a column behind the bitmap of missing ones, which no column has.
fn buffers_of(column: &Column) -> Vec<*const c_void> {
    match column {
        Column::Real(values) => vec![null(), values.as_ptr().cast()],
        Column::Signed(values) => vec![null(), values.as_ptr().cast()],
        Column::Whole(values) => vec![null(), values.as_ptr().cast()],
        Column::Half(values) => vec![null(), values.as_ptr().cast()],
        Column::Short(values) => vec![null(), values.as_ptr().cast()],
        Column::Byte(values) => vec![null(), values.as_ptr().cast()],
        Column::Text(ends, texts) => vec![null(), ends.as_ptr().cast(), texts.as_ptr().cast()],
    }
}

/// What a schema owns.
struct SchemaParts {
    name: CString,
    children: Vec<*mut Schema>,
}

fn schema(name: CString, format: &'static CStr, children: Vec<Schema>) -> Schema {
    let children: Vec<*mut Schema> = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let mut parts = Box::new(SchemaParts { name, children });
    Schema {
        format: format.as_ptr(),
        name: parts.name.as_ptr(),
        metadata: null(),
        flags: 0,
        children_count: parts.children.len() as i64,
        children: parts.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_schema),
        private: Box::into_raw(parts).cast(),
    }
}

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: called once, on a struct that `schema` made: it owns its parts, and they own the children.
    unsafe {
        let parts = Box::from_raw((*schema).private.cast::<SchemaParts>());
        parts.children.iter().for_each(|child| drop(Box::from_raw(*child)));
        (*schema).release = None;
    }
}

fn schema_of(batch: &Batch) -> Schema {
    let columns = batch.names.iter().zip(&batch.columns);
    schema(
        CString::default(),
        c"+s",
        columns.map(|(name, column)| schema(name.clone(), format_of(column), Vec::new())).collect(),
    )
}

/// What an array owns.
struct ArrayParts {
    buffers: Vec<*const c_void>,
    children: Vec<*mut Array>,
    /// Where the buffers are.
    _batch: Arc<Batch>,
}

fn array(batch: &Arc<Batch>, buffers: Vec<*const c_void>, children: Vec<Array>) -> Array {
    let children: Vec<*mut Array> = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let mut parts = Box::new(ArrayParts { buffers, children, _batch: Arc::clone(batch) });
    Array {
        length: batch.rows as i64,
        null_count: 0,
        offset: 0,
        buffers_count: parts.buffers.len() as i64,
        children_count: parts.children.len() as i64,
        buffers: parts.buffers.as_mut_ptr(),
        children: parts.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_array),
        private: Box::into_raw(parts).cast(),
    }
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: called once, on a struct that `array` made: it owns its parts, and they own the children.
    unsafe {
        let parts = Box::from_raw((*array).private.cast::<ArrayParts>());
        parts.children.iter().for_each(|child| drop(Box::from_raw(*child)));
        (*array).release = None;
    }
}

fn array_of(batch: &Arc<Batch>) -> Array {
    let children = batch.columns.iter().map(|column| array(batch, buffers_of(column), Vec::new()));
    array(batch, vec![null()], children.collect())
}

/// What a stream owns.
struct StreamParts {
    batch: Arc<Batch>,
    /// The only batch has been handed over.
    is_over: bool,
}

unsafe extern "C" fn stream_schema(stream: *mut Stream, out: *mut Schema) -> c_int {
    // SAFETY: the stream is one of ours and not released; `out` is room for a struct, which holds nothing yet.
    unsafe {
        let parts = &*(*stream).private.cast::<StreamParts>();
        out.write(schema_of(&parts.batch));
    }
    0
}

unsafe extern "C" fn stream_next(stream: *mut Stream, out: *mut Array) -> c_int {
    // SAFETY: as for the schema. After the last batch comes a struct that is released already.
    unsafe {
        let parts = &mut *(*stream).private.cast::<StreamParts>();
        let mut next = array_of(&parts.batch);
        if std::mem::replace(&mut parts.is_over, true) {
            release_array(&raw mut next);
        }
        out.write(next);
    }
    0
}

unsafe extern "C" fn stream_error(_: *mut Stream) -> *const c_char {
    null()
}

unsafe extern "C" fn release_stream(stream: *mut Stream) {
    // SAFETY: called once, on a struct that `arrow_stream` made.
    unsafe {
        drop(Box::from_raw((*stream).private.cast::<StreamParts>()));
        (*stream).release = None;
    }
}

/// A table as a stream of one batch.
#[pyfunction]
pub fn arrow_stream<'py>(
    py: Python<'py>,
    names: Vec<String>,
    columns: Vec<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let parts = StreamParts { batch: Batch::of(names, &columns)?, is_over: false };
    let stream = Stream {
        get_schema: Some(stream_schema),
        get_next: Some(stream_next),
        get_last_error: Some(stream_error),
        release: Some(release_stream),
        private: Box::into_raw(Box::new(parts)).cast(),
    };
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// A table as one struct array, with its schema.
#[pyfunction]
pub fn arrow_array<'py>(
    py: Python<'py>,
    names: Vec<String>,
    columns: Vec<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let batch = Batch::of(names, &columns)?;
    let schema = PyCapsule::new_with_value(py, schema_of(&batch), c"arrow_schema")?;
    Ok((schema, PyCapsule::new_with_value(py, array_of(&batch), c"arrow_array")?))
}

/// The schema of a table alone.
#[pyfunction]
pub fn arrow_schema<'py>(
    py: Python<'py>,
    names: Vec<String>,
    columns: Vec<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, schema_of(Batch::of(names, &columns)?.as_ref()), c"arrow_schema")
}
