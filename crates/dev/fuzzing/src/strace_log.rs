//! Any bytes as a log of system calls, beside a record of a drive: no panic, calls end after they begin, and each sync
//! is counted once.

use torture::fsyncs::Fsyncs;

const RECORD: &str = "time_ns,device,op,offset_bytes,length_bytes,fua\n# 0 clock 100.000000000\n0,0,W,0,4096,0\n\
    100000,0,F,0,0,0\n# 380000 done F\n# 900000 end\n";

/// # Panics
///
/// If the input breaks a law of the target.
pub fn strace_log(bytes: &[u8]) {
    for folder in [None, Some("/m")] {
        let Ok(found) = Fsyncs::join(RECORD.as_bytes(), bytes, folder) else { continue };
        let counts = &found.counts;
        assert!(found.unflushed.iter().all(|call| call.span.0 <= call.span.1), "a call ends before it begins");
        assert!(counts.odd_lines <= counts.lines, "more odd lines than lines");
        let told = found.unflushed.len() as u64;
        assert_eq!(counts.joined, counts.flushed + counts.needless + told, "a sync is counted twice or not at all");
        assert!(folder.is_none() || found.names.iter().all(|name| name.path.starts_with("/m")), "a file elsewhere");
    }
}
