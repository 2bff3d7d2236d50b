use super::*;

#[test]
fn units_are_understood() {
    assert_eq!(parse_size("32GiB"), Ok(32 << 30));
    assert_eq!(parse_size("0.5 KiB"), Ok(512));
    assert_eq!(parse_size("1_000 B"), Ok(1000));
    assert_eq!(parse_duration("25us"), Ok(25_000));
    assert_eq!(parse_duration("205.9us"), Ok(205_900));
    assert_eq!(parse_rate("400MB/s"), Ok(400_000_000));
    assert_eq!(parse_share("7%"), Ok(0.07));
    assert_eq!(parse_count("1_000"), Ok(1000));
}

#[test]
fn both_micro_signs_are_microseconds() {
    for text in ["25us", "25\u{b5}s", "25\u{3bc}s"] {
        assert_eq!(parse_duration(text), Ok(25_000), "{text}");
    }
}

/// Each is refused, says what was written, and what may be meant is read as that.
#[test]
fn what_may_be_meant_is_near_what_was_written() {
    type Read = fn(&str) -> Result<u64, QuantityError>;
    let (size, time, rate, count): (Read, Read, Read, Read) = (parse_size, parse_duration, parse_rate, parse_count);
    for (read, text, meant) in [
        (size, "1G", &["1GiB", "1GB"][..]),
        (size, "1gib", &["1GiB"]),
        (size, "1gb", &["1GB"]),
        (size, "512 k", &["512KiB", "512kB"]),
        (size, "4Ki", &["4KiB"]),
        (size, "8", &["8B", "8KiB", "8MiB", "8GiB", "8TiB"]),
        (size, "-8GiB", &["8GiB"]),
        (size, "1,5GiB", &["1.5GiB"]),
        (size, "GiB", &["1GiB"]),
        (size, "1e3GiB", &["1000GiB"]),
        (size, "1.5e1 MiB", &["15MiB"]),
        (size, "4.35e2GiB", &["435GiB"]),
        (size, "1e3", &["1000B", "1000KiB", "1000MiB", "1000GiB", "1000TiB"]),
        (count, "1 000", &["1000"]),
        (size, "512 bytes", &["512B"]),
        (size, "1 parsec", &[]),
        (size, "99999999999999999TiB", &[]),
        (size, "1.2.3GiB", &[]),
        (size, "", &[]),
        (time, "25", &["25ns", "25us", "25ms", "25s"]),
        (time, "25US", &["25us"]),
        (time, "5m", &["5ms", "5min"]),
        (time, "10 sec", &["10s"]),
        (time, "-5us", &["5us"]),
        (rate, "400MB", &["400MB/s"]),
        (rate, "400mb/s", &["400MB/s"]),
        (rate, "400MBps", &["400MB/s"]),
        (rate, "8Gbps", &[]),
        (rate, "8Gb/s", &[]),
        (count, "1e6", &["1000000"]),
        (count, "10k", &["10000"]),
        (count, "1.5M", &["1500000"]),
        (count, "1,000,000", &["1000000"]),
        (count, "8GiB", &["8"]),
        (count, "-3", &["3"]),
        (count, "1.5", &["2"]),
        (count, "many", &[]),
        (count, "99999999999999999999", &[]),
    ] {
        let error = read(text).expect_err(text);
        assert_eq!(error.meant(), meant, "{error}");
        assert!(error.meant().iter().all(|meant| read(meant).is_ok()), "{error}");
        let message = error.to_string();
        assert!(message.contains(&format!("`{text}`")) && message.contains("; write "), "{message}");
    }
}

#[test]
fn a_share_without_its_sign_is_offered_with_it() {
    for (text, meant) in [
        ("7", &["7%"][..]),
        ("0.07", &["7%", "0.07%"]),
        ("-7%", &["7%"]),
        ("7,5%", &["7.5%"]),
        ("7 percent", &["7%"]),
        ("seven", &[]),
    ] {
        let error = parse_share(text).expect_err(text);
        assert_eq!(error.meant(), meant, "{error}");
    }
}

#[test]
fn an_error_lists_the_units() {
    assert!(
        parse_size("1 parsec")
            .unwrap_err()
            .to_string()
            .ends_with("(units: B, KiB, MiB, GiB, TiB, PiB, kB, MB, GB, TB, PB)")
    );
    assert!(parse_duration("1 parsec").unwrap_err().to_string().contains("units: ns, us"));
    for kind in [&SIZE, &DURATION, &RATE] {
        let missing = kind
            .units
            .iter()
            .find(|(unit, _)| unit.is_ascii() && *unit != "KB" && *unit != "KB/s" && !kind.listed.contains(unit));
        assert_eq!(missing, None);
    }
}

#[test]
fn exact_sizes_are_read_as_what_they_were() {
    for (bytes, text) in [
        (0, "0B"),
        (1536, "1.5KiB"),
        (1025 << 20, "1025MiB"),
        (1000, "1000B"),
        (u64::MAX, "18446744073709551615B"),
        (3 << 40, "3TiB"),
    ] {
        assert_eq!((exact_size(bytes).as_str(), parse_size(text)), (text, Ok(bytes)));
    }
}

#[test]
fn a_size_in_the_place_of_another_is_short_and_fits() {
    for (bytes, grain, below, above) in [
        (999_999_995_904, 4096, "931GiB", "932GiB"),
        (8192, 4096, "8KiB", "8KiB"),
        (4097, 4096, "4KiB", "8KiB"),
        (10_100 << 20, 4096, "10100MiB", "10100MiB"),
        ((10_100 << 20) + 1, 4096, "10100MiB", "10101MiB"),
        (100 << 20, 24 << 20, "96MiB", "120MiB"),
    ] {
        let near = [size_at_most(bytes, grain).unwrap(), size_at_least(bytes, grain).unwrap()];
        let [least, most] = near.each_ref().map(|text| parse_size(text).unwrap());
        assert!(
            least <= bytes && most >= bytes && least.is_multiple_of(grain) && most.is_multiple_of(grain),
            "{near:?}"
        );
        assert_eq!(near, [below, above]);
    }
    assert_eq!(size_at_most(100, 4096), None);
    assert_eq!(size_at_least(u64::MAX, 4096), None);
}

#[test]
fn formatting_is_short() {
    assert_eq!(format_size(32 << 30), "32GiB");
    let times = [
        (1_500_000, "1.5ms"),
        (0, "0ns"),
        (3_600_000_000_000, "1h"),
        (90_000_000_000, "90s"),
        (86_400_000_000_000 * 400 + 1, "400d"),
    ];
    for (nanos, text) in times {
        assert_eq!(format_duration(nanos), text);
    }
    assert_eq!(format_rate(400_000_000), "400MB/s");
    assert_eq!([0.07, 0.123, 10.0, 0.0].map(format_share), ["7%", "12.3%", "1000%", "0%"]);
}
