"""The files of plugins that a model uses: a pickle names them, and runs none of their code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.errors import JointError
from pysim.joints.loop_joints import find_loop_type
from pysim.joints.registry import find_joint
from pysim.joints.relation import find_relation
from pysim.tracing.author_code import source_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Files = dict[tuple[str, str], str]  # by what a plugin is and its name


def plugin_files(kinds: Iterable[str], functions: Iterable[str]) -> Files:
    """Files of the plugins among these types of joints and loops, and of these relations."""
    plugins = {kind: find_loop_type(kind).plugin for kind in kinds}
    files = {("joint type", kind): source_file(p) for kind, p in plugins.items() if p is not None}
    files |= {("relation", name): source_file(find_relation(name)) for name in functions}
    return {plugin: str(file) for plugin, file in files.items()}


def check_run_here(files: Mapping[tuple[str, str], str], where: str) -> None:
    """Refuse plugins whose files this process has not run.

    Raises:
        JointError: one; the text names its file.
    """
    for (noun, name), file in files.items():
        try:
            find_relation(name) if noun == "relation" else find_joint(name)
        except JointError as error:
            problem = (
                f"{noun} {name!r} is defined in {file!r}, which this process has not run; load the scene that names "
                "that file here first, with allow_code=True, as in the initializer of a pool of processes"
            )
            raise JointError(where, problem) from error
