"""pytest: *.tile.json files are tests, and `tileproof` is a fixture.

    pytest --tileproof=verify            run `verify` instead of `lint` on the files
    def test_kernel(tileproof): tileproof.assert_safe(kernel, x, y)
"""

from __future__ import annotations

from typing import Any

import pytest

from . import binary


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("tileproof")
    group.addoption("--tileproof", choices=("lint", "verify", "off"), default="lint", help="what to do with *.tile.json files")
    group.addoption("--tileproof-target", default=None, help="judge for this chip instead of the spec's")


def pytest_collect_file(parent: Any, file_path: Any) -> Any:
    if parent.config.getoption("--tileproof") != "off" and file_path.name.endswith((".tile.json", ".tile.jsonc")):
        return SpecFile.from_parent(parent, path=file_path)
    return None


class SpecFile(pytest.File):
    def collect(self) -> Any:
        yield SpecItem.from_parent(self, name=self.config.getoption("--tileproof"))


class SpecFailed(Exception):
    """tileproof found something; the message is its report."""


class SpecItem(pytest.Item):
    def runtest(self) -> None:
        target = self.config.getoption("--tileproof-target")
        options = ["--target", target] if target else []
        done = binary.run(self.name, "--color", "never", *options, str(self.path))
        if done.returncode not in (0, 4):
            raise SpecFailed((done.stdout + done.stderr).strip())

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, SpecFailed) else super().repr_failure(excinfo)

    def reportinfo(self) -> Any:
        return self.path, 0, f"tileproof {self.name}: {self.path.name}"


@pytest.fixture
def tileproof() -> Any:
    """The package: tileproof.check, assert_safe, assert_equivalent."""
    import tileproof as package

    return package
