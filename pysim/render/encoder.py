"""Encoder of movies by the ffmpeg of imageio-ffmpeg: mp4 (H.264), webm (VP9), or gif with its own palette."""

from __future__ import annotations

import subprocess
import tempfile
from typing import TYPE_CHECKING, Self

from pysim.errors import PysimError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from pysim.render.options import RenderOptions

PALETTE = "split[a][b];[a]palettegen=stats_mode=full[p];[b][p]paletteuse=dither=sierra2_4a"
RECIPES = {
    ".mp4": [
        "-c:v",
        "libx264",
        "-pix_fmt",
        "yuv420p",
        "-crf",
        "18",
        "-preset",
        "faster",
        "-movflags",
        "+faststart",
    ],
    ".webm": ["-c:v", "libvpx-vp9", "-crf", "24", "-b:v", "0", "-row-mt", "1", "-cpu-used", "4"],
    ".gif": ["-filter_complex", PALETTE, "-loop", "0"],
}


class Encoder:
    """Writer of frames (height, width, 3) of one size; an exception in its block terminates ffmpeg."""

    def __init__(self, path: Path, options: RenderOptions) -> None:
        from imageio_ffmpeg import get_ffmpeg_exe  # type: ignore[import-untyped]  # noqa: PLC0415

        width, height = options.size
        pixels = "rgba" if options.transparent else "rgb24"
        raw = f"-f rawvideo -pix_fmt {pixels} -s {width}x{height} -r {options.fps:.6f} -i -"
        command = [get_ffmpeg_exe(), "-y", "-loglevel", "error", *raw.split()]
        recipe = [*RECIPES[path.suffix.lower()]]
        if path.suffix.lower() == ".webm":
            recipe += ["-pix_fmt", "yuva420p" if options.transparent else "yuv420p"]
        command += ["-an", *recipe, str(path)]
        self.path = path
        self._said = tempfile.TemporaryFile()  # noqa: SIM115, closed in __exit__
        self._ffmpeg = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._said
        )

    def append(self, frame: NDArray[np.uint8]) -> None:
        """Add one frame."""
        pipe = self._ffmpeg.stdin
        assert pipe is not None
        try:
            pipe.write(frame.tobytes())
        except BrokenPipeError:
            raise self._failure() from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            if error is not None:
                self._ffmpeg.kill()
            self._hang_up()
            if self._ffmpeg.wait() != 0 and error is None:
                raise self._failure()
        finally:
            self._said.close()

    def _hang_up(self) -> None:
        pipe = self._ffmpeg.stdin
        assert pipe is not None
        try:
            pipe.close()
        except BrokenPipeError:
            return  # ffmpeg has ended; its exit status is reported

    def _failure(self) -> PysimError:
        self._ffmpeg.wait()
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        reason = lines[-1].lower() if lines else "no reason given"
        return PysimError(str(self.path), f"ffmpeg cannot write the movie, {reason}")
