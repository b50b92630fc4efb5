"""Layout of scene files. The oracle is the text as a person writes it, and the values and comments of the file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from pysim.cli import main
from pysim.errors import PysimError, SceneError
from pysim.scene.toml.formatter import format_toml

SCENES = sorted((Path(__file__).parents[3] / "scenes").glob("*.toml"))
UNTIDY = """


#:schema pysim.schema.json
# A pendulum.   See: it swings.
name="a pendulum"   # [its name]
gravity =[0,0,   -9.81]
[[body]]   # the rod
  name = 'rod'
mass=1.50 # [kg], measured
inertia={xx=1e-3,yy=1_000,zz=0x10,}
shape=[
{sphere={radius=0.1},density=1000},   # the bob

        {box=[1,2,3], at = {}},
    ]
text = \"\"\"kept
   as [it]   is # no comment\"\"\"
# about the joint
[[ joint ]]
"my key" . part= true
empty = { }
lists = [[1,2],[ ]]
when = 1979-05-27 07:32:00

[  simulation ]


step =  1e-3
#  the end"""
TIDY = """#:schema pysim.schema.json
# A pendulum.   See: it swings.
name = "a pendulum"  # [its name]
gravity = [0, 0, -9.81]

[[body]]   # the rod
name = 'rod'
mass = 1.50  # [kg], measured
inertia = { xx = 1e-3, yy = 1_000, zz = 0x10 }
shape = [
  { sphere = { radius = 0.1 }, density = 1000 },  # the bob

  { box = [1, 2, 3], at = {} },
]
text = \"\"\"kept
   as [it]   is # no comment\"\"\"

# about the joint
[[joint]]
"my key".part = true
empty = {}
lists = [[1, 2], []]
when = 1979-05-27 07:32:00

[simulation]

step = 1e-3
#  the end
"""


def test_a_file_is_laid_out_as_a_person_writes_it() -> None:
    text = UNTIDY.replace("zz=0x10,}", "zz=0x10}").replace("{ },\n", "{ },\n")
    assert format_toml("s.toml", text) == TIDY
    assert format_toml("s.toml", TIDY) == TIDY


@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
def test_values_comments_and_columns_of_the_examples_are_kept(path: Path) -> None:
    text = path.read_text("utf-8")
    crushed = re.sub(r"\n\n+", "\n", re.sub(r"^(\w+) = ", r" \1=", text, flags=re.MULTILINE))
    for given in (text, crushed):
        formatted = format_toml(str(path), given)
        assert format_toml(str(path), formatted) == formatted
        assert tomllib.loads(formatted) == tomllib.loads(text)
        comments = [re.findall(r"#.*", re.sub(" +", " ", t)) for t in (formatted, text)]
        assert comments[0] == comments[1]
    assert format_toml(str(path), text) == text


def test_a_syntax_error_is_rejected_with_its_place() -> None:
    with pytest.raises(SceneError) as caught:
        format_toml("s.toml", "a = 1\nb = = 2\n")
    assert str(caught.value).startswith("s.toml:2:5: ")


def test_the_command_formats_in_place_or_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text("a=1\r\nb=2", "utf-8")
    assert main(["format", "s.toml", "--check"]) == 1
    assert capsys.readouterr().out == "  would change  s.toml\n"
    assert main(["format", "s.toml"]) == 0
    assert capsys.readouterr().out == "  formatted  s.toml\n"
    assert Path("s.toml").read_bytes() == b"a = 1\nb = 2\n"
    assert main(["format", "s.toml", "--check"]) == 0
    assert capsys.readouterr().out == "  nothing to change\n"
    assert main(["format"]) == 2
    assert "needs a file; name one, as in pysim format scene.toml" in capsys.readouterr().err


def test_a_layout_that_would_change_values_is_a_fault_of_pysim(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pysim.scene.toml.formatter._spaced", lambda _: ["a = 2"])
    with pytest.raises(PysimError) as caught:
        format_toml("s.toml", "a = 1\n")
    text = "the layout would change its values, which is a fault of pysim; report it"
    assert str(caught.value) == f"s.toml: {text}"
