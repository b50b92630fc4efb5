"""Files that SDF models and worlds include: the <model> of each takes the place of the <include>.

An <include> may rename and place the model, make it static, or merge it into the model around it. A URI is a file or
the folder of a model, relative to the including file, or `model://NAME`, a folder beside it or in `package_dirs`. The
same folders may be read as for meshes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from pysim.errors import SceneError
from pysim.scene.packages import ForbiddenFileError, resolve_uri, short
from pysim.scene.sdf.merged_models import merged_elements
from pysim.scene.urdf.xml import read_xml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.importer import ImportOptions
    from pysim.scene.urdf.xml import Element

SUFFIXES = (".sdf", ".world", ".xml")
MODEL_FILE = "model.sdf"
MOST_LEVELS = 20  # files within each other
MOST_INCLUDED = 1000  # models that a file includes, with those that these include
_REPLACED = ("pose", "static")  # of the included model


def expand_includes(
    holder: Element,
    options: ImportOptions,
    omissions: Omissions,
    chain: tuple[Path, ...],
    counter: Iterator[int] | None = None,
) -> Element:
    """Return a world or model with the models of other files in place of its <include>.

    A file that is missing is left out with a warning. `chain` is the files that led here, `counter` counts all
    includes.

    Raises:
        SceneError: files include each other or too many, or a file may not be read or is invalid.
    """
    counter = count(1) if counter is None else counter
    children = []
    for child in holder.children:
        if child.tag in {"model", "world"}:
            children.append(expand_includes(child, options, omissions, chain, counter))
        elif child.tag == "include":
            if next(counter) > MOST_INCLUDED:
                child.fail(f"more than {MOST_INCLUDED} models are included; remove some")
            model = _included(child, options, omissions, chain, counter)
            if model is not None and child.attributes.get("merge", "false") in {"true", "1"}:
                if holder.tag != "model":
                    child.fail("a model is merged into a model, not into a world; remove merge")
                children += merged_elements(model)
            else:
                children += [] if model is None else [model]
        else:
            children.append(child)
    return replace(holder, children=children)


def folder_of(element: Element) -> Path:
    """Return the folder of the file that an element is in."""
    return Path(element.where.rsplit(":", 2)[0]).parent


def _included(
    include: Element,
    options: ImportOptions,
    omissions: Omissions,
    chain: tuple[Path, ...],
    counter: Iterator[int],
) -> Element | None:
    uri = include.required("uri").content.strip()
    try:
        file = _resolved(uri, folder_of(include), options)
    except ForbiddenFileError:
        raise
    except SceneError as error:
        reason = f"is left out: {error.problem}"
        omissions.add("includes", f"<include> {short(uri)}", include.where, reason)
        return None
    if file.resolve() in chain:
        include.fail(f"{short(uri)} includes itself; remove this <include>")
    if len(chain) >= MOST_LEVELS:
        include.fail(f"more than {MOST_LEVELS} files include each other; flatten the model")
    sdf = read_xml(file)
    models = sdf.all("model")
    if sdf.tag != "sdf" or len(models) != 1:
        sdf.fail(
            f"an included file needs one <model> in <sdf>, got {len(models)}; name another file"
        )
    replaced = {tag: include.all(tag) for tag in _REPLACED}
    model = models[0]
    kept = [child for child in model.children if not replaced.get(child.tag)]
    name = include.child("name")
    attributes = model.attributes | {"version": sdf.attributes.get("version", "1.4")}
    if name is not None:
        attributes["name"] = name.content.strip()
    placed = include.child("placement_frame")
    if placed is not None:
        attributes["placement_frame"] = placed.content.strip()
    others = [child for tag in _REPLACED for child in replaced[tag]]
    joined = replace(model, attributes=attributes, children=[*kept, *others])
    return expand_includes(joined, options, omissions, (*chain, file.resolve()), counter)


def _resolved(uri: str, folder: Path, options: ImportOptions) -> Path:
    """Return the file of a URI; of a folder, the model in it."""
    path = uri.replace("model://", "package://", 1)
    if not path.lower().endswith(SUFFIXES):
        path = f"{path.rstrip('/')}/{MODEL_FILE}"
    return resolve_uri(path, folder, options.package_dirs, SUFFIXES)
