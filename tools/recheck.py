#!/usr/bin/env python3
"""A second checker of certificate files: tools/recheck.py FILE...

Written from docs/CERTIFICATES.md alone: it shares no line with smt/trust/, and
searches nothing. This file reads, and asks recheck_steps.py what each step
establishes. It checks statements and proofs; that they are what some spec asks for is checked by
`tileproof recheck FILE SPEC`.

Exit code: 0 all accepted, 1 something was refused, 3 a file cannot be read or
holds no certificate, 4 nothing was refused and some obligation has no proof.
"""
import json
import sys
import threading

from recheck_steps import (LEVELS, NODES, OPERATIONS, STEPS_DEEP, VARIABLES, Polynomials, Pool, Refused, State,
                           Variable, fits, need)

COUNT, LINE_BYTES = 2**31 - 1, 8 << 20
GRADES = {"cert", "exact", "z3+cvc5", "z3", "cvc5"}
UNARY = {"-": "neg", "not": "not", "next_power_of_2": "next_power_of_2"}
# Members: int is an integer, "count" one >= 0, "symbol" and "node" are nodes.
STEPS = {"choices": {"variable": "symbol"}, "multiple": {"variable": "symbol", "factor": int, "symbol": "symbol"},
         "divided": {"variable": "symbol", "value": "symbol", "symbol": "symbol"}, "refute": {},
         "split": {"hypothesis": "count"}, "let": {"hypothesis": "count", "symbol": "symbol", "value": "node"},
         "absurd": {"hypothesis": "count"}, "points": {}, "lines": {"lines": list},
         "bound": {"variable": "symbol"}}  # and at_least or at_most
LINES = {"fact": ["count"] * 2, "lower": ["symbol"], "upper": ["symbol"], "definition": ["node", "count", "count"],
         "cancel": ["node", "count", "count"], "ends": ["node"] + ["count"] * 4,
         "cases": ["node", "node", "count", "count"]}


class Unreadable(Exception):
    """The text is not of the format."""


def form(condition, why):
    need(condition, why, Unreadable)


def no_number(text):
    raise Unreadable(f"{text} is no integer")


def integer(text):
    form(len(text) <= 20 and fits(int(text)), "an integer beyond 64 bits")
    return int(text)


def unique(pairs):
    form(len(dict(pairs)) == len(pairs), "a key stands there twice")
    return dict(pairs)


def read_json(text):
    try:
        row = json.loads(text.decode("utf-8"), object_pairs_hook=unique, parse_int=integer, parse_float=no_number,
                         parse_constant=no_number)
        written = json.dumps(row, ensure_ascii=False)
        written.encode("utf-8")  # half a surrogate pair is no character
    except (ValueError, RecursionError) as e:
        raise Unreadable(f"this is no JSON: {e}") from None
    form("\\u0000" not in written.replace("\\\\", ""), "a string has a NUL character")
    return row


def typed(value, *kinds):
    form(type(value) in kinds, "something of another type is expected")
    return value


def members(row, required, optional=()):
    typed(row, dict)
    for key in list(required) + list(row):
        form(key in row, f"{key} is missing")
        form(key in required or key in optional, f"there is no place for {key}")


class Obligation:
    """One line: its statement and its proof."""

    def __init__(self, row):
        self.pool, self.nodes, self.proof = Pool(), [None], row["proof"]
        for node in typed(row["nodes"], list):
            self.nodes.append(self.read_node(*typed(node, list)))
        self.variables = [self.read_variable(v) for v in typed(row["variables"], list)]
        self.premises = [self.read("node", n) for n in typed(row["premises"], list)]
        self.goal = self.read("node", row["goal"])
        self.pool.limits = NODES, LEVELS

    def read(self, kind, value):
        if kind in (int, list):
            return typed(value, kind)
        if kind == "count":
            form(type(value) is int and 0 <= value <= COUNT, "a number >= 0 is expected")
            return value
        form(type(value) is int and 1 <= value < len(self.nodes), "there is no such node before")
        form(kind == "node" or self.pool.ops[self.nodes[value]] == "sym", "this is no symbol")
        return self.nodes[value]

    def read_node(self, op="", *rest):
        if op in ("const", "sym") and type(op) is str:
            form(len(rest) == 1, "a constant has a value, a symbol a name")
            form(op == "const" or rest[0] not in self.pool.names, "two symbols of one name")
            return self.pool.const(typed(rest[0], int)) if op == "const" else self.pool.symbol(typed(rest[0], str))
        args = [self.read("node", n) for n in rest]
        op = UNARY.get(typed(op, str)) if len(args) == 1 else op
        form(len(args) == (1 if op in UNARY.values() else 3 if op == "if" else 2) and (op == "if" or op in OPERATIONS),
             "there is no such operation")
        return self.pool.make(op, *args)

    def read_variable(self, row):
        members(row, ("symbol", "lo", "hi"), ("multiple_of", "choices"))
        lo, hi = (None if row[side] is None else self.read("node", row[side]) for side in ("lo", "hi"))
        choices = [typed(c, int) for c in typed(row["choices"], list)] if "choices" in row else None
        return Variable(self.read("symbol", row["symbol"]), lo, hi, typed(row.get("multiple_of", 1), int), choices)

    def read_step(self, row, level=1):
        """With expressions instead of the numbers of nodes."""
        need(level <= STEPS_DEEP, "the proof is too deep")
        form(type(row) is dict and type(row.get("by")) is str and row["by"] in STEPS, "a step is expected")
        by, wanted = row["by"], dict(STEPS[row["by"]])
        wanted.update({"at_least" if "at_least" in row else "at_most": int} if by == "bound" else {})
        members(row, ["by", *wanted] + ([] if by in ("absurd", "points", "lines") else ["cases"]))
        step = {key: self.read(kind, row[key]) for key, kind in wanted.items()}
        if by == "lines":
            step["lines"] = [self.read_line(*typed(line, list)) for line in row["lines"]]
        return {**step, "by": by, "cases": [self.read_step(c, level + 1) for c in typed(row.get("cases", []), list)]}

    def read_line(self, rule="", *rest):
        if rule == "sum":
            form(all(typed(r, list) for r in rest), "a product has a coefficient")
            return rule, *([typed(c, int), *(self.read("count", n) for n in lines)] for c, *lines in rest)
        form(typed(rule, str) in LINES and len(rest) == len(LINES[rule]), "there is no such line")
        return rule, *map(self.read, LINES[rule], rest)

    def check(self):
        self.check_statement()
        if self.proof is not None:
            hypotheses = [(p, False) for p in self.premises] + [(self.goal, True)]
            self.check_step(State(self.pool, self.variables, hypotheses, Polynomials(self.pool, {}, {})),
                            self.read_step(self.proof))

    def check_statement(self):
        pool, declared = self.pool, 0
        need(len(self.variables) <= VARIABLES, "too many variables")
        for v in self.variables:
            need(not pool.mask[v.symbol] & declared, "a variable is declared twice")
            need(v.multiple_of >= 1, "multiple_of is less than 1")
            need(not any(pool.mask[b] & ~declared for b in v.bounds), "a bound depends on something other than earlier variables")
            lo, hi = (None if b is None else pool.value(b) for b in (v.lo, v.hi))
            if v.choices is not None:
                need(v.choices, "there are no choices")
                need(all(a < b for a, b in zip(v.choices, v.choices[1:])), "choices do not ascend")
                need(all(pool.value(b) is not None for b in v.bounds), "choices beside bounds that are no constants")
                need(all(c % v.multiple_of == 0 for c in v.choices), "a choice is no multiple")
                need((lo is None or lo <= v.choices[0]) and (hi is None or v.choices[-1] <= hi), "a choice out of bounds")
            elif lo is not None and hi is not None:
                need(-(-lo // v.multiple_of) * v.multiple_of <= hi, "a variable has no values")
            declared |= pool.mask[v.symbol]

    def check_step(self, state, step):
        given = iter(step["cases"])
        for case in getattr(state, "step_" + step["by"])(step):
            one = next(given, None)
            need(one is not None, "a case is missing")
            self.check_step(case, one)
        need(next(given, None) is None, "there are more cases than asked for")


class File:
    """A file, read line by line and held against the lists of its sections."""

    def __init__(self, path):
        self.path, self.line, self.listed = path, 0, []
        self.accepted = self.refused = self.unproven = self.derivations = 0

    def read(self):
        with open(self.path, "rb") as f:
            while text := f.readline(LINE_BYTES + 1):
                self.line += 1
                form(len(text) <= LINE_BYTES, "the line is too long")
                row = read_json(text)
                if self.line == 1:
                    form(row == {"tileproof_certificates": 2}, "this is no file of certificates of format 2")
                elif "section" in typed(row, dict):
                    self.end_section()
                    self.listed = self.read_section(row)[::-1]
                elif "derivation" in row:
                    self.read_derivation(row)
                else:
                    self.read_obligation(row)
        self.end_section()
        form(self.accepted + self.refused + self.unproven + self.derivations, "there is no certificate in it")

    def read_section(self, row):
        kinds = dict.fromkeys(("section", "sha256", "target", "tool", "command"), str)
        kinds.update(dict.fromkeys(("rules", "dtypes", "obligations"), list))
        members(row, kinds)
        for key, kind in kinds.items():
            typed(row[key], kind)
        form(row["command"] in ("lint", "verify"), "there is no such command")
        strings = row["rules"] + row["dtypes"] + [s for entry in row["obligations"] for s in typed(entry, list)]
        form(all(type(s) is str for s in strings), "a string is expected")
        form(all(len(entry) == 3 and entry[2] in GRADES for entry in row["obligations"]), "an entry is no entry")
        return row["obligations"]

    def end_section(self):
        while self.listed:
            self.refuse(self.listed.pop(), "the list of its section has it, and the file does not")

    def read_derivation(self, row):
        """That it is where its section lists it; replaying it is not done here."""
        keys = ("spec", "derivation", "nodes", "variables", "premises", "reals", "sides", "steps", "kernel", "reference")
        members(row, keys)
        names = [typed(row["spec"], str), "derivation of " + typed(row["derivation"], str), "cert"]
        if self.listed and self.listed[-1] == names:
            self.listed.pop()
            self.derivations += 1
        else:
            self.refuse(names, "it is not what the list of its section has here")

    def read_obligation(self, row):
        members(row, ("spec", "obligation", "grade", "nodes", "variables", "premises", "goal", "proof"))
        names = [typed(row[key], str) for key in ("spec", "obligation", "grade")]
        form(names[2] in GRADES, "there is no such grade")
        try:
            need(self.listed and self.listed[-1] == names, "it is not what the list of its section has here")
            self.listed.pop()
            need(row["proof"] is not None or names[2] != "cert", "there is no proof, and the grade is cert")
            Obligation(row).check()
            self.accepted += row["proof"] is not None
            self.unproven += row["proof"] is None
        except Refused as e:
            self.refuse(names, e)

    def refuse(self, names, why):
        self.refused += 1
        print(f"{self.path}:{self.line}: {names[0]} {names[1]}: refused: {why}")


def check_file(path):
    file = File(path)
    try:
        file.read()
    except (OSError, Unreadable) as e:
        print(f"recheck.py: {path}:{file.line}: {e}", file=sys.stderr)
        return 3
    rest = f"; {file.unproven} without a proof" if file.unproven else ""
    rest += f"; {file.derivations} derivations not replayed" if file.derivations else ""
    print(f"{path}: {file.accepted} accepted, {file.refused} refused{rest}")
    return 1 if file.refused else 4 if file.unproven else 0


def main(paths):
    if not paths or paths[0].startswith("-"):
        return print("usage: tools/recheck.py FILE...", file=sys.stderr) or 2
    codes = {check_file(path) for path in paths}
    return next(code for code in (1, 3, 4, 0) if code in codes)


def with_room(function, *args):
    """Expressions and proofs may be as deep as the limits say: calls it with a stack that has room for that."""
    result = [5]
    sys.setrecursionlimit(30_000)
    threading.stack_size(512 << 20)
    thread = threading.Thread(target=lambda: result.append(function(*args)))
    thread.start()
    thread.join()
    return result[-1]


if __name__ == "__main__":
    sys.exit(with_room(main, sys.argv[1:]))
