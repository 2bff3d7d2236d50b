"""HTML for notebooks: tables and small pictures, without a style sheet or a script.

Text and axes take the colour of the text around them, series have colours that stand out on white and on black: both themes
of a notebook can be read. Everything given as a text is escaped here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple, TypeAlias

COLOURS = ("#2182f1", "#c68700", "#705720", "#6f0bfa", "#b10064", "#998bc1")
"""Of series, in order: `--either-N` of the palette of all pages (crates/lab/figures/src/style/palette.css)."""
NONE = "\u2013"
"""The text for an absent value."""
GAP = "\u202f"
"""Between a number and its unit: they stay on one line."""

Number: TypeAlias = float | int | None
Format: TypeAlias = Callable[[Number], str]
Points: TypeAlias = Sequence[tuple[float, float]]


class Bar(NamedTuple):
    """A cell of a table: a text, and a bar that is a share of the longest of its column."""

    text: str
    share: float | None


def is_number(value: Number) -> bool:
    """Whether there is a number, and a finite one."""
    return value is not None and math.isfinite(value)


def digits(value: Number) -> str:
    """Three significant digits: 0.0123, 1.23, 12.3, 1,234."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0 or abs(value) >= 99.95:
        return f"{value:,.0f}"
    magnitude = math.floor(math.log10(abs(float(f"{value:.2e}"))))
    return f"{value:.{2 - magnitude}f}" if magnitude > -5 else f"{value:.2e}"


def count(value: Number) -> str:
    """A whole number: 1,234."""
    return NONE if value is None or not math.isfinite(value) else f"{value:,.0f}"


def time(value: Number) -> str:
    """Nanoseconds in a unit that can be read: 12.3 µs."""
    return _scaled(value, 1000, ("ns", "µs", "ms", "s"))


def size(value: Number) -> str:
    """Bytes in a unit that can be read: 1.50 GiB."""
    return _scaled(value, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))


def share(value: Number) -> str:
    """A share of 1 in per cent."""
    return NONE if value is None or not math.isfinite(value) else f"{digits(100 * value)}{GAP}%"


def _scaled(value: Number, base: float, units: Sequence[str]) -> str:
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    step, rest = 0, float(value)
    # 999.7 would be shown as 1,000.
    while abs(rest) >= base - 0.5 and step < len(units) - 1:
        step, rest = step + 1, rest / base
    text = f"{rest:.0f}" if step == 0 and rest == round(rest) else digits(rest)
    return f"{text}{GAP}{units[step]}"


def bars_of(values: Iterable[Number], shown: Format) -> list[Bar]:
    """A column of numbers with bars; the longest is the largest number."""
    numbers = list(values)
    most = max((value for value in numbers if value is not None and math.isfinite(value)), default=0)
    return [Bar(shown(value), value / most if value is not None and math.isfinite(value) and most > 0 else None) for value in numbers]


def table(head: Sequence[str], rows: Iterable[Sequence[str | Bar]], *, left: int = 1, is_wrapped: bool = False) -> str:
    """A table; its first `left` columns are texts, the others are numbers. Long texts are broken into lines if `is_wrapped`."""
    space = "normal" if is_wrapped else "nowrap"

    def side(column: int) -> str:
        return f"text-align:{'left' if column < left else 'right'}"

    def cell(column: int, value: str | Bar) -> str:
        text, bar = (escape(value), "") if isinstance(value, str) else (escape(value.text), _cell_bar(value.share))
        return f'<td style="{side(column)};white-space:{space};vertical-align:top">{text}{bar}</td>'

    top = "".join(f'<th style="{side(column)}">{escape(name)}</th>' for column, name in enumerate(head))
    body = "".join(f"<tr>{''.join(cell(column, value) for column, value in enumerate(row))}</tr>" for row in rows)
    return f'<div style="overflow-x:auto"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell_bar(part: float | None) -> str:
    if part is None:
        return ""
    width = max(1.0, 72 * part)
    return f'<svg width="72" height="4" style="display:block;margin-left:auto" aria-hidden="true"><rect width="{width:.1f}" height="4" fill="{COLOURS[0]}"/></svg>'


def card(title: str, facts: Iterable[str], *parts: str) -> str:
    """A heading, a line of facts, and the contents below; empty parts are left out."""
    line = " · ".join(escape(fact) for fact in facts if fact)
    below = f'<div style="opacity:.75;margin:.2em 0 .5em">{line}</div>' if line else ""
    return f'<div><div style="font-weight:600">{escape(title)}</div>{below}{"".join(parts)}</div>'


def side_by_side(*pictures: str) -> str:
    """Pictures in a row that breaks where the page is narrow; nothing of none."""
    shown = [picture for picture in pictures if picture]
    return f'<div style="display:flex;flex-wrap:wrap;gap:1.2em;margin-top:.6em">{"".join(shown)}</div>' if shown else ""


def notes(texts: Sequence[str]) -> str:
    """Remarks, to be unfolded."""
    if not texts:
        return ""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<details style="margin-top:.4em"><summary>{len(texts)} {"note" if len(texts) == 1 else "notes"}</summary><ul>{items}</ul></details>'


WIDTH, HEIGHT = 340, 190
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 24, 38


class Axis(NamedTuple):
    """An axis: its quantity, the form of its numbers, and whether each step is a factor."""

    title: str
    shown: Format
    is_log: bool = False


def lines(title: str, x: Axis, y: Axis, series: Mapping[str, Points]) -> str:
    """Lines through points; an empty text where fewer than two points can be drawn."""
    return _plot(title, x, y, series, lambda points, colour, _: _path(points, colour))


def dots(title: str, x: Axis, y: Axis, series: Mapping[str, Points], tips: Mapping[str, Sequence[str]]) -> str:
    """Points, each with a text that is shown where it is pointed at."""

    def drawn(points: Points, colour: str, name: str) -> str:
        marks = (f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.5" fill="{colour}"><title>{escape(tip)}</title></circle>' for (px, py), tip in zip(points, tips[name]))
        return "".join(marks)

    return _plot(title, x, y, series, drawn)


def bars(title: str, rows: Sequence[tuple[str, Number]], shown: Format) -> str:
    """Bars beside their names; an empty text where there is nothing above 0."""
    kept = [(name, float(value)) for name, value in rows if value is not None and math.isfinite(value) and value > 0]
    if not kept:
        return ""
    most, space, step = max(value for _, value in kept), 150, 18
    left = 14 + 6.2 * max(len(name) for name, _ in kept)
    parts = []
    for row, (name, value) in enumerate(kept):
        middle = TOP + 8 + row * step
        length = max(1.0, space * value / most)
        parts.append(_text(left - 6, middle + 4, name, "end"))
        parts.append(f'<rect x="{left:.1f}" y="{middle - 5}" width="{length:.1f}" height="10" fill="{COLOURS[0]}"/>')
        parts.append(_text(left + length + 5, middle + 4, shown(value)))
    return _svg(title, left + space + 64, TOP + step * len(kept) + 6, "".join(parts))


def interval(title: str, earliest: float, estimate: float, latest: float, shown: Format) -> str:
    """An estimate with its interval, on an axis from 0."""
    left, space, middle = 16, 240, TOP + 26
    end = max(latest, 1e-300)
    low, point, high = (left + space * value / end for value in (earliest, estimate, latest))
    parts = [
        f'<line x1="{left}" x2="{left + space}" y1="{middle}" y2="{middle}" stroke="currentColor" stroke-opacity=".3"/>',
        f'<rect x="{low:.1f}" y="{middle - 6}" width="{max(high - low, 1):.1f}" height="12" fill="{COLOURS[0]}" fill-opacity=".35"/>',
        f'<rect x="{point - 1.5:.1f}" y="{middle - 9}" width="3" height="18" fill="{COLOURS[0]}"/>',
        _text(point, middle - 14, shown(estimate), "middle"),
        # Away from each other: the interval may be narrow.
        _text(low + 2, middle + 22, shown(earliest), "end"),
        _text(high - 2, middle + 22, shown(latest)),
        _text(left, middle + 22, "0", "middle"),
    ]
    return _svg(title, WIDTH, middle + 32, "".join(parts))


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor">{escape(text)}</text>'


def short(text: str) -> str:
    """A number of an axis without zeros that say nothing: 10 ms, not 10.0 ms."""
    return re.sub(r"(\.\d*?)0+(?=\D|$)", lambda digits: digits[1].rstrip("."), text)


def _svg(title: str, width: float, height: float, drawn: str) -> str:
    head = f'<text x="0" y="12" fill="currentColor" font-weight="600">{escape(title)}</text>'
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return f'<svg {size} role="img" aria-label="{escape(title)}" font-family="sans-serif" font-size="11" style="max-width:100%">{head}{drawn}</svg>'


def _path(points: Points, colour: str) -> str:
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="1.6" stroke-linejoin="round"/>'


def _plot(title: str, x: Axis, y: Axis, series: Mapping[str, Points], drawn: Callable[[Points, str, str], str]) -> str:
    shown = {name: [(px, py) for px, py in points if (px > 0 or not x.is_log) and (py > 0 or not y.is_log)] for name, points in series.items()}
    shown = {name: points for name, points in shown.items() if points}
    if sum(len(points) for points in shown.values()) < 2:
        return ""
    across = _Scale([px for points in shown.values() for px, _ in points], x.is_log, LEFT, WIDTH - RIGHT)
    up = _Scale([py for points in shown.values() for _, py in points], y.is_log, HEIGHT - BOTTOM, TOP)
    parts = []
    for tick in up.ticks():
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(tick):.1f}" y2="{up(tick):.1f}" stroke="currentColor" stroke-opacity=".18"/>')
        parts.append(_text(LEFT - 5, up(tick) + 4, short(y.shown(tick)), "end"))
    for tick in across.ticks():
        parts.append(f'<line x1="{across(tick):.1f}" x2="{across(tick):.1f}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM + 4}" stroke="currentColor"/>')
        # At the edge there is no room beside it.
        parts.append(_text(min(across(tick), WIDTH - 18), HEIGHT - BOTTOM + 16, short(x.shown(tick)), "middle"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, x.title, "middle"))
    for index, (name, points) in enumerate(shown.items()):
        parts.append(drawn([(across(px), up(py)) for px, py in points], COLOURS[index % len(COLOURS)], name))
    names, below = _legend(list(shown)) if len(shown) > 1 else ("", 0)
    return _svg(f"{title}{', ' if y.title else ''}{y.title}", WIDTH, HEIGHT + below, "".join(parts) + names)


def _legend(names: Sequence[str]) -> tuple[str, int]:
    """Names beside their colours, a line each, and the height they take: they may be long."""
    parts = []
    for index, name in enumerate(names):
        middle = HEIGHT + 8 + 15 * index
        parts.append(f'<rect x="{LEFT}" y="{middle - 4}" width="9" height="9" fill="{COLOURS[index % len(COLOURS)]}"/>')
        parts.append(_text(LEFT + 14, middle + 4, name if len(name) <= 46 else f"{name[:45]}…"))
    return "".join(parts), 15 * len(names) + 4


class _Scale:
    """From values to places."""

    def __init__(self, values: Sequence[float], is_log: bool, begin: float, end: float) -> None:
        self.is_log = is_log
        low, high = min(values), max(values)
        if is_log:
            low, high = math.log10(low), math.log10(high)
        elif low > 0.4 * high:
            # Small differences would look large on an axis that begins above 0 without need, and vanish on one that does not.
            low, high = low - 0.1 * (high - low), high + 0.1 * (high - low)
        else:
            low = min(0.0, low)
        if high - low < 1e-12 * max(abs(high), 1e-300):
            low, high = (low - 0.5, high + 0.5) if is_log or low == 0 else (low - 0.1 * abs(low), high + 0.1 * abs(high))
        self.low, self.high, self.begin, self.end = low, high, begin, end

    def __call__(self, value: float) -> float:
        place = math.log10(value) if self.is_log else value
        return self.begin + (self.end - self.begin) * (place - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Round values, about four of them: the pictures are small."""
        return log_lines(10**self.low, 10**self.high, 5) if self.is_log else lines_within(self.low, self.high, 4)


# Lines of axes stand where those of all pages do: crates/lab/figures/src/axis.rs, whose cases the tests compare with.


def distance(span: float, about: float) -> float:
    """A distance of lines, 1, 2 or 5 times a power of ten, that divides a span into about so many parts."""
    rough = span / about
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(digit for digit, end in ((1, 1.5), (2, 3.5), (5, 7.5), (10, math.inf)) if rough / power < end)


def lines_within(low: float, high: float, about: float) -> list[float]:
    """Round values from one value to another."""
    apart = distance(high - low, about)
    return [index * apart for index in range(math.ceil(low / apart - 1e-9), math.floor(high / apart + 1e-9) + 1)]


def log_lines(low: float, high: float, most: int) -> list[float]:
    """1, 2 and 5 times powers of ten; powers alone where there would be more than some, and only some of those if need be."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    lines = [(digit, digit * 10.0**power) for power in powers for digit in (1, 2, 5)]
    within = [(digit, line) for digit, line in lines if low * (1 - 1e-9) <= line <= high * (1 + 1e-9)]
    if len(within) <= most:
        return [line for _, line in within]
    tens = [line for digit, line in within if digit == 1]
    return tens[:: math.ceil(len(tens) / most)]
