"""pytest: *.tile.json files are tests, one for each rule and tier, and `tileproof` is a fixture.

    pytest --tileproof=verify            run `verify` instead of `lint` on the files
    pytest -k TP101                      one rule of each file
    def test_kernel(tileproof): tileproof.assert_safe(kernel, x, y)
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from . import api, binary, verification
from .errors import TileproofError

BAD = ("violated", "vacuous")
EXECUTED = ("TP107", "TP7")  # rules that execution alone meets
TIERS = ("all sizes", "algebra", "rounding", "bits")


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("tileproof")
    group.addoption("--tileproof", choices=("lint", "verify", "off"), default="lint", help="what to do with *.tile.json files")
    group.addoption("--tileproof-target", default=None, help="judge for this chip instead of the spec's")


def pytest_collect_file(parent: Any, file_path: Any) -> Any:
    if parent.config.getoption("--tileproof") != "off" and file_path.name.endswith((".tile.json", ".tile.jsonc")):
        return SpecFile.from_parent(parent, path=file_path)
    return None


@dataclasses.dataclass
class Outcome:
    """What the program says of one file."""

    code: int
    said: str
    report: dict[str, Any] | None

    @property
    def spec(self) -> dict[str, Any] | None:
        return self.report["specs"][0] if self.report and self.report["specs"] and self.report["specs"][0]["status"] == "ok" else None

    def rules(self) -> list[str]:
        return list(dict.fromkeys(f["rule"] for f in self.spec["findings"] if f["verdict"] != "advice")) if self.spec else []


class SpecFile(pytest.File):
    """Collecting lints, which says what rules apply; verify runs once, with the first item that asks."""

    def collect(self) -> Any:
        command = self.config.getoption("--tileproof")
        self._outcomes: dict[str, Outcome] = {}
        yield SpecItem.from_parent(self, name=command)
        for rule in self.outcome("lint").rules():
            yield RuleItem.from_parent(self, name=rule)
        if command == "verify" and self.outcome("lint").spec:
            yield RuleItem.from_parent(self, name="execution")
            for tier in TIERS:
                yield TierItem.from_parent(self, name=tier)

    def outcome(self, command: str) -> Outcome:
        if command not in self._outcomes:
            target = self.config.getoption("--tileproof-target")
            done = binary.run(command, "--format", "json", *(["--target", target] if target else []), str(self.path))
            try:
                report = binary.parsed(command, done)
            except TileproofError:
                report = None
            self._outcomes[command] = Outcome(done.returncode, done.stderr.strip(), report)
        return self._outcomes[command]


class SpecFailed(Exception):
    """tileproof found something; the message is its report."""


class SpecItem(pytest.Item):
    """The run itself: the file is a spec, and what fails it is the failure of another item."""

    def outcome(self) -> Outcome:
        return self.parent.outcome(self.config.getoption("--tileproof"))

    def runtest(self) -> None:
        o = self.outcome()
        bad = [f for s in (o.report or {"specs": []})["specs"] for f in s["findings"] if f["verdict"] in BAD and not f["suppressed"]]
        others = self.parent.outcome("lint").rules()
        mine = [f for f in bad if f["rule"] not in others and not (self.name == "verify" and f["rule"].startswith(EXECUTED))]
        if o.code not in (0, 4) and (mine or not bad or o.code != 1):
            raise SpecFailed("\n".join(filter(None, (o.said, *map(self.told, mine)))) or f"exit code {o.code}")

    def told(self, finding: dict[str, Any]) -> str:
        text, = api.findings({"name": self.path.name}, {"specs": [{"findings": [finding]}]})
        return f"{self.path}:{finding['line']}:{finding['column']}: {text}"

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, SpecFailed) else super().repr_failure(excinfo)

    def reportinfo(self) -> Any:
        return self.path, 0, f"tileproof {self.name}: {self.path.name}"


class RuleItem(SpecItem):
    """The findings of one rule, or of the execution, of one spec."""

    def runtest(self) -> None:
        o = self.outcome()
        if o.spec is None:
            pytest.skip("no report")
        mine = [f for f in o.spec["findings"] if (f["rule"].startswith(EXECUTED) if self.name == "execution" else f["rule"] == self.name)]
        bad = [f for f in mine if f["verdict"] in BAD and not f["suppressed"]]
        if bad and o.code not in (0, 4):
            raise SpecFailed("\n".join(map(self.told, bad)))
        unknown = next((f for f in mine if f["verdict"] == "unknown"), None)
        if unknown:
            pytest.skip(f"unknown: {unknown['message']}{': ' + unknown['reason'] if unknown['reason'] else ''}")


class TierItem(SpecItem):
    """One tier of the equivalence of one spec."""

    def runtest(self) -> None:
        o = self.outcome()
        compared = o.spec and o.spec.get("equivalence")
        tier = next((t for t in verification.tiers(o.spec["name"], compared) if t.name == self.name), None) if compared else None
        if tier is None or tier.verdict in ("unknown", "not-applicable"):
            pytest.skip(str(tier or "not compared"))
        if tier.verdict == "violated" and o.code not in (0, 4):
            raise SpecFailed(f"{self.path.name}: {tier}")


@pytest.fixture
def tileproof() -> Any:
    """The package: tileproof.check, assert_safe, assert_equivalent."""
    import tileproof as package

    return package
