"""Check of the files that an MJCF model names, and of its numbers and size, before MuJoCo opens them.

MuJoCo reads any file that a model names. It looks for assets in the folder of the model's main file, joined with the
`meshdir`, `texturedir` or `assetdir` of any file of the model, whether that includes or is included; for included files
in that folder and in that of the including file. An attached model has a folder and asset folders of its own. Every
place where MuJoCo may look is checked.
"""

from __future__ import annotations

import math
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pysim.errors import SceneError
from pysim.scene.packages import CONSENT, allowed_folders, short
from pysim.scene.urdf.xml import read_xml

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from pysim.scene.packages import AllowedFolders
    from pysim.scene.urdf.xml import Element

MOST_FILES = 1000  # included or attached by one model
MOST_PLACES = 100_000  # where the files of a model are looked for
# elements of all copies that <replicate> and the like make; their time is quadratic
MOST_COPIED = 10_000
MOST_ATTACHED = 100_000  # elements of all attached models
MOST_SAMPLES = 1 << 26  # of a height field or texture
MOST_NUMBERS = 1_000_000  # that <size> and sizes of user data declare
LARGEST_RESOLUTION = 512  # parameter of a mesh that MuJoCo generates
MOST_BYTES = 1 << 30  # bytes of a file
LARGEST_COORDINATE = 1e100  # beyond which products overflow
MOST_LEVELS = 1000  # elements within each other; MuJoCo's parser has its own bound
DEEPEST_CHAIN = 20  # models that attach each other
REGULAR = stat.S_IFREG
_FOLDERS = {"meshdir", "texturedir", "assetdir"}
_FOLDERS_OF = {"texture": "texturedir", "hfield": "texturedir"}  # of others: meshdir
_COPIERS = {"replicate", "composite", "flexcomp"}
_FILES_OF_XML = {"include", "model"}
_NAMES = re.compile(  # attributes that hold a name, which may be "nan"
    r"name|class|childclass|prefix|model|key|plugin|instance|content_type|material|texture|mesh|hfield|target|actuator"
    r"|(joint|body|geom|site|tendon)(inparent|\d)?|(obj|ref)name|\w+(site|dir)|file\w*|\w*type|skin|flex|node|bone"
)
_SUSPECT = re.compile(r"nan|inf|e\+?\d{3}", re.IGNORECASE | re.ASCII)
_SIZES = {  # attributes whose product is the number of copies or numbers that an element makes
    "replicate": ("count", MOST_COPIED),
    "composite": ("count", MOST_COPIED),
    "flexcomp": ("count", MOST_COPIED),
    "hfield": ("nrow ncol", MOST_SAMPLES),
    "texture": ("width height", MOST_SAMPLES),
    "numeric": ("size", MOST_NUMBERS),
    "user": ("dim", MOST_NUMBERS),
    "general": ("actdim", MOST_NUMBERS),
}


def check_files(path: Path, package_dirs: Iterable[str | PathLike[str]]) -> None:
    """Reject a model that MuJoCo must not open.

    Raises:
        SceneError: it names files outside the folders that may be read, attaches itself, becomes too large, has numbers
            that are not finite, or a file is not well-formed or has a document type.
    """
    main = path.resolve()
    _Checker(path, allowed_folders(main.parent, package_dirs)).elements_of(main, ())


@dataclass
class _Model:
    """Main file of a model, and what its files say."""

    folder: Path
    names: list[tuple[Element, str, Path]] = field(default_factory=list)  # with the file's folder
    folders: list[tuple[str, str]] = field(default_factory=list)  # attribute and value
    attached: list[tuple[str | None, int]] = field(default_factory=list)  # name, and copies
    elements: int = 0
    copied: int = 0
    strips_paths: bool = False


@dataclass
class _Checker:
    """Checks of the models that a model attaches, each once."""

    path: Path
    allowed: AllowedFolders
    files: set[Path] = field(default_factory=set)
    elements: dict[Path, int] = field(default_factory=dict)
    places: int = 0

    def elements_of(self, main: Path, chain: tuple[Path, ...]) -> int:
        """Check a model and return the number of its elements; `chain` are the main files that attach each other."""
        if main in self.elements:
            return self.elements[main]
        model = _Model(main.parent)
        others = self._walk(model, main)
        for element, name, here in model.names:
            self._check_places(model, element, name, here)
        sizes: dict[str | None, int] = {}
        for element, file in others:
            if file in (*chain, main):
                element.fail(f"{short(file.name)} attaches itself; remove this <model>")
            if len(chain) >= DEEPEST_CHAIN:
                element.fail(f"more than {DEEPEST_CHAIN} models attach each other; flatten them")
            sizes[element.attributes.get("name")] = self.elements_of(file, (*chain, main))
        total = model.elements
        for attached, times in model.attached:
            total += times * sizes.get(attached, max(sizes.values(), default=0))
        if total > max(MOST_ATTACHED, model.elements):
            problem = f"has {total} elements with the models that it attaches"
            raise SceneError(str(main), f"{problem}; attach {MOST_ATTACHED} or fewer")
        self.elements[main] = total
        return total

    def _walk(self, model: _Model, main: Path) -> list[tuple[Element, Path]]:
        """Read the files of a model into it; return its <model> elements with the files that they name."""
        models: list[tuple[Element, Path]] = []
        included = {main}
        stack = [(self._read(main), 1, main.parent)]
        while stack:
            element, copies, here = stack.pop()
            self._count(model, element, copies)
            check_numbers(element)
            self._note(model, element, copies, here)
            if element.tag in _FILES_OF_XML and "file" in element.attributes:
                for file in self._xml_files(model, element, here):
                    if element.tag == "model":
                        models.append((element, file))
                    elif file not in included:
                        included.add(file)
                        stack.append((self._read(file), copies, file.parent))
            if element.tag == "replicate":
                copies *= declared(element)
            stack += [(child, copies, here) for child in reversed(element.children)]
        return models

    def _read(self, file: Path) -> Element:
        self.files.add(file)
        if len(self.files) > MOST_FILES:
            problem = f"includes more than {MOST_FILES} files; split the model"
            raise SceneError(str(self.path), problem)
        return read_xml(file if file != self.path.resolve() else self.path, MOST_LEVELS)

    def _count(self, model: _Model, element: Element, copies: int) -> None:
        model.elements += copies
        made = declared(element) if element.tag in _COPIERS else 1
        model.copied += copies * made if copies * made > 1 else 0
        if model.copied > MOST_COPIED:
            element.fail(f"copies have more than {MOST_COPIED} elements; reduce count")
        declared(element)

    def _note(self, model: _Model, element: Element, copies: int, here: Path) -> None:
        """Note the folders, attached models and files that an element names."""
        if element.tag == "attach":
            model.attached.append((element.attributes.get("model"), copies))
        if element.tag == "compiler":
            model.folders += [(k, v) for k, v in element.attributes.items() if k in _FOLDERS]
            model.strips_paths |= element.attributes.get("strippath", "false") != "false"
        names = (value for key, value in element.attributes.items() if key.startswith("file"))
        model.names += [(element, name, here) for name in names]

    def _xml_files(self, model: _Model, element: Element, here: Path) -> list[Path]:
        """Return the files that an <include> or <model> may stand for."""
        self._check_places(model, element, element.attributes["file"], here)
        name = element.attributes["file"]
        found = [(folder / name).resolve() for folder in (model.folder, here)]
        return [file for file in dict.fromkeys(found) if _kind(file) == REGULAR]

    def _check_places(self, model: _Model, element: Element, name: str, here: Path) -> None:
        """Reject a name that may stand for a file outside the folders, or for one that has no end."""
        sure, possible = _places(model, element, name, here)
        targets = list(dict.fromkeys(place.resolve() for place in (*sure, *possible)))
        self.places += len(targets)
        if self.places > MOST_PLACES:
            element.fail(f"the files of the model have more than {MOST_PLACES} places; reduce them")
        outside = [file for file in targets if not self.allowed.holds(file)]
        likely = {place.resolve() for place in sure}
        outside = [file for file in outside if file in likely or _kind(file)]
        outside.sort(key=lambda file: _kind(file) is None)  # one that exists is named first
        if outside:
            element.fail(
                f"{str(outside[0])!r} is outside the folders from which this model may name files; "
                f"move it below the model, or list its folder in {CONSENT}"
            )
        for file in targets:
            if _kind(file) not in {None, REGULAR, stat.S_IFDIR}:
                element.fail(f"{str(file)!r} is not a regular file; name another one")
            if _kind(file) == REGULAR and file.stat().st_size > MOST_BYTES:
                element.fail(f"{str(file)!r} is larger than {MOST_BYTES >> 20} MiB; reduce it")


def _places(
    model: _Model, element: Element, name: str, here: Path
) -> tuple[list[Path], list[Path]]:
    """Return where MuJoCo looks for a file by its documentation, and where else it might."""
    tops = list(dict.fromkeys((model.folder, here)))
    if element.tag in _FILES_OF_XML:
        possible = [top / name for top in tops]
        return [] if any(map(_kind, possible)) else possible[:1], possible
    own = ("assetdir", _FOLDERS_OF.get(element.tag, "meshdir"))
    sure = [model.folder / value / name for key, value in model.folders if key in own]
    names = dict.fromkeys((name, Path(name).name) if model.strips_paths else (name,))
    values = dict.fromkeys(["", *(value for _, value in model.folders)])
    possible = [top / value / one for top in tops for value in values for one in names]
    return [] if model.strips_paths else sure or [model.folder / name], possible


def _kind(file: Path) -> int | None:
    """Return the kind of a file as in `stat`, None if there is none."""
    try:
        return stat.S_IFMT(file.stat().st_mode)
    except OSError:
        return None


def declared(element: Element) -> int:
    """Return how many copies or numbers an element declares; 1 if it declares none."""
    keys, most = _SIZES.get(element.tag, ("", 0))
    product = 1
    for key in keys.split():
        words = element.attributes.get(key, "1").split()
        for word in words:
            if not re.fullmatch(r"[+-]?\d{1,10}", word, re.ASCII):
                element.fail(f"{key!r} of <{element.tag}> must be whole numbers, got {word[:40]!r}")
            product *= max(int(word), 1)
    if product > most > 0:
        given = " and ".join(repr(key) for key in keys.split())
        element.fail(f"{given} of <{element.tag}> make {product}, more than {most}; reduce them")
    if element.tag == "size":
        for key, value in element.attributes.items():
            if re.fullmatch(r"\d+", value.strip(), re.ASCII) and int(value[:12]) > MOST_NUMBERS:
                problem = f"{key!r} of <size> is {value[:20]}, more than {MOST_NUMBERS}; reduce it"
                element.fail(problem)
    if element.tag == "mesh" and "builtin" in element.attributes:
        for word in element.attributes.get("params", "").split():
            if _parse_number(word) > LARGEST_RESOLUTION:
                element.fail(
                    f"'params' of <mesh> has {word[:20]}, more than {LARGEST_RESOLUTION}; reduce it"
                )
    return product


def check_numbers(element: Element) -> None:
    """Reject numbers that are NaN or too large, except infinite bounds of ranges, and negative friction."""
    for key, value in element.attributes.items():
        if _SUSPECT.search(value) and not _NAMES.fullmatch(key):
            numbers = [_parse_number(word) for word in value.split()]
            largest = math.inf if key.endswith("range") else LARGEST_COORDINATE
            if not all(abs(number) <= largest for number in numbers):
                element.fail(
                    f"{key!r} of <{element.tag}> must be finite, got {short(value)}; correct it"
                )
        if key in {"friction", "frictionloss"} and any(_parse_number(x) < 0 for x in value.split()):
            problem = f"{key!r} of <{element.tag}> must not be negative, got {short(value)}"
            element.fail(f"{problem}; remove the sign")


def _parse_number(word: str) -> float:
    """Return the number in a text; 0 if there is another text, which MuJoCo reports."""
    try:
        return float(word)
    except ValueError:
        return 0.0
