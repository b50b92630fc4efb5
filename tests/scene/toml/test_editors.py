"""Scenes in editors: the committed JSON Schema, and what two language servers make of it.

The oracles are Tombi's language server, run as an editor runs it, and the linter of Taplo, whose engine is that of the
extension Even Better TOML. Scenes name the schema in their first comment.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any, Self

import pytest

from pysim.cli import main
from pysim.scene import scene_schema

SCENES = Path(__file__).parents[3] / "scenes"
SCHEMA = SCENES / "pysim.schema.json"
FILES = sorted(SCENES.rglob("*.toml"))
# of the interpreter's environment first
COMMANDS = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
SCENE = """\
# A rod.
#:schema pysim.schema.json
name = "x"

[[body]]
name = "rod"
mas = 1

[[joint]]
name = "hinge"
type = "revolute"
child = "rod"

[simulation]
step = 1e-3

"""


def command_of(name: str) -> str:
    """Return the path of a tool, without which the test is skipped."""
    path = shutil.which(name, path=COMMANDS)
    if path is None:
        pytest.skip(f"needs {name}, which the extra `test` installs")
    return path


class Server:
    """A client of Tombi's language server over its standard streams."""

    def __init__(self, folder: Path) -> None:
        self._server = subprocess.Popen(
            [command_of("tombi"), "lsp", "--offline"],
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._count = 0
        self.diagnostics: list[dict[str, Any]] | None = None
        self.request(
            "initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}}
        )
        self._send({"method": "initialized", "params": {}})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.request("shutdown", None)
        self._send({"method": "exit"})
        self._server.communicate(timeout=20)

    def open(self, file: Path) -> None:
        document = {"languageId": "toml", "version": 1, "text": file.read_text("utf-8")}
        self._send({
            "method": "textDocument/didOpen",
            "params": {"textDocument": {"uri": file.as_uri(), **document}},
        })  # fmt: skip

        while self.diagnostics is None:
            self._answer(self._receive())

    def at(self, method: str, file: Path, line: int, column: int = 0) -> Any:
        position = {"line": line - 1, "character": column}
        where = {"textDocument": {"uri": file.as_uri()}, "position": position}
        return self.request(f"textDocument/{method}", where)

    def labels(self, file: Path, line: int) -> set[str]:
        found = self.at("completion", file, line)
        return {item["label"] for item in (found if isinstance(found, list) else found["items"])}

    def request(self, method: str, params: Any) -> Any:
        self._count += 1
        self._send({"id": self._count, "method": method, "params": params})
        while (message := self._receive()).get("id") != self._count or "method" in message:
            self._answer(message)
        return message["result"]

    def _answer(self, message: dict[str, Any]) -> None:
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics = message["params"]["diagnostics"]
        elif "id" in message:  # a request of the server
            items = message["params"].get("items") if message.get("params") else None
            self._send(
                {"id": message["id"], "result": None if items is None else [{} for _ in items]}
            )

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._server.stdin is not None
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self._server.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        stream = self._server.stdout
        assert stream is not None
        length = 0
        while (line := stream.readline()) != b"\r\n":
            assert line, "the server ended"
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        found: dict[str, Any] = json.loads(stream.read(length))
        return found


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / SCHEMA.name).write_bytes(SCHEMA.read_bytes())
    file = tmp_path / "x.toml"
    file.write_text(SCENE, "utf-8")
    return file


def test_the_committed_schema_is_that_of_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """Write it again with `pysim schema > scenes/pysim.schema.json`."""
    assert main(["schema"]) == 0
    printed = capsys.readouterr().out
    assert SCHEMA.read_text("utf-8") == printed
    assert json.loads(printed) == scene_schema()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_first_comment_of_a_scene_names_the_schema(file: Path) -> None:
    lines = file.read_text("utf-8").split("\n")
    head = lines[: next(k for k, line in enumerate(lines) if not line.startswith("#"))]
    (name,) = [line.removeprefix("#:schema ") for line in head if line.startswith("#:schema ")]
    assert (file.parent / name).resolve() == SCHEMA


def test_a_language_server_completes_keys_and_explains_them(scene: Path) -> None:
    with Server(scene.parent) as server:
        server.open(scene)
        keys = server.labels(scene, 13)
        assert {"damping", "axis", "limits", "start", "at", "mimic"} <= keys
        assert {"name", "type", "child", "step", "mass"}.isdisjoint(
            keys
        )  # given already, or of others
        assert {"duration", "integrator"} <= server.labels(scene, 16)
        hover = server.at("hover", scene, 15, 1)["contents"]["value"]
        assert "time step; by default that of an attached file, or 1e-3" in hover


def test_a_language_server_reports_an_unknown_key(scene: Path) -> None:
    with Server(scene.parent) as server:
        server.open(scene)
        assert server.diagnostics is not None
        (found,) = server.diagnostics
        assert found["message"] == '"mas" is not allowed'
        assert found["range"]["start"] == {"line": 6, "character": 0}


def linted(command: list[str], files: list[Path]) -> subprocess.CompletedProcess[str]:
    words = [command_of(command[0]), *command[1:], *map(str, files)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "command", [["taplo", "lint"], ["tombi", "lint", "--offline"]], ids=" ".join
)
def test_linters_accept_the_scenes_and_reject_a_mistake(scene: Path, command: list[str]) -> None:
    good = linted(command, FILES)
    assert good.returncode == 0, good.stderr
    assert "does not allow" not in good.stdout + good.stderr
    bad = linted(command, [scene])
    assert bad.returncode != 0
    assert "mas" in bad.stdout + bad.stderr
