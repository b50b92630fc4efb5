"""The language of sources, documentation and messages: plain engineering English.

tests/language.txt lists phrases that are not used, as regular expressions. The second claim is that a file opens with a
sentence or noun phrase that names its subject. The third is that the name of a test is a sentence in the same language.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PHRASES = [
    (re.compile(phrase.replace(" ", r"[\s/#]+"), re.IGNORECASE), instead)  # also across lines
    for line in (ROOT / "tests" / "language.txt").read_text("utf-8").splitlines()
    if " => " in line and not line.startswith("#")
    for phrase, instead in [line.split(" => ")]
]
NEWLINE = "\n"
RELATIVE = re.compile(r"(What|Which|Where|How|Who|Whose|When|Why|Whether)\b")
RELATIVE_NAME = re.compile(r"(what|which|where|how|who|whose|whom|of)_")
PROSE = {".py", ".pyi", ".hpp", ".cpp", ".toml", ".md", ".rst"}
SOURCES = {".py", ".pyi", ".hpp", ".cpp", ".toml"}
OPENING = re.compile(r'(?:#!.*\n)?(?:r?"""|/// ?|// ?|# )(?P<words>\S.*)')


def read_files() -> dict[str, str]:
    """Return the text of every file that a person reads, by its path from the project's folder."""
    folders = [ROOT / name for name in ("cpp", "pysim", "scenes", "tests", "docs", ".ci")]
    paths = [path for folder in folders for path in sorted(folder.glob("**/*"))]
    paths += [path for path in sorted(ROOT.iterdir()) if path.name != "pyproject.toml"]
    return {
        str(path.relative_to(ROOT)): path.read_text("utf-8")
        for path in paths
        if path.is_file()
        and path.name != Path(__file__).name  # its examples break the rules
        and (path.suffix in PROSE or path.name in {"CMakeLists.txt", "run"})
        and not {"data", "_build", "__pycache__"} & set(path.parts)
    }


FILES = read_files()


def phrases(text: str) -> list[str]:
    """Return where the text uses a listed phrase, with the words to use instead."""
    return [
        f"line {1 + text[: found.start()].count(NEWLINE)}: {found.group()!r}: write {instead}"
        for phrase, instead in PHRASES
        for found in phrase.finditer(text)
    ]


def opening(name: str, text: str) -> list[str]:
    """Return the fault of a source file's first line, if it has one."""
    if Path(name).suffix not in SOURCES or not text.strip():
        return []
    found = OPENING.match(text)
    if found is None:
        return ["line 1: begin with a comment or docstring that names the subject of the file"]
    words = found["words"].lstrip("`'\"*")
    if RELATIVE.match(words) or (words[:1].islower() and words == found["words"]):
        return [f"line 1: {words!r}: begin with a noun phrase or sentence that names the subject"]
    return []


def faults(name: str) -> list[str]:
    """Return every violation in one file."""
    return opening(name, FILES[name]) + phrases(FILES[name])


def test_files_are_written_in_plain_words() -> None:
    found = {name: faults(name) for name in FILES}  # a case a file would double the time
    assert {name: faulty for name, faulty in found.items() if faulty} == {}


def test_the_name_of_a_test_is_a_sentence_in_plain_words() -> None:
    found = [
        f"{name}: test_{words}"
        for name, text in FILES.items()
        if name.startswith("tests/")
        for words in re.findall(r"\bdef test_(\w+)", text)
        if RELATIVE_NAME.match(words) or phrases(words.replace("_", " "))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The joint is told by name.\n", 1),
        ("at = file.tell()\n", 0),
        ("The bar comes to rest on a bearing.\n", 0),
        ("A sleeve that hangs on a rail, of which\nnobody asks.\n", 4),
    ],
)
def test_the_phrases_are_found_in_their_odd_uses_only(text: str, count: int) -> None:
    assert len(phrases(text)) == count


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("a.py", '"""What a scheme asks."""\n', 1),
        ("a.py", '"""`Scalar`, a node of a tape."""\n', 0),
        ("a.py", "import os\n", 1),
        ("a.hpp", "// Articulated-body algorithm.\n", 0),
        ("a.hpp", "// How loops change.\n", 1),
        ("a.cpp", "#include <vector>\n", 1),
        ("a.toml", "# A pendulum.\n", 0),
        ("__init__.py", "", 0),
    ],
)
def test_an_opening_names_the_subject(name: str, text: str, count: int) -> None:
    assert len(opening(name, text)) == count
