"""The shortest scene with a joint, for the tests of where its type comes from and what is said of it."""

from __future__ import annotations


def scene_of(kind: str, *plugins: str) -> str:
    """A body 'b' on a joint 'j' of this type, which ends the text; the first line names the files with plugins."""
    files = ", ".join(f'"{name}"' for name in plugins)
    return f"""plugins = [{files}]
[[body]]
name = "b"
mass = 1.0
inertia = {{ xx = 0.1, yy = 0.1, zz = 0.1 }}
[[joint]]
name = "j"
type = "{kind}"
child = "b"
"""
