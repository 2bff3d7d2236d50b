//! The format of snapshots: sections, their order and their widths. Files of snapshots name the build that wrote them,
//! and no other one reads them; what is held here is that a change of the code for saving and loading changes nothing.

use crate::support::go;
use nand::CountedFlash;
use simulator::run::Loop;
use simulator::{BlockDevice, Completions, Config, Drive, DrivePlan, DriveState, Progress, Setting};
use units::{HostOp, Request};

/// Stacks that have the sections between them, settings, and the FNV-1a hash of the snapshot.
const SNAPSHOTS: [(&str, &[&str], u64); 25] = [
    ("bast", &[], 0x1cc1_365e_a1c4_6686),
    ("block", &[], 0x28f4_deb9_5253_5470),
    ("block-lru", &[], 0x9d6f_6e7d_7cf5_975a),
    ("block-only", &[], 0xeb96_ccc1_7363_ecfc),
    ("cbm", &[], 0x2124_094b_29c3_49ec),
    ("cdftl", &[], 0xd10a_52fe_afa2_8a6b),
    ("cflru", &[], 0xf1da_cb4a_7934_f467),
    ("dftl", &[], 0xb7f6_6397_36fe_fa04),
    ("fab", &[], 0x8202_259e_7a40_6f8b),
    ("fast", &[], 0xe4cf_431d_8b0d_9a7e),
    ("fra", &[], 0xc8b1_23cb_7eca_2ead),
    ("hard-shrd", &[], 0x1617_2fb6_5723_2852),
    ("lb-clock", &[], 0xb214_e087_3bcf_5bdf),
    ("leaftl", &[], 0xc771_5a21_80a8_af75),
    ("page", &[], 0x76ba_a12a_d2e7_c1e5),
    ("page-only", &[], 0x27e0_3e65_fdc2_92e5),
    ("raid5-ppc", &["stripe.cache.entries=64"], 0x508b_4b6c_dd28_513b),
    ("raid-elastic", &[], 0x4e6d_5e31_b829_6a14),
    ("raid6-ppc", &["stripe.cache.entries=64"], 0xd416_8b3c_055c_cfb3),
    (
        "striping-coded",
        &["coded.size=8MiB", "coded.code_zones=2", "coded.offline_first=at-start"],
        0x40bb_b912_70fc_aeeb,
    ),
    ("tpftl", &[], 0x36f3_12f9_8f48_4105),
    ("tpm", &[], 0xdea4_88e2_900c_350c),
    ("two-level", &[], 0xdea6_b300_e3ab_3d76),
    ("two-level", &["buffer.identify=hash-counters"], 0x25cc_2dce_0539_edc4),
    ("two-level", &["buffer.identify=two-lists"], 0x7fe9_6bb9_b268_2b09),
];

fn plan(stack: &str, settings: &[&str]) -> DrivePlan {
    let small = ["drive.capacity=64MiB", "drive.over_provisioning=50%", "flash.pages_per_block=16"];
    let settings = small.iter().chain(settings).map(|text| Setting::from_argument(text).unwrap()).collect::<Vec<_>>();
    DrivePlan::new(Config::load(stack, &settings).unwrap()).unwrap()
}

/// A drive after writes of three sizes, reads and trims, with nothing under way.
fn used(plan: &DrivePlan) -> Drive<CountedFlash> {
    let mut drive = plan.assemble(CountedFlash::new(plan.fresh_state()));
    for (seed, workload, bytes) in [(1, "sequential-write", 1 << 16), (2, "hot-cold", 1 << 12), (3, "mixed", 1 << 14)] {
        go(&mut drive, workload, 1500, Loop::Closed { depth: 4 }, |parameters| {
            (parameters.seed, parameters.request_bytes) = (seed, Some(bytes));
        });
    }
    let first_sector = drive.sectors() / 4;
    for (op, first_sector, sectors) in [(HostOp::Trim, first_sector, 256), (HostOp::Flush, 0, 0)] {
        drive.submit(0, &Request { arrival: 0, first_sector, sectors, op, fua: false });
        while drive.advance(&mut Completions::default()) != Progress::Idle {}
    }
    drive
}

#[test]
fn snapshots_are_byte_for_byte_what_they_were() {
    let mut wrong = Vec::new();
    for (stack, settings, expected) in SNAPSHOTS {
        let plan = plan(stack, settings);
        let state = DriveState::of(&mut used(&plan));
        let saved = state.to_bytes();
        let mut again = state.resume(&plan, plan.fresh_state(), CountedFlash::new).unwrap();
        let taken = DriveState::taken_from(&mut again);
        assert!(taken.to_bytes() == saved, "{stack} does not come back as it was saved");
        let mut moved = taken.into_drive(&plan, plan.fresh_state(), CountedFlash::new).unwrap();
        assert!(DriveState::of(&mut moved).to_bytes() == saved, "{stack} does not come back as it was moved");
        let hash = saved
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
        if hash != expected {
            wrong.push(format!("(\"{stack}\", &{settings:?}, {hash:#018x}),"));
        }
    }
    assert!(wrong.is_empty(), "other snapshots than they were:\n{}", wrong.join("\n"));
}
