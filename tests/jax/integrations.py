"""The files of integrations/, action.yml and .pre-commit-hooks.yaml, used as their platforms use them."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOOD = ROOT / "examples" / "elementwise" / "add_2d.tile.json"
BAD = ROOT / "examples" / "broken" / "index_plus_one.tile.json"


def run(command, cwd, env=None, **more):
    path = f"{ROOT / 'build'}{os.pathsep}{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(command, cwd=cwd, env={**os.environ, "PATH": path, **(env or {})}, capture_output=True, text=True, **more)


def pre_commit(room):
    """Both hooks, from a repository that has them, on a repository with specs."""
    def git(*args, cwd):
        run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *args], cwd, check=True)

    hooks, repo = room / "hooks", room / "repo"
    for folder in (hooks, repo):
        folder.mkdir()
        git("init", "-q", cwd=folder)
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
    git("add", ".", cwd=hooks)
    git("commit", "-qm", "hooks", cwd=hooks)
    shutil.copy(GOOD, repo)
    (repo / "other.json").write_text("{}")
    git("add", ".", cwd=repo)
    home = {"PRE_COMMIT_HOME": str(room / "home")}
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(hooks), "--all-files", "--verbose"]
    done = run(command, repo, home)
    assert done.returncode == 0 and "0 violated" in done.stdout, done.stdout + done.stderr
    shutil.copy(BAD, repo)
    text = json.dumps(json.loads(GOOD.read_text()))
    (repo / "ugly.tile.json").write_text(text)
    git("add", ".", cwd=repo)
    done = run(command, repo, home)
    assert done.returncode != 0 and "error[TP101]" in done.stdout, done.stdout
    assert (repo / "ugly.tile.json").read_text() == GOOD.read_text(), "the fmt hook writes the canonical form"


def action(room):
    """The steps of the composite action, in its shell, with the runner's files."""
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    check = next(s for s in steps if s.get("id") == "check")
    build = next(s for s in steps if "make" in s["run"])
    assert run(["bash", "-n", "-c", build["run"]], room).returncode == 0
    for path, code in ((GOOD, 0), (BAD, 1)):
        env = {
            "GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": str(room), "GITHUB_STEP_SUMMARY": str(room / "summary"),
            "GITHUB_OUTPUT": str(room / "output"), "TP_COMMAND": "lint", "TP_PATHS": str(path), "TP_ARGS": "--config none",
            "TP_SARIF": str(room / "tileproof.sarif"),
        }
        assert set(check["env"]) <= set(env)
        done = run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", check["run"]], room, env)
        assert done.returncode == code, done.stdout + done.stderr
        assert ("::error file=" in done.stdout) == (code == 1)
        assert f"exit-code={code}" in (room / "output").read_text()
        assert json.loads((room / "tileproof.sarif").read_text())["version"] == "2.1.0"
    assert "TP101" in (room / "summary").read_text()
    shutil.copy(BAD, room / "--ignore=TP101.tile.json")
    for paths, args, code in ((GOOD, "--nonsense", 2), ("--ignore=TP101.tile.json", "--config none", 1), ("gone.tile.json", "", 3)):
        (room / "output").unlink()
        done = run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", check["run"]], room, {**env, "TP_PATHS": str(paths), "TP_ARGS": args})
        assert done.returncode == code, done.stdout + done.stderr
        assert f"exit-code={code}" in (room / "output").read_text()


def gitlab(room):
    job = yaml.safe_load((ROOT / "integrations" / "gitlab-ci.yml").read_text())["tileproof"]
    shutil.copy(BAD, room)
    done = run(["bash", "-eo", "pipefail", "-c", "\n".join(job["script"])], room)
    assert done.returncode == 1, done.stdout + done.stderr
    for name in job["artifacts"]["reports"].values():
        assert (room / name).stat().st_size > 0, name


def matcher(room):
    patterns = [m["pattern"][0] for m in json.loads((ROOT / "integrations" / "problem-matcher.json").read_text())["problemMatcher"]]
    done = run(["tileproof", "lint", "--config", "none", "--format", "concise", str(ROOT / "tests" / "rules"), str(ROOT / "tests" / "bad")], room)
    used = set()
    for line in filter(None, done.stdout.splitlines()):
        found = [(p, m) for p in patterns if (m := re.match(p["regexp"], line))]
        assert len(found) == 1, line
        pattern, match = found[0]
        used.add(pattern["regexp"])
        assert pathlib.Path(match[pattern["file"]]).exists() and int(match[pattern["line"]]) > 0 and match[pattern["code"]].startswith("TP")
    assert len(used) == len(patterns)


def vscode(room):
    settings = json.loads((ROOT / "integrations" / "vscode-settings.json").read_text())
    for entry in settings["json.schemas"]:
        jsonschema.Draft202012Validator.check_schema(json.loads((ROOT / entry["url"]).read_text()))
    schema = json.loads((ROOT / settings["json.schemas"][1]["url"]).read_text())
    validator = jsonschema.Draft202012Validator(schema)
    assert not list(validator.iter_errors({"format": "concise", "ignore": ["TP601"], "jobs": 2, "quiet": True}))
    for wrong in ({"formt": "json"}, {"quiet": 1}, {"format": ""}, []):
        assert list(validator.iter_errors(wrong)), wrong


def dask(room):
    """Eight shards by several worker processes: the report, its exit code and every byte of it as from one call."""
    specs = room / "specs"
    shutil.copytree(ROOT / "examples", specs, ignore=shutil.ignore_patterns("data", "*.c", "*.cpp"))
    command = ["lint", "--config", "none", "specs"]
    one = run(["tileproof", *command, "--format", "json", "-j", "1"], room)
    many = run([sys.executable, str(ROOT / "integrations" / "dask_shards.py"), "many.json", *command], room, timeout=600)
    assert many.returncode == one.returncode == 1, many.stderr
    assert (room / "many.json").read_text() == one.stdout
    said = re.search(r"^(\d+) shards by (\d+) processes$", many.stderr, re.MULTILINE)  # a cluster that closes may log after it
    assert said and int(said[1]) == 8 and int(said[2]) > 1, many.stderr


def main():
    code = 0
    for use in (pre_commit, action, gitlab, matcher, vscode, dask):
        with tempfile.TemporaryDirectory() as room:
            try:
                use(pathlib.Path(room))
                print(f"integrations: {use.__name__}: works")
            except (AssertionError, subprocess.CalledProcessError, KeyError, StopIteration) as e:
                print(f"integrations: {use.__name__}: {e}")
                code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
