"""What the program proposes in the language of specs, in the words of Python."""

from __future__ import annotations

import re
import struct
from typing import Any

JNP = ("abs argmax argmin bitwise_and ceil clip concatenate cos cosh cumsum dot equal exp exp2 expand_dims flip floor full log log1p log2 logical_and "
       "logical_not logical_or max maximum mean min minimum prod repeat reshape round sign sin sinh sqrt squeeze stack sum take tan tanh tile transpose where "
       "zeros").split()
JAX = {"erf": "lax.erf", "rsqrt": "lax.rsqrt", "iota": "lax.broadcasted_iota", "bitcast": "lax.bitcast_convert_type", "logistic": "nn.sigmoid", "silu": "nn.silu",
       "is_finite": "numpy.isfinite"}
DTYPES = r"(?:u?int(?:4|8|16|32|64)|bfloat16|float(?:16|32|64))"
WRITTEN = re.compile(r"start with `if (.+?): (.+?)`")
REDUCED = "`if k == 0:` with k the reduction axis"
TESTED = re.compile(r"`if (.+?):`")
LARGER = re.compile(r"(?<![\w.])(max|min)(?=\((?:[^(),=]|\([^()]*\))+, (?:[^(),=]|\([^()]*\))+\))")  # of two scalars
PART = re.compile(r"(?<![\w.])slice\((\w+(?:\[\.\.\.\])?), \(([\w +,]+?),?\), \(([\w +,]+?),?\)\)")
DECLARED = re.compile(r'declare `(\w+)` "(parallel|arbitrary)"')
ENTRIES = re.compile(r'declare what `(\w+)` holds: "values": \{"min": (-?\d+), "max": "([^"]+)"\}')
SHARED = re.compile(r'let `(\w+)` share the array of `(\w+)`: "alias": "\w+"')
LONG = re.compile(r"(?<![\w.])\d+\.\d{9,}(?:e[+-]\d+)?(?![\w.])")
PLACES = {'write a block n of the others as {"element": n}': "write a block n of the others as pl.Element(n)",
          REDUCED: "`@pl.when(pl.program_id(axis) == 0)` with the reduction axis", 'add "buffers": 1': "add pipeline_mode=pl.Buffered(1) to its BlockSpec", '"memory_space": "any"': "memory_space=pl.ANY"}


def spoken(spec: dict[str, Any], said: str, body: bool) -> str:
    """The same. `body`: of the kernel function, where an axis is told by pl.program_id."""
    for ours, theirs in PLACES.items():
        said = said.replace(ours, theirs)
    said = SHARED.sub(lambda m: m[0].partition(":")[0] + f": input_output_aliases={{{_number(spec, m[2])}: {_names(spec, 'outputs').index(m[1])}}}", said)
    said = DECLARED.sub(r'declare `\1` "\2" in dimension_semantics', said)
    said = ENTRIES.sub(_entries, said)
    said = LONG.sub(_short, said)
    said = WRITTEN.sub(r"start with `\2` under `@pl.when(\1)`", said)
    said = TESTED.sub(r"`@pl.when(\1)`", said)
    said = LARGER.sub(r"\1imum", said)
    said = PART.sub(_part, said)
    if not body:
        said = re.sub(r'\buse "([^"]+)"', r"use `\1`", said)
        said = re.sub(r"(?<=write )`[^`]*` in place of `[^`]*`", lambda m: m[0].replace('"', ""), said)
    axes = {axis["axis"]: n for n, axis in enumerate(spec.get("grid", []))}
    if axes:
        either = "|".join(axes)
        said = re.sub(rf"\bnum_programs\(({either})\)", lambda m: f"pl.num_programs({axes[m[1]]})", said)
        if body:
            said = re.sub(rf"(?<![\w.`])(?:{either})(?= [-+*/<>=!])|(?<=[-+*/<>=(] )(?:{either})(?![\w.(])|(?<=`)(?:{either})(?= [-+*/<>=!])",
                          lambda m: f"pl.program_id({axes[m[0]]})", said)
            said = re.sub(rf"(?<=write `)(?:{either})(?=`)|(?<= in place of `)(?:{either})(?=`)", lambda m: f"pl.program_id({axes[m[0]]})", said)
    said = re.sub(rf"(?<![\w.])(iota\(|preferred_element_type=|astype\(|(?:full|bitcast)\(.*?, )({DTYPES})\b", r"\1jnp.\2", said)
    said = re.sub(rf"(?<![\w.`])({'|'.join(JNP)})\((?!\))|(?<=`)({'|'.join(JNP)})\((?!\))", lambda m: f"jnp.{m[1] or m[2]}(", said)
    said = re.sub(rf"(?<![\w.])({'|'.join(JAX)})\(", lambda m: f"jax.{JAX[m[1]]}(", said)
    said = re.sub(r"(?<![\w.])cdiv\(", "pl.cdiv(", said)
    return re.sub(r"(?<![\w.])inf(?=[,)`]| \()", "jnp.inf", said) if "(" in said or "`" in said else said


def _names(spec: dict[str, Any], member: str) -> list[str]:
    return [o["name"] for o in spec.get(member, [])]


def _number(spec: dict[str, Any], name: str) -> int:
    """Which operand of the call it is."""
    operands = spec.get("x-python", {}).get("operands") or [*_names(spec, "scalar_prefetch"), *_names(spec, "inputs")]
    return operands.index(name)


def _part(m: re.Match[str]) -> str:
    """A part of an array, between two corners."""
    first, end = (corner.split(", ") for corner in m.groups()[1:])
    return f"{m[1]}[{', '.join(f'{a}:{b}' for a, b in zip(first, end, strict=True))}]" if len(first) == len(end) else m[0]


def _entries(m: re.Match[str]) -> str:
    """What a table holds, as a caller says it."""
    name, least, most = m.groups()
    return f'declare what `{name}` holds: values={{"{name}": ({least}, {most if most.isdecimal() else repr(most)})}}'


def _short(m: re.Match[str]) -> str:
    """A number of float32 in its fewest digits, where it is one."""
    def narrow(text: str) -> float:
        return struct.unpack("f", struct.pack("f", float(text)))[0]

    if narrow(m[0]) != float(m[0]):
        return m[0]
    return next((repr(float(t)) for digits in range(1, 10) if narrow(t := f"{float(m[0]):.{digits}g}") == float(m[0])), m[0])
