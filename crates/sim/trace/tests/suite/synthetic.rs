//! Every synthetic workload: repeatable, inside the drive, and strict about its parameters.

use proptest::prelude::*;
use trace::synthetic::{
    Parameter, SyntheticError, USER_SECTORS_MAX, WORKLOADS, WorkloadEntry, WorkloadParameters, build,
};
use units::{HostOp, Request};

fn requests(name: &str, parameters: &WorkloadParameters, limit: usize) -> Vec<Request> {
    let mut workload = build(name, parameters).unwrap_or_else(|error| panic!("{error}"));
    let mut all = Vec::new();
    loop {
        let before = all.len();
        workload.next_batch(&mut all, limit).expect("a generator cannot fail");
        if all.len() == before {
            return all;
        }
    }
}

/// FNV-1a over all fields.
fn hash(requests: &[Request]) -> u64 {
    let fields = |request: &Request| {
        [request.arrival, request.first_sector, u64::from(request.sectors), request.op.index() as u64]
    };
    requests
        .iter()
        .flat_map(fields)
        .flat_map(u64::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[test]
fn the_first_ten_thousand_requests_never_change() {
    // A change here moves every result that names the workload: say so in the change log.
    let pinned: [(&str, u64, u64); 16] = [
        ("desktop-ntfs", 0x195f_ff13_43da_76b3, 0x7282_6ed3_d2b6_de7a),
        ("financial2", 0x3f4a_6f2e_4abb_0c1f, 0xa993_d954_0944_5f8b),
        ("hot-cold", 0x301b_2892_8c8b_7149, 0x963d_c9c8_d111_0bf8),
        ("iozone", 0xfbdf_e6de_f200_807a, 0x2757_bd59_bad5_459b),
        ("jesd219", 0x6c52_e17f_b33b_06b8, 0xeb1c_dac8_3c33_a220),
        ("mixed", 0x0611_9cde_aabf_9ef6, 0x405e_4a61_91d8_9e4b),
        ("oltp", 0xb7ef_a3ac_e45e_e0ad, 0xefa2_071d_31ca_0982),
        ("postmark", 0x2b0f_1f3c_6f54_b52e, 0xaa0a_2dbe_0a91_308e),
        ("search", 0xf8c2_15ad_83af_cf50, 0x11d2_409e_d2ea_293b),
        ("sequential-read", 0x718a_f528_164a_dd05, 0x718a_f528_164a_dd05),
        ("sequential-write", 0xdcd5_b6c9_d0a9_cf05, 0xdcd5_b6c9_d0a9_cf05),
        ("system-disk", 0x4d21_f749_557a_5710, 0xb6d0_3bd3_e0e8_fb74),
        ("umpc", 0xf583_5c5d_bdfa_09f3, 0xef62_af71_b180_029f),
        ("uniform-read", 0x10ae_c5bc_e166_2f0f, 0xa1cf_0786_9605_0220),
        ("uniform-write", 0xada3_0745_7720_2f2d, 0x08a0_bc48_be17_133e),
        ("zipf", 0x761f_4269_9fbb_9f9b, 0x182f_fbc6_45e3_d7a4),
    ];
    let measured = pinned.map(|(name, ..)| {
        let parameters = |seed| WorkloadParameters { seed, ..WorkloadParameters::new(20 << 21, 10_000) };
        (name, hash(&requests(name, &parameters(1), 10_000)), hash(&requests(name, &parameters(7), 10_000)))
    });
    assert_eq!(measured, pinned, "measured {measured:#x?}");
}

#[test]
fn the_table_is_sorted_and_every_line_is_pinned_above() {
    assert!(WORKLOADS.is_sorted_by(|a, b| a.name < b.name));
    assert_eq!(WORKLOADS.len(), 16);
}

#[test]
fn the_size_of_batches_does_not_matter() {
    for entry in &WORKLOADS {
        let parameters = WorkloadParameters { flush_every: 10, ..WorkloadParameters::new(1 << 20, 5_000) };
        let (small, large) = (requests(entry.name, &parameters, 7), requests(entry.name, &parameters, 4_096));
        assert!(small == large, "{}", entry.name);
    }
}

#[test]
fn accesses_do_not_depend_on_the_arrival_rate() {
    for entry in &WORKLOADS {
        let plain = WorkloadParameters::new(1 << 20, 2_000);
        let timed = WorkloadParameters { mean_interarrival_ns: Some(1_000_000), ..plain.clone() };
        let (plain, timed) = (requests(entry.name, &plain, 512), requests(entry.name, &timed, 512));
        let accesses = |all: &[Request]| all.iter().map(|r| (r.first_sector, r.sectors, r.op)).collect::<Vec<_>>();
        assert!(accesses(&plain) == accesses(&timed), "{}", entry.name);
        let mean_ms = timed.last().unwrap().arrival as f64 / 2e9;
        assert!((0.5..2.0).contains(&mean_ms), "{}: mean gap {mean_ms} ms", entry.name);
    }
}

/// Values of the optional parameters as shares of their ranges; `None` leaves one out.
type Options = [Option<f64>; 6];

fn options() -> impl Strategy<Value = Options> {
    prop::array::uniform6(prop::option::of(1e-9..0.999_f64))
}

/// Parameters that `entry` takes, on a drive of about 2^`bits` sectors.
fn parameters_for(entry: &WorkloadEntry, bits: u32, common: (u64, f64, u64), options: Options) -> WorkloadParameters {
    let (seed, footprint_share, flush_every) = common;
    // An odd capacity: whole slots never fill it.
    let user_sectors = entry.minimum_sectors.max(1 << bits) | 1;
    let mut parameters = WorkloadParameters { seed, flush_every, ..WorkloadParameters::new(user_sectors, 300) };
    if user_sectors as f64 * footprint_share > entry.minimum_sectors as f64 + 1.0 {
        parameters.footprint_share = footprint_share;
    }
    let given = |parameter: Parameter, scale: f64| {
        let value = options[parameter as usize].filter(|_| entry.takes.contains(&parameter));
        value.map(|value| value * scale)
    };
    let most_sectors = parameters.footprint_sectors().min(1 << 21) as f64;
    parameters.request_bytes =
        given(Parameter::RequestBytes, most_sectors).map(|sectors| (sectors as u64).max(1) * 512);
    parameters.read_share = given(Parameter::ReadShare, 1.0);
    parameters.trim_share = given(Parameter::TrimShare, 1.0);
    parameters.zipf_exponent = given(Parameter::ZipfExponent, 10.0);
    parameters.hot_space = given(Parameter::HotSpace, 1.0);
    parameters.hot_traffic = given(Parameter::HotTraffic, 1.0);
    parameters
}

fn assert_well_formed(request: &Request, name: &str, parameters: &WorkloadParameters) {
    if request.op == HostOp::Flush {
        assert_eq!((request.first_sector, request.sectors), (0, 0), "{name}: {parameters:?}");
    } else {
        assert!(request.sectors > 0, "{name}: {parameters:?}");
        let end = request.end_sector();
        assert!(end <= parameters.footprint_sectors(), "{name}: {request:?} leaves {parameters:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn no_request_leaves_the_drive_whatever_the_parameters(
        bits in 0..USER_SECTORS_MAX.ilog2(),
        common in (any::<u64>(), 1e-6..1.0_f64, 0..5_u64),
        mean_interarrival_ns in prop::option::of(0..1_000_000_u64),
        options in options(),
    ) {
        for entry in &WORKLOADS {
            let parameters = WorkloadParameters {
                mean_interarrival_ns,
                ..parameters_for(entry, bits, common, options)
            };
            let all = requests(entry.name, &parameters, 64);
            prop_assert_eq!(all.len(), 300, "{}", entry.name);
            prop_assert!(all.is_sorted_by_key(|request| request.arrival), "{}", entry.name);
            for request in &all {
                assert_well_formed(request, entry.name, &parameters);
            }
        }
    }
}

#[test]
fn the_smallest_drives_work_for_long() {
    for entry in &WORKLOADS {
        for user_sectors in entry.minimum_sectors..entry.minimum_sectors + 20 {
            let parameters = WorkloadParameters::new(user_sectors, 5_000);
            for request in requests(entry.name, &parameters, 1_000) {
                assert_well_formed(&request, entry.name, &parameters);
            }
        }
    }
}

fn refusal(name: &str, parameters: &WorkloadParameters) -> SyntheticError {
    build(name, parameters).err().unwrap_or_else(|| panic!("{name} accepts {parameters:?}"))
}

#[test]
fn wrong_values_are_refused_by_name_value_and_limit() {
    let good = WorkloadParameters::new(1 << 20, 10);
    let bad = [
        WorkloadParameters { user_sectors: 0, ..good.clone() },
        WorkloadParameters { user_sectors: USER_SECTORS_MAX + 1, ..good.clone() },
        WorkloadParameters { footprint_share: 0.0, ..good.clone() },
        WorkloadParameters { footprint_share: f64::NAN, ..good.clone() },
        WorkloadParameters { request_bytes: Some(0), ..good.clone() },
        WorkloadParameters { request_bytes: Some(1_000), ..good.clone() },
        WorkloadParameters { request_bytes: Some(1 << 31), ..good.clone() },
        WorkloadParameters { read_share: Some(1.5), ..good.clone() },
        WorkloadParameters { trim_share: Some(-0.1), ..good.clone() },
        WorkloadParameters { hot_space: Some(1.0), ..good.clone() },
        WorkloadParameters { hot_traffic: Some(f64::INFINITY), ..good.clone() },
    ];
    for parameters in &bad {
        let error = refusal("hot-cold", parameters);
        assert!(matches!(error, SyntheticError::OutOfRange { .. }), "{error}");
    }
    for request_bytes in [1_000, 64 << 10] {
        let parameters = WorkloadParameters { request_bytes: Some(request_bytes), ..good.clone() };
        let error = refusal("system-disk", &parameters).to_string();
        assert!(error.contains("4096 to 57344 bytes"), "{error}");
    }
    assert_eq!(
        refusal("zipf", &WorkloadParameters { zipf_exponent: Some(-1.0), ..good }).to_string(),
        "workload `zipf`: zipf_exponent = -1 is outside 0 to 10; choose a value inside the range"
    );
}

#[test]
fn a_parameter_without_effect_is_refused() {
    let parameters = WorkloadParameters { hot_space: Some(0.2), ..WorkloadParameters::new(1 << 20, 10) };
    assert_eq!(
        refusal("mixed", &parameters).to_string(),
        "workload `mixed` does not take hot_space (given 0.2); leave it out, \
         it takes request_bytes, read_share, trim_share"
    );
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let error = refusal("oltq", &WorkloadParameters::new(1 << 20, 10)).to_string();
    assert!(error.contains("`oltq`") && error.contains("oltp, postmark"), "{error}");
}

#[test]
fn a_drive_too_small_for_the_workload_is_refused() {
    let parameters = WorkloadParameters::new(1 << 13, 10);
    assert!(matches!(refusal("desktop-ntfs", &parameters), SyntheticError::OutOfRange { .. }));
}
