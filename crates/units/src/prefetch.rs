//! One hint to the processor: this table entry will be wanted soon.
#![allow(unsafe_code)] // the intrinsic takes a raw pointer; it never reads through it

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
