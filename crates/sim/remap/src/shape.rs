//! Where a driver puts things on its device, as far as others have to know.

use crate::LayoutError;

/// The layout of a driver on a device, as others need it. Sectors have 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Sectors that the host sees.
    pub sectors: u64,
    /// Sectors of the device.
    pub device_sectors: u64,
    /// Sectors of a page, the unit of the driver's map.
    pub page_sectors: u32,
    /// Sectors that writes of the driver should be aligned to.
    pub superpage_sectors: u32,
    /// Sectors of a buffer that holds what one command writes at most.
    pub buffer_sectors: u32,
    /// Sectors at the beginning of the device that a format may find anything in. Behind them a fresh driver reads what
    /// the device holds.
    pub own_sectors: u64,
}

/// Whether the pages of a device can be numbered.
pub(crate) fn check_count(device_sectors: u64, page_sectors: u32) -> Result<(), LayoutError> {
    let most = u64::from(u32::MAX - 1) * u64::from(page_sectors);
    if device_sectors > most { Err(LayoutError::Large { sectors: device_sectors, most }) } else { Ok(()) }
}

/// Whether pages and superpages may have these sizes, in sectors.
pub(crate) fn check_sizes(page_sectors: u32, superpage_sectors: u32) -> Result<(), LayoutError> {
    if !page_sectors.is_power_of_two() || page_sectors > 128 {
        return Err(LayoutError::Page(page_sectors));
    }
    let fits = superpage_sectors.is_power_of_two() && (2..=8192).contains(&superpage_sectors);
    if fits && superpage_sectors >= page_sectors { Ok(()) } else { Err(LayoutError::Superpage(superpage_sectors)) }
}
