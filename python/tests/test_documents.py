"""The commands and examples of README and docs run as they stand there, and say what the pages show."""

from __future__ import annotations

import re
from pathlib import Path

import documents
import pytest

GENERATED = documents.ROOT / "docs/reference"
PAGES = [documents.ROOT / "README.md", *sorted(page for page in documents.ROOT.glob("docs/**/*.md") if GENERATED not in page.parents)]
WITH_BLOCKS = [page for page in PAGES if any(block.runs for block in documents.blocks(page.read_text(encoding="utf-8")))]


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: str(page.relative_to(documents.ROOT)))
def test_a_page_shows_what_its_commands_say(page: Path) -> None:
    assert documents.run(page)


def test_every_page_with_commands_is_found() -> None:
    names = {page.stem for page in WITH_BLOCKS}
    assert {"README", "start", "traces", "choose-a-drive", "serve", "power-loss", "python"} <= names


def test_a_block_that_says_nothing_of_its_kind_is_a_mistake() -> None:
    for page in PAGES:
        for block in documents.blocks(page.read_text(encoding="utf-8")):
            assert block.kind or not re.search(r"^\$ |^nandarium ", block.body, re.MULTILINE), f"{page}:{block.line}"


def test_numbers_may_differ_and_words_may_not() -> None:
    assert documents.differs("WAF  3.1\n...\nhash 0123456789abcdef\n", "WAF 12,345.6\nother\nhash fedcba9876543210\n") is None
    assert documents.differs("WAF  3.1\n", "WA 3.1\n") == "WAF #"
    assert documents.differs("WAF  3.1\n", "WAF 3.1\nmore\n") == "(end), and not more"
    assert documents.differs("a 1\n...\nb 2\n", "b 2\na 1\n") is not None


def test_outputs_are_renewed_between_the_same_gaps() -> None:
    found = "head 1\nskipped\ntail of 5\nlast 6\n"
    assert documents.renewed("head 9\n...\ntail of 7\n...\n", found) == "head 1\n...\ntail of 5\n...\n"
    with pytest.raises(documents.Broken, match="change the page by hand"):
        documents.renewed("head\n...\ngone now\n", found)
    assert documents.renewed("", found) == found


def test_a_page_that_lies_is_caught(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo one; false\none\n$ echo $?\n0\n```\n")
    with pytest.raises(documents.Broken, match="page.md:2: echo"):
        documents.run(page)
    documents.run(page, write=True)
    assert page.read_text() == "```console\n$ echo one; false\none\n$ echo $?\n1\n```\n"
    assert documents.run(page) == 1
    page.write_text("<!-- not run: no reason to -->\n```sh\nfalse\n```\n")
    assert documents.run(page) == 0
    page.write_text("```sh\nfalse\n```\n")
    with pytest.raises(documents.Broken, match="exit code 1"):
        documents.run(page)
