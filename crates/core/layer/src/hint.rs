//! Requests announced to a layer that numbers pages otherwise.

use units::{HostOp, Request};

/// Requests translated at once: as many as most runs announce together.
const MOST: usize = 4;

/// Calls `hint` with these requests, the first page of each translated by `page_of`.
pub fn translated(
    requests: &[Request],
    sectors_per_page: u64,
    page_of: impl Fn(u64) -> u32,
    hint: impl Fn(&[Request]),
) {
    for chunk in requests.chunks(MOST) {
        let mut below = [Request { arrival: 0, first_sector: 0, sectors: 0, op: HostOp::Read, fua: false }; MOST];
        for (below, request) in below.iter_mut().zip(chunk) {
            let page = page_of(request.first_sector / sectors_per_page);
            *below = Request { first_sector: u64::from(page) * sectors_per_page, ..*request };
        }
        hint(&below[..chunk.len()]);
    }
}
