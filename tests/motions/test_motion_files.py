"""Files of motions (.mot, .sto) and markers (.trc). The oracle is what OpenSim 4.6 writes and reads, stored here."""

from __future__ import annotations

import numpy as np
import pytest

from pysim.errors import TrajectoryError
from pysim.motions import (
    Markers,
    MotionTable,
    read_markers,
    read_table,
    write_markers,
    write_table,
)

OLD = """Coordinates
nRows=2
nColumns=3
inDegrees=yes

Units are S.I. units (second, meters, Newtons, ...)
endheader
time\thip\tslide
0\t30\t0.1
0.5\t-15.5\t2e-1
"""
OLDER = "name old\ndatacolumns 2\ndatarows 1\nrange 0 1\nendheader\ntime x\n 0.0 1.0\n"
TRC = """PathFileType\t4\t(X/Y/Z)\twalk.trc
DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames
60.00\t60.00\t2\t2\tmm\t60.00\t1\t2
Frame#\tTime\tLASI\t\t\tRASI\t\t
\t\tX1\tY1\tZ1\tX2\tY2\tZ2

1\t0.0\t100\t200\t300\t-1.5\t2\t3
2\t0.0166667\t101\t201\t301\t\t\t
"""


def test_a_table_is_read_with_its_header(tmp_path):
    (tmp_path / "a.mot").write_text(OLD, "utf-8")
    table = read_table(tmp_path / "a.mot")
    assert table.in_degrees
    assert table.columns == ("hip", "slide")
    assert table.times.tolist() == [0.0, 0.5]
    assert table.column("hip").tolist() == [30.0, -15.5]
    (tmp_path / "b.mot").write_text(OLDER, "utf-8")
    older = read_table(tmp_path / "b.mot")
    assert (older.columns, older.in_degrees) == (("x",), False)


def test_a_written_table_reads_as_the_same_numbers(tmp_path):
    rng = np.random.default_rng(1)
    table = MotionTable(np.sort(rng.random(5)), ("a b", "/c/value"), rng.normal(size=(5, 2)), True)
    write_table(tmp_path / "t.sto", table)
    again = read_table(tmp_path / "t.sto")
    assert again.columns == table.columns
    assert again.in_degrees
    assert np.array_equal(again.times, table.times)
    assert np.array_equal(again.values, table.values)


def test_markers_are_read_in_metres_with_gaps(tmp_path):
    (tmp_path / "m.trc").write_text(TRC, "utf-8")
    markers = read_markers(tmp_path / "m.trc")
    assert markers.names == ("LASI", "RASI")
    assert np.allclose(markers.positions[0], [[0.1, 0.2, 0.3], [-0.0015, 0.002, 0.003]])
    assert np.isnan(markers.positions[1, 1]).all()


def test_written_markers_read_as_the_same_positions(tmp_path):
    positions = np.random.default_rng(2).normal(size=(4, 3, 3))
    positions[1, 2] = np.nan
    markers = Markers(np.arange(4) / 100.0, ("a", "b", "c"), positions)
    write_markers(tmp_path / "m.trc", markers)
    again = read_markers(tmp_path / "m.trc")
    assert again.names == markers.names
    assert np.allclose(again.positions, positions, atol=1e-15, equal_nan=True)


FAULTS = {
    "a.mot:no endheader": ("x\ntime a\n0 1\n", "has no line `endheader`"),
    "a.mot:no labels": ("endheader\n", "has no labels after the header"),
    "a.mot:no time": ("endheader\nx y\n0 1\n", "the first column is 'x', not time"),
    "a.mot:twice": ("endheader\ntime a a\n0 1 2\n", "two columns are 'a'"),
    "a.mot:short": ("endheader\ntime a b\n0 1\n", "has 2 numbers for 3 columns"),
    "a.mot:word": ("endheader\ntime a\n0 one\n", "could not convert"),
    "a.mot:rows": ("nRows=3\nendheader\ntime a\n0 1\n", "states 3 rows, and there are 1"),
    "a.mot:back": ("endheader\ntime a\n1 1\n0 1\n", "time must increase, got 1 s before 0 s"),
    "a.mot:degrees": ("inDegrees=maybe\nendheader\ntime a\n0 1\n", "inDegrees is 'maybe'"),
    "a.trc:head": ("Markers\n", "does not begin with PathFileType"),
    "a.trc:unit": (TRC.replace("\tmm\t", "\tft\t"), "unknown unit 'ft'"),
    "a.trc:names": (TRC.replace("LASI", "").replace("RASI", ""), "names no markers"),
    "a.trc:twice": (TRC.replace("RASI", "LASI"), "two markers are 'LASI'"),
    "a.trc:frames": (TRC.replace("\t2\t2\tmm", "\t9\t2\tmm"), "states 9 frames, and there are 2"),
    "a.trc:word": (TRC.replace("\t101\t", "\tx\t"), "could not convert"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_mistake_in_a_file_is_reported_with_its_place(tmp_path, fault):
    text, message = FAULTS[fault]
    file = tmp_path / fault.partition(":")[0]
    file.write_text(text, "utf-8")
    with pytest.raises(TrajectoryError, match=r"a\.(mot|trc)") as caught:
        (read_table if file.suffix == ".mot" else read_markers)(file)
    assert message in str(caught.value)
