"""The gallery: picture, comment and text of scenes, and pages that play some of them.

```{scene-pictures} pendulum gyroscope
```

inserts small pictures that lead to the entries, and

```{scenes} pendulum gyroscope
```

inserts the entries. `sphinx-build -D gallery_pages=1` runs the scenes of `PLAYED` and writes a page for each, which
takes some minutes and the extras `robots` and `web`.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import pysim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]
SCENES = DOCS.parent / "scenes"
PLAYED = (
    "double_pendulum",
    "gyroscope",
    "bricard",
    "stewart_platform",
    "robot_arm",
    "standing_up",
    "gripper",
    "wrecking_ball",
    "quadrotor",
    "knee",
)
HINTS = re.compile(r"(See|Conserved|Closed form):")


def page_of(name: str) -> str:
    """Return the path of the page that plays a scene, from the folder of the site."""
    return f"play/{name.replace('/', '-')}.html"


def entry_of(name: str) -> str:
    """Return the identifier of a scene's entry."""
    return f"scene-{name}".replace("/", "-").replace("_", "-")


def comment_of(text: str) -> str:
    """Return the first comment of a scene, without the line that names its schema."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("# "):
            break
        lines.append(line[2:].strip())
    return " ".join(" ".join(lines).split())


def plugins_of(text: str) -> list[str]:
    """Return the plugin files that a scene names."""
    found = re.search(r"^plugins *= *\[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    return re.findall(r'"([^"]+\.py)"', found[1]) if found else []


class Scenes(SphinxDirective):
    """Insert an entry for every scene that is named."""

    required_arguments = 1
    optional_arguments = 99
    final_argument_whitespace = True

    def names(self) -> list[str]:
        """Return the names of the scenes; a scene that does not exist is an error of the build."""
        names = " ".join(self.arguments).split()
        missing = [name for name in names if not (SCENES / f"{name}.toml").exists()]
        if missing:
            raise self.error(f"scenes/{missing[0]}.toml does not exist")
        return names

    def run(self) -> list[nodes.Node]:
        """Return the entries."""
        return [self.entry(name) for name in self.names()]

    def entry(self, name: str) -> nodes.section:
        """Return the section of a scene."""
        path = SCENES / f"{name}.toml"
        self.env.note_dependency(str(path))
        text = path.read_text("utf-8")
        section = nodes.section(ids=[entry_of(name)], names=[entry_of(name)])
        section += nodes.title("", "", nodes.Text(name.rpartition("/")[2].replace("_", " ")))
        self.state.document.note_explicit_target(section)
        section += self.picture(name)
        section += described(comment_of(text))
        plugins = plugins_of(text)
        code = " --allow-code" if plugins else ""
        command = f"pysim scenes/{name}.toml{code}"
        line = nodes.paragraph("", "", nodes.literal("", command))
        page = Path(self.env.app.outdir) / page_of(name)
        if self.config.gallery_pages and page.exists():
            target = f"../{page_of(name)}"
            line += nodes.Text(" · ")
            link = nodes.reference("", "play it in the browser", refuri=target, internal=False)
            line += [link, nodes.Text(f", {page.stat().st_size / 1e6:.1f} MB")]
        section += line
        section += folded(f"scenes/{name}.toml", text, "toml")
        for plugin in plugins:
            source = (path.parent / plugin).resolve()
            shown = source.relative_to(SCENES.parent).as_posix()
            section += folded(shown, source.read_text("utf-8"), "python")
        return section

    def picture(self, name: str) -> nodes.image:
        """Return the picture of a scene."""
        file = f"_static/scenes/{name.replace('/', '-')}.webp"
        if not (DOCS / file).exists():
            remedy = f"run python docs/gallery_pictures.py {name}"
            raise self.error(f"docs/{file} does not exist; {remedy}")
        self.env.note_dependency(str(DOCS / file))
        alt = f"The scene {name.rpartition('/')[2].replace('_', ' ')}"
        return nodes.image(uri=f"/{file}", alt=alt, classes=["scene-picture"], loading="lazy")


class ScenePictures(Scenes):
    """Insert small pictures that lead to the entries of a page of the gallery."""

    option_spec = {"page": str}  # noqa: RUF012, as docutils has it

    def run(self) -> list[nodes.Node]:
        """Return a grid of pictures."""
        grid = nodes.container(classes=["scene-grid"])
        for name in self.names():
            label = name.rpartition("/")[2].replace("_", " ")
            target = f"{self.options['page']}.html#{entry_of(name)}"
            link = nodes.reference("", "", refuri=target, internal=True)
            link += self.picture(name)
            caption = nodes.reference("", label, refuri=target, internal=True)
            grid += nodes.container(
                "", nodes.paragraph("", "", link), nodes.paragraph("", "", caption)
            )
        return [grid]


def described(comment: str) -> Iterator[nodes.Node]:
    """Yield the sentences of a comment; what is to be seen and what is conserved begin with a word in italics."""
    parts = HINTS.split(comment)
    yield nodes.paragraph("", parts[0].strip())
    if len(parts) > 1:
        paragraph = nodes.paragraph()
        for word, rest in zip(parts[1::2], parts[2::2], strict=True):
            paragraph += [nodes.emphasis("", f"{word}:"), nodes.Text(f" {rest.strip()} ")]
        yield paragraph


def folded(name: str, text: str, language: str) -> list[nodes.Node]:
    """Return a file's text that a click unfolds."""
    block = nodes.literal_block(text, text, language=language)
    start = f'<details class="scene-text"><summary><code>{name}</code></summary>'
    return [nodes.raw("", start, format="html"), block, nodes.raw("", "</details>", format="html")]


def write_pages(app: Sphinx) -> None:
    """Run the scenes of `PLAYED` and write their pages; those that are newer than their scene remain."""
    if not app.config.gallery_pages:
        return
    for name in PLAYED:
        source, page = SCENES / f"{name}.toml", Path(app.outdir) / page_of(name)
        if page.exists() and page.stat().st_mtime > source.stat().st_mtime:
            continue
        page.parent.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pysim.PysimWarning)
            run = pysim.simulate(pysim.load_scene(source, allow_code=True))
            pysim.render.web(run, page)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives and the option."""
    app.add_config_value("gallery_pages", False, "env", (bool, str, int))
    app.add_directive("scenes", Scenes)
    app.add_directive("scene-pictures", ScenePictures)
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
