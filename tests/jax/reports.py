"""The json format against docs/report.schema.json, over every spec of the tree, good and bad;
and the same input gives the same bytes."""

import json
import pathlib
import subprocess
import sys

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "build" / "tileproof"
SPECS = ["examples", "tests/rules", "tests/semantics", "tests/bad"]


def report(command, paths):
    args = [PROGRAM, command, "--format", "json", *paths]
    if command == "verify":
        args += ["--cases", "2"]
    result = subprocess.run(args, cwd=ROOT, capture_output=True)
    assert result.returncode in (0, 1, 3, 4), (command, paths, result.returncode, result.stderr)
    return result.stdout


def main():
    schema = json.loads((ROOT / "docs" / "report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    bad = 0
    for command in ("lint", "verify"):
        specs = 0
        for folder in SPECS:
            paths = sorted(str(p.relative_to(ROOT)) for p in (ROOT / folder).rglob("*.tile.json*"))
            assert paths, folder
            text = report(command, paths)
            if text != report(command, paths):
                bad += 1
                print(f"{command} {folder}: two runs differ", file=sys.stderr)
            document = json.loads(text)
            specs += len(document["specs"])
            for error in validator.iter_errors(document):
                bad += 1
                print(f"{command} {folder}: {error.json_path}: {error.message[:300]}", file=sys.stderr)
        print(f"reports: {specs} specs in the json of {command}, {bad} outside the schema")
    sys.exit(bad > 0)


main()
