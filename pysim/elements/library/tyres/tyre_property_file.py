"""Tyre property files (.tir): sections of keys and numbers, as of TYDEX and Adams."""

from __future__ import annotations

import configparser
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Mapping

UNITS = {  # in which numbers are read, by key of [UNITS]
    "LENGTH": ("meter", "metre", "m"),
    "FORCE": ("newton", "n"),
    "ANGLE": ("radian", "radians", "rad"),
    "MASS": ("kg", "kilogram"),
    "TIME": ("second", "sec", "s"),
}
# names of MF-Tyre 5.2 in files
VERSIONS = ("6", "52", "PAC2002", "MF-TYRE 5.2", "MF-TYRE", "MF_05")
NUMBER = re.compile(r"[+-]?\.?\d")  # how a number begins
_SIDES = {  # at which a tyre was measured, by the words of files
    "LEFT": "left",
    "RIGHT": "right",
    "SYMMETRIC": "symmetric",
    "UNKNOWN": "left",
    "": "left",
}
MOST_BYTES = 1_000_000  # [bytes]


@dataclass(frozen=True)
class TyreProperties:
    """Numbers of a property file.

    Attributes:
        numbers: by their keys, in capitals.
        side: "left", "right" or "symmetric", at which the tyre was measured; left where the file does not say it.
    """

    numbers: Mapping[str, float]
    side: str


def read_tyre_property_file(file: str) -> TyreProperties:
    """Read a property file.

    Raises:
        PysimError: the file cannot be read, has other units, or is of another version of the Magic Formula.
    """
    path = Path(file)
    parser = configparser.ConfigParser(
        comment_prefixes=("$", "!"),
        inline_comment_prefixes=("$", "!"),
        strict=False,
        allow_no_value=True,
        interpolation=None,
        delimiters=("=",),
    )
    try:
        if path.stat().st_size > MOST_BYTES:
            raise PysimError(str(path), f"has more than {MOST_BYTES} bytes; give a property file")
        text = path.read_text("utf-8-sig", errors="replace")
        # no line continues another
        parser.read_string("\n".join(line.strip() for line in text.splitlines()))
    except OSError as error:
        problem = f"cannot be read, {(error.strerror or str(error)).lower()}"
        raise PysimError(str(path), f"{problem}; paths are relative to the scene") from error
    except configparser.Error as error:
        problem = f"is not a tyre property file, {str(error).splitlines()[0].lower()}"
        raise PysimError(str(path), f"{problem}; its sections begin with [NAME]") from error
    texts = {
        key.upper(): (value or "").strip().strip("'\"")
        for section in parser.values()
        for key, value in section.items()
    }
    _check_units(path, texts)
    version = texts.get("FITTYP") or texts.get("PROPERTY_FILE_FORMAT", "")
    if version.upper() not in VERSIONS:
        problem = (
            f"has the version {version or '(none)'} of the Magic Formula, but only 5.2 is read"
        )
        raise PysimError(str(path), f"{problem} (FITTYP = 6, 'PAC2002'); export it for that")
    side = texts.get("TYRESIDE", "LEFT").upper()
    if side not in _SIDES:
        problem = f"TYRESIDE must be LEFT, RIGHT, SYMMETRIC or UNKNOWN, got {side!r}"
        raise PysimError(str(path), f"{problem}; correct the file")
    numbers = {}
    for key, text in texts.items():
        if not NUMBER.match(text):
            continue  # a name or a choice
        try:
            numbers[key] = float(re.sub("[dD]", "e", text))
        except ValueError:
            problem = f"{key} must be a number, got {text!r}; write a decimal point"
            raise PysimError(str(path), problem) from None
    return TyreProperties(numbers, _SIDES[side])


def _check_units(path: Path, texts: Mapping[str, str]) -> None:
    for key, known in UNITS.items():
        given = texts.get(key, known[0])
        if given.lower() not in known:
            problem = f"has {key} = {given!r}, but numbers are read in {known[0]}"
            raise PysimError(str(path), f"{problem}; export it in SI units and radians")
