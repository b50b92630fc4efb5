"""Check of the files that an MJCF model names, before MuJoCo opens them.

MuJoCo reads any file that a model names; pysim lets a model name files in its folder, in the two above it and in
folders that the user lists.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pysim.errors import SceneError
from pysim.scene.packages import CONSENT, folders_around
from pysim.scene.urdf.xml import read_xml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from pysim.scene.urdf.xml import Element

_FOLDERS = {"mesh": "meshdir", "hfield": "texturedir", "texture": "texturedir", "skin": "meshdir"}
MOST_FILES = 1000  # included by one model
DEEPEST = 1000  # elements within each other; MuJoCo's parser has its own bound


def check_files(path: Path, package_dirs: Iterable[str | PathLike[str]]) -> None:
    """Reject a model that names files outside the folders that may be read, and XML with a document type.

    Raises:
        SceneError: it does, or a file is not well-formed.
    """
    base = path.resolve().parent
    allowed = [base, *folders_around(base), *(Path(folder).resolve() for folder in package_dirs)]
    queue, seen = [path.resolve()], set()
    for file in queue:  # grows while it is walked
        if file in seen:
            continue
        seen.add(file)
        if len(seen) > MOST_FILES:
            raise SceneError(str(path), f"includes more than {MOST_FILES} files; split the model")
        root = read_xml(file, DEEPEST)
        for element, name in _named_files(root, _folders_of(root)):
            target = (base / name).resolve()
            if not any(target.is_relative_to(folder) for folder in allowed):
                element.fail(
                    f"{str(target)!r} is outside the folders from which this model may name files; "
                    f"move it below the model, or list its folder in {CONSENT}"
                )
            if element.tag in {"include", "model"} and target.is_file():
                queue.append(target)


def _folders_of(root: Element) -> dict[str, str]:
    """Return the folders of assets that the <compiler> elements name, by attribute."""
    found: dict[str, str] = {}
    for element in root.all("compiler"):
        both = element.attributes.get("assetdir")
        if both is not None:
            found |= {"meshdir": both, "texturedir": both}
        found |= {k: v for k, v in element.attributes.items() if k in {"meshdir", "texturedir"}}
    return found


def _named_files(root: Element, folders: dict[str, str]) -> Iterator[tuple[Element, str]]:
    """Yield the elements that name a file, and its path."""
    elements = [root]
    for element in elements:  # grows while it is walked
        elements += element.children
        for key, value in element.attributes.items():
            if key == "file" or (key.startswith("file") and element.tag == "texture"):
                folder = folders.get(_FOLDERS.get(element.tag, ""), "")
                yield element, str(Path(folder) / value)
