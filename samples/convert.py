#!/usr/bin/env python3
"""Turn the log of nbdkit's `log` filter into a block trace CSV on standard output.

    convert.py [--phases FILE] LOG > trace.csv

One row per request, in order of arrival at the server:

    time_ns,device,op,offset_bytes,length_bytes,fua

op is R (read), W (write), T (trim) or F (flush; offset and length 0). A write-zeroes request
becomes W: the drive has to hold zeroes afterwards, as if they had been sent. Times count from the
first request and have the log's resolution, 1 microsecond. FILE holds lines
`<seconds since the epoch> <name>`, which are printed to standard error as trace times.

Stops with an error when a request failed or lies outside the disk.
"""

import argparse
import calendar
import re
import sys
import time

OPS = {"Read": "R", "Write": "W", "Zero": "W", "Trim": "T", "Flush": "F"}
DEVICE = 0

# 2024-01-31 12:34:56.123456 connection=1 Write id=7 offset=0x1000 count=0x200 fua=0 ...
LINE = re.compile(
    r"(?P<second>\S+ \d\d:\d\d:\d\d)\.(?P<micros>\d{6}) connection=\d+ "
    r"(?P<leave>\.\.\.)?(?P<call>\w+) (?P<rest>.*)"
)
FIELD = re.compile(r"(\w+)=(0x[0-9a-fA-F]+|-?\d+)")


def epoch_ns(second, micros):
    """Nanoseconds since the epoch of a UTC log stamp."""
    return calendar.timegm(time.strptime(second, "%Y-%m-%d %H:%M:%S")) * 10**9 + int(micros) * 1000


def read_log(lines):
    """Returns (requests, number of write-zeroes), requests sorted by arrival."""
    requests, zeroes, disk_size = [], 0, None
    for number, line in enumerate(lines, 1):
        match = LINE.match(line)
        if not match:
            continue  # server start, connection set-up
        call = match["call"]
        fields = {name: int(value, 0) for name, value in FIELD.findall(match["rest"])}
        if call == "Connect":
            disk_size = fields["size"]
        if call not in OPS:
            continue
        if match["leave"]:
            if fields["return"] != 0:
                sys.exit(f"convert.py: line {number}: request failed: {line.strip()}")
            continue
        offset, length = fields.get("offset", 0), fields.get("count", 0)
        if offset + length > disk_size:
            sys.exit(f"convert.py: line {number}: beyond the disk of {disk_size} bytes")
        zeroes += call == "Zero"
        stamp = epoch_ns(match["second"], match["micros"])
        requests.append((stamp, OPS[call], offset, length, fields.get("fua", 0)))
    # Connections log independently, so lines may be out of step by microseconds; sorting is
    # stable, so requests of one microsecond keep the order of the log.
    requests.sort(key=lambda request: request[0])
    return requests, zeroes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--phases", help="file of phase starts to print as trace times")
    parser.add_argument("log", help="log file of nbdkit's log filter")
    args = parser.parse_args()

    with open(args.log, encoding="utf-8") as lines:
        requests, zeroes = read_log(lines)
    if not requests:
        sys.exit(f"convert.py: {args.log}: no requests")

    start = requests[0][0]
    print("time_ns,device,op,offset_bytes,length_bytes,fua")
    for stamp, op, offset, length, fua in requests:
        print(f"{stamp - start},{DEVICE},{op},{offset},{length},{fua}")

    print(f"{len(requests)} requests, {zeroes} of them write-zeroes kept as W", file=sys.stderr)
    if args.phases:
        print_phases(args.phases, [request[0] for request in requests], start)


def print_phases(path, stamps, start):
    """Prints each phase with its start in seconds and its number of requests."""
    with open(path, encoding="utf-8") as lines:
        phases = [line.split(maxsplit=1) for line in lines]
    begins = [int(float(begin) * 10**9) for begin, _ in phases]
    begins[0] = min(begins[0], start)  # set-up reads the disk before the first phase
    for index, (_, name) in enumerate(phases):
        end = begins[index + 1] if index + 1 < len(begins) else stamps[-1] + 1
        count = sum(begins[index] <= stamp < end for stamp in stamps)
        seconds = max(0, begins[index] - start) / 10**9
        print(f"{seconds:9.3f} s  {count:7d} requests  {name.strip()}", file=sys.stderr)


if __name__ == "__main__":
    main()
