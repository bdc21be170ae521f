"""Is the wheel what its name says? By `auditwheel show`: nothing newer than the platform tag, and no library of others but
libz3.so, which the dependency z3-solver brings.

    audit_wheel.py WHEEL
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

TAG = "manylinux_2_28_x86_64"


def main():
    wheel = pathlib.Path(sys.argv[1])
    z3 = importlib.util.find_spec("z3").submodule_search_locations[0]
    done = subprocess.run([str(pathlib.Path(sys.executable).parent / "auditwheel"), "show", "--json", str(wheel)], capture_output=True, text=True, check=True,
                          env={**os.environ, "AUDITWHEEL_LD_LIBRARY_PATH": f"{z3}/lib"})
    said = json.loads(done.stdout)

    def release(tag):
        return tuple(map(int, tag.removeprefix("manylinux_").split("_")[:2]))

    others = sorted(said["external_libs"].get(TAG, said["external_libs"]))
    if TAG not in wheel.name or release(said["sym_tag"]) > release(TAG) or said["unsupported_isa"] or others != ["libz3.so"]:
        sys.exit(f"wheel: {wheel.name} asks for {said['sym_tag']} and for {', '.join(others) or 'no library'}; its tag may be {TAG}, with libz3.so\n{done.stdout}")
    print(f"wheel: auditwheel finds symbols of {said['sym_tag']}, and no library of others but libz3.so")


main()
