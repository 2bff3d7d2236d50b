#!/usr/bin/env python3
"""Check a trace CSV on standard input and print its statistics.

A page of 4 KiB is live from its write to its trim. Traces here trim whole pages.

    zstd -dc sqlite-git-ext4.csv.zst | describe.py
"""

import csv
import sys
from collections import Counter

NAMES = {"R": "read", "W": "write", "T": "trim", "F": "flush"}
PAGE = 4096
SECTOR = 512
MIB = 1 << 20


def pages(offset, length):
    """The 4 KiB pages an extent touches."""
    return range(offset // PAGE, (offset + length + PAGE - 1) // PAGE)


def mib(page_count):
    """A number of pages as text in MiB."""
    return f"{page_count * PAGE / MIB:.1f} MiB"


def size_class(length):
    """Upper bound of the power-of-two class of a length, from 4 KiB."""
    bound = PAGE
    while bound < length:
        bound *= 2
    return bound


def main():
    count, total, aligned, largest = Counter(), Counter(), Counter(), Counter()
    sizes = {op: Counter() for op in "RWT"}
    touched = {op: set() for op in "RWT"}
    last, last_end, sequential, fua_count, end_of_disk = 0, None, 0, 0, 0
    live, live_peak, released, never_written = set(), 0, 0, 0
    for row in csv.DictReader(sys.stdin):
        stamp, op = int(row["time_ns"]), row["op"]
        offset, length = int(row["offset_bytes"]), int(row["length_bytes"])
        assert stamp >= last, f"time runs backwards at {stamp}"
        assert offset % SECTOR == 0 and length % SECTOR == 0, f"not whole sectors at {stamp}"
        assert (length == 0) == (op == "F"), f"length {length} for {op} at {stamp}"
        last = stamp
        count[op] += 1
        fua_count += row["fua"] == "1"
        if op == "F":
            continue
        total[op] += length
        aligned[op] += offset % PAGE == 0 and length % PAGE == 0
        largest[op] = max(largest[op], length)
        sizes[op][size_class(length)] += 1
        touched[op].update(pages(offset, length))
        end_of_disk = max(end_of_disk, offset + length)
        if op == "R":
            never_written += live.isdisjoint(pages(offset, length))
        elif op == "W":
            sequential += offset == last_end
            last_end = offset + length
            live.update(pages(offset, length))
            live_peak = max(live_peak, len(live))
        else:
            before = len(live)
            live.difference_update(pages(offset, length))
            released += before - len(live)

    print(f"duration        {last / 1e9:.3f} s")
    print(f"requests        {sum(count.values())}, {fua_count} with FUA")
    print(f"highest byte    {end_of_disk}")
    for op, name in NAMES.items():
        line = f"{name:6} {count[op]:8d}"
        if op != "F" and count[op]:
            line += (
                f"  {total[op] / MIB:9.1f} MiB  mean {total[op] / count[op] / 1024:8.1f} KiB"
                f"  largest {largest[op] / 1024:.0f} KiB"
                f"  aligned to 4 KiB {100 * aligned[op] / count[op]:.2f} %"
                f"  touches {len(touched[op]) * PAGE / MIB:.1f} MiB"
            )
        print(line)
    both = touched["R"] | touched["W"]
    writes_per_page = total["W"] / PAGE / max(1, len(touched["W"]))
    print(f"footprint       {mib(len(both))} read or written")
    print(f"rewritten       each written page {writes_per_page:.2f} times")
    print(f"live            {mib(live_peak)} at most, {mib(len(live))} at the end")
    print(f"released        {mib(released)} of live pages by trims")
    print(f"reads of nothing live  {never_written}")
    print(f"sequential      {100 * sequential / max(1, count['W']):.1f} % of writes continue the last")
    print("size class        read    write     trim")
    for bound in sorted(set().union(*sizes.values())):
        columns = "".join(f" {sizes[op][bound]:8d}" for op in "RWT")
        print(f"<= {bound // 1024:7d} KiB {columns}")


if __name__ == "__main__":
    main()
