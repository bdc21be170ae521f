"""docs/spec.schema.json agrees with the reader, on every spec of the tree and on mutated ones.

What the schema refuses the reader refuses. What the reader calls a structural error (TP001) the schema
refuses, but for relations between members, which a schema cannot say: RELATIONS lists them.
"""

import copy
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
TILEPROOF = os.environ.get("TILEPROOF", str(ROOT / "build" / "tileproof"))
RELATIONS = re.compile(
    r"block_shape has|index_map has|shard has|block_shape without|index_map without|is shadowed|indent|statement|an entry of a table is|a dimension of a table"
)
OTHER = [None, True, 7, -3, 1.5, "M", "", [], [1], {}, {"a": 1}, "unknown word"]


def places(value, path=()):
    """Every member and element below a document, but not inside x-…."""
    if isinstance(value, dict):
        for key, v in value.items():
            if not key.startswith("x-"):
                yield (*path, key)
                yield from places(v, (*path, key))
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield (*path, i)
            yield from places(v, (*path, i))


def mutated(doc, rng):
    doc = copy.deepcopy(doc)
    path = rng.choice(list(places(doc)))
    parent = doc
    for step in path[:-1]:
        parent = parent[step]
    last, how = path[-1], rng.randrange(4)
    if how == 0 and isinstance(parent, dict):
        parent[last + "x"] = parent.pop(last)
    elif how == 1:
        del parent[last]
    elif how == 2 and isinstance(parent, dict):
        parent[rng.choice(["nme", "shapes", "x-note", "$comment", "$other"])] = 1
    else:
        parent[last] = rng.choice(OTHER)
    return doc, path


def read_all(folder):
    done = subprocess.run(
        [TILEPROOF, "lint", "--config", "none", "--format", "json", "--select", "TP006", str(folder)],
        capture_output=True, text=True,
    )
    out = {}
    for spec in json.loads(done.stdout)["specs"]:
        first = spec["findings"][0] if spec["findings"] else None
        out[pathlib.Path(spec["path"]).name] = None if spec["status"] == "ok" else (first["rule"], first["message"])
    return out


def main():
    seed = int(os.environ.get("TEST_SEED", "1"))
    rng = random.Random(seed)
    schema = json.loads((ROOT / "docs" / "spec.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    paths = sorted(p for folder in ("tests/rules", "tests/semantics", "examples") for p in (ROOT / folder).rglob("*.tile.json"))
    docs = {}
    for i, p in enumerate(paths):
        doc = json.loads(p.read_text())
        docs[f"{i}_0.tile.json"] = (doc, p.name)
        for m in range(1, int(os.environ.get("TEST_MUTATIONS", "8")) + 1):
            changed, at = mutated(doc, rng)
            docs[f"{i}_{m}.tile.json"] = (changed, f"{p.name} changed at {at}")
    wrong, refused, structural, related = [], 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (doc, _) in docs.items():
            (pathlib.Path(folder) / name).write_text(json.dumps(doc))
        verdicts = read_all(folder)
    for name, (doc, what) in docs.items():
        said, by_schema = verdicts[name], next(validator.iter_errors(doc), None)
        refused += said is not None
        structural += bool(said) and said[0] == "TP001"
        if by_schema is not None and said is None:
            wrong.append(f"{what}: only the schema refuses it: {by_schema.json_path}: {by_schema.message[:100]}")
        elif by_schema is None and said and said[0] == "TP001":
            if RELATIONS.search(said[1]):
                related += 1
            else:
                wrong.append(f"{what}: only the reader refuses it: {said[1]}")
    for w in wrong[:20]:
        print("schema:", w)
    print(f"schema: {len(docs)} specs (seed {seed}), {refused} refused by the reader, {structural} of them for their "
          f"structure ({related} for relations), {len(wrong)} disagreements")
    return 1 if wrong or structural < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
