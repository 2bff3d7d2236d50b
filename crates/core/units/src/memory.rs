//! Hints about memory: to the processor, which table entry will be wanted soon; to the system, which
//! tables are large and read at random.
#![allow(unsafe_code)] // both hints take raw pointers, and neither reads or writes through them

/// Asks the processor to bring `table[index]` into its cache; an index beyond the end is ignored.
#[inline(always)]
pub fn prefetch<T>(table: &[T], index: usize) {
    if let Some(entry) = table.get(index) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch has no architectural effect, whatever the address.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = entry;
    }
}

/// Tables from this size on ask for huge pages.
#[cfg(target_os = "linux")]
const HUGE_FROM: usize = 4 << 20;

/// A table of `length` times `value` for random access: on Linux a large one asks for huge pages,
/// because on a map larger than the processor's page table cache every access would otherwise walk
/// the page tables (measured: a quarter of the time of counted overwrites at 16 GiB).
pub fn table<T: Copy>(length: usize, value: T) -> Vec<T> {
    let mut table: Vec<T> = Vec::with_capacity(length);
    ask_for_huge_pages(&table, length);
    table.resize(length, value);
    table
}

/// As [`table`] of zeros. A large one takes memory only where it was written.
pub fn zeros(length: usize) -> Vec<u32> {
    let table = vec![0; length];
    ask_for_huge_pages(&table, length);
    table
}

/// Tells the system that the `length` entries of a table, if it is large, are read at random.
fn ask_for_huge_pages<T>(table: &Vec<T>, length: usize) {
    debug_assert!(length <= table.capacity(), "the advice is about the memory of the table alone");
    #[cfg(target_os = "linux")]
    if length * size_of::<T>() >= HUGE_FROM {
        let start = (table.as_ptr() as usize).next_multiple_of(4096);
        let end = (table.as_ptr() as usize + length * size_of::<T>()) / 4096 * 4096;
        // SAFETY: the range lies within the allocation of the table; the advice changes no contents, and
        // a refusal (a system without huge pages) leaves everything as it was.
        unsafe {
            libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
        }
    }
}
