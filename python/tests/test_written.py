"""Kernels as people write them: verify is ok; and of each defect that is planted it says the statement."""

import pytest
import written
from test_planted import changed

import tileproof

DEFECTS = [(name, n) for name, (_, defects) in written.KERNELS.items() for n in range(len(defects))]


def judge(module, name):
    return tileproof.verify(getattr(module, name), getattr(module, f"naive_{name}"), *module.KERNELS[name][0])


@pytest.mark.parametrize("name", written.KERNELS)
def test_a_kernel(name):
    report = judge(written, name)
    assert report.ok and not report.of("violated", "unknown"), report


@pytest.mark.parametrize(("name", "n"), DEFECTS)
def test_a_defect(tmp_path, name, n):
    made, line = changed(written, tmp_path, *written.KERNELS[name][1][n])
    report = judge(made, name)
    assert not report.ok and report.of("violated"), report
    assert f"{made.__file__}:{line}" in str(report), report
