"""What a certificate's steps establish: expressions, their polynomials, proofs.

Written from docs/CERTIFICATES.md alone: it shares no line with smt/trust/, and
searches nothing. This is what the second checker (tools/recheck.py) rests on;
where a step is not accepted, or too large, it raises Refused.
"""
from math import gcd

LEAST, MOST = -2**63, 2**63 - 1
NODES_READ, LEVELS_READ, NODES, LEVELS = 10_000, 300, 100_000, 1_000
VARIABLES, SYMBOLS, STEPS_DEEP, VALUES = 256, 4_096, 400, 300_000
TERMS, BITS, DEGREE, WORK = 2_000, 8_192, 255, 4_000_000
DIVISIONS, COMPARISONS, TRUTHS = {"//", "%", "cdiv"}, {"==", "!=", "<", "<=", ">", ">="}, {"and", "or", "implies"}
NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
OPERATIONS = {
    "neg": lambda x, _: -x, "not": lambda x, _: not x, "next_power_of_2": lambda x, _: 1 << max(x - 1, 0).bit_length(),
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "//": lambda x, y: x // y,
    "%": lambda x, y: x % y, "cdiv": lambda x, y: -(-x // y), "align_up": lambda x, y: -(-x // y) * y, "min": min,
    "max": max, "&": lambda x, y: x & y, "|": lambda x, y: x | y, "^": lambda x, y: x ^ y,
    "<<": lambda x, y: x << y if y < 64 else None, ">>": lambda x, y: x >> min(y, 64),
    "==": lambda x, y: x == y, "!=": lambda x, y: x != y, "<": lambda x, y: x < y, "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y, ">=": lambda x, y: x >= y, "and": lambda x, y: bool(x and y),
    "or": lambda x, y: bool(x or y), "implies": lambda x, y: bool(not x or y)}


class Refused(Exception):
    """A statement or a proof that is not accepted."""


def need(condition, why, otherwise=Refused):
    if not condition:
        raise otherwise(why)


def fits(value):
    return value is not None and LEAST <= value <= MOST


def operate(op, x, y=0):
    """The value of an operation (not `if`) on values that fit; None: it has none that fits."""
    if op in ("//", "%", "cdiv", "align_up") and y == 0 or op in ("<<", ">>") and y < 0:
        return None
    value = OPERATIONS[op](x, 0 if op == "<<" and not x else y)
    return int(value) if fits(value) else None


class Pool:
    """Expressions of one obligation, each a number: the same number for the same expression."""

    def __init__(self):
        self.ops, self.args, self.size, self.depth, self.mask = [], [], [], [], []  # mask: a bit for each symbol in it
        self.ids, self.names, self.work, self.limits = {}, set(), WORK, (NODES_READ, LEVELS_READ)

    def spend(self, units=1):
        self.work -= units
        need(self.work >= 0, "it takes too much work")

    def make(self, op, *args):
        """Builds one node; simplifies at it and nowhere else."""
        values = [self.value(a) for a in args]
        first, last = values[0], values[-1]
        if op == "if" and first is not None:
            return args[1] if first else args[2]
        if op != "if" and None not in values and (value := operate(op, *values)) is not None:
            return self.const(value)
        if op in ("+", "-") and last == 0 or op in ("*", "//", "cdiv") and last == 1:
            return args[0]
        if op == "+" and first == 0 or op == "*" and first == 1:
            return args[1]
        return self.intern(op, args, args)

    def const(self, value):
        return self.intern("const", (value,), ())

    def symbol(self, name):
        need(len(self.names) < SYMBOLS, "too many symbols")
        self.names.add(name)
        return self.intern("sym", (name,), ())

    def intern(self, op, args, children):
        self.spend()
        if (op, args) not in self.ids:
            size, depth = 1 + sum(self.size[c] for c in children), 1 + max([self.depth[c] for c in children] or [0])
            need(size <= self.limits[0] and depth <= self.limits[1], "an expression is too large")
            mask = 1 << len(self.names) if op == "sym" else 0
            for c in children:
                mask |= self.mask[c]
            self.ids[op, args] = len(self.ops)
            for row, what in zip((self.ops, self.args, self.size, self.depth, self.mask), (op, args, size, depth, mask)):
                row.append(what)
        return self.ids[op, args]

    def value(self, e):
        return self.args[e][0] if self.ops[e] == "const" else None

    def mentions(self, e, symbol):
        return bool(self.mask[e] & self.mask[symbol])

    def substitute(self, e, x, by, memo):
        """e with `by` in the place of the symbol x."""
        if e is None or not self.mentions(e, x):
            return e
        if e not in memo:
            memo[e] = by if e == x else self.make(self.ops[e],
                                                  *[self.substitute(a, x, by, memo) for a in self.args[e]])
        return memo[e]

    def evaluate(self, e, at):
        """The value of e where `at` gives those of symbols; None: it has none, or one beyond 64 bits on the way."""
        self.spend()
        op, args = self.ops[e], self.args[e]
        if op in ("const", "sym"):
            return args[0] if op == "const" else at[e]
        x = self.evaluate(args[0], at)
        if x is None:
            return None
        if op == "if":
            return self.evaluate(args[1] if x else args[2], at)
        if op in TRUTHS and bool(x) == (op == "or"):
            return int(op != "and")
        y = self.evaluate(args[1], at) if len(args) > 1 else 0
        return None if y is None else operate(op, x, y)

    def is_truth(self, e):
        if self.ops[e] == "if":
            return all(self.is_truth(arm) for arm in self.args[e][1:])
        return self.value(e) in (0, 1) or self.ops[e] == "not" or self.ops[e] in COMPARISONS | TRUTHS


ONE = {(): 1}


def constant(p):
    """The value of a constant polynomial, None of another."""
    return p.get((), 0) if not p or set(p) == {()} else None


class Polynomials:
    """The polynomials of expressions, with equations put in: {atoms of a product, in order: coefficient, never 0}."""

    def __init__(self, pool, atoms, put_in):
        self.pool, self.atoms, self.put_in, self.known = pool, atoms, put_in, {}

    def linear(self, *parts):
        """Sum of factor times polynomial."""
        total = {}
        for factor, p in parts:
            self.pool.spend(1 + len(p))
            for product, c in p.items():
                total[product] = total.get(product, 0) + factor * c
        return self.bounded(total)

    def times(self, p, q):
        degree = sum(max(map(len, r), default=0) for r in (p, q))
        self.pool.spend(1 + len(p) * len(q) * (1 + degree // 8))
        total = {}
        for a, c in p.items():
            for b, d in q.items():
                product = tuple(sorted(a + b))
                total[product] = total.get(product, 0) + c * d
        return self.bounded(total)

    def bounded(self, p):
        need(all(c.bit_length() <= BITS and len(product) <= DEGREE for product, c in p.items()), "it is too large")
        p = {product: c for product, c in p.items() if c}
        need(len(p) <= TERMS, "a polynomial has too many terms")
        return p

    def operation(self, op, *operands):
        """An operation on polynomials: its value where it has one, else an atom."""
        values = [constant(p) for p in operands]
        if op != "if" and all(map(fits, values)) and (value := operate(op, *values)) is not None:
            return {(): value} if value else {}
        keys = [tuple(sorted(p.items())) for p in operands]
        self.pool.spend(sum(map(len, keys)))
        return self.atom(op, *(sorted(keys) if op in ("min", "max") else keys))

    def atom(self, *key):
        return {(self.atoms.setdefault(key, len(self.atoms)),): 1}

    def divide(self, op, a, b):
        k, divisor = constant(b), next(iter(b)) if len(b) == 1 else ()
        quotient, rest = {}, a
        if k is not None and k > 0:
            quotient = {product: c // k for product, c in a.items() if c % k == 0}
            rest = {product: c for product, c in a.items() if c % k}
        elif len(divisor) == 1 and b[divisor] == 1:
            at = divisor[0]
            quotient = {p[:p.index(at)] + p[p.index(at) + 1:]: c for p, c in a.items() if at in p}
            rest = {p: c for p, c in a.items() if at not in p}
        if quotient and not rest:
            return {} if op == "%" else quotient
        r = self.operation(op, rest, b)
        return r if op == "%" else self.linear((1, quotient), (1, r))

    def of(self, e):
        if e not in self.known:
            self.known[e] = self.compute(self.pool.ops[e], self.pool.args[e], e)
        return self.known[e]

    def compute(self, op, args, e):
        if op == "const":
            return {(): args[0]} if args[0] else {}
        if op == "sym":
            return self.of(self.put_in[e]) if e in self.put_in else self.atom("sym", args[0])
        operands = [self.of(a) for a in args]
        if op in ("+", "-", "neg"):
            return self.linear(*zip((1, -1) if op == "-" else (-1,) if op == "neg" else (1, 1), operands))
        if op == "*":
            return self.times(*operands)
        if op == "align_up":
            return self.times(self.divide("cdiv", *operands), operands[1])
        if op == "if" and (c := constant(operands[0])) is not None:
            return operands[1] if c else operands[2]
        return self.divide(op, *operands) if op in DIVISIONS else self.operation(op, *operands)


class Variable:
    def __init__(self, symbol, lo, hi, multiple_of=1, choices=None):
        self.symbol, self.lo, self.hi, self.multiple_of, self.choices = symbol, lo, hi, multiple_of, choices
        self.bounds = [b for b in (lo, hi) if b is not None]


class State:
    """What a step of a proof refutes. Hypotheses are (expression, is it negated?). Each step_NAME checks its side
    conditions and returns the states of its cases."""

    def __init__(self, pool, variables, hypotheses, polynomials):
        self.pool, self.variables, self.hypotheses, self.polynomials = pool, variables, hypotheses, polynomials
        pool.spend(1 + len(variables) + len(hypotheses))

    def but(self, variables=None, hypotheses=None, polynomials=None):
        return State(self.pool, self.variables if variables is None else variables,
                     self.hypotheses if hypotheses is None else hypotheses, polynomials or self.polynomials)

    def variable(self, symbol, free=False):
        found = [v for v in self.variables if v.symbol == symbol]
        need(found, "it speaks of what is no variable")
        need(not free or found[0].choices is None, "the variable has choices")
        return found[0]

    def hypothesis(self, number):
        need(0 <= number < len(self.hypotheses), "there is no such hypothesis")
        return self.hypotheses[number]

    def need_new(self, symbol):
        used = [e for e, _ in self.hypotheses] + [e for pair in self.polynomials.put_in.items() for e in pair]
        used += [e for v in self.variables for e in [v.symbol] + v.bounds]
        need(not any(self.pool.mentions(e, symbol) for e in used), "the new symbol is not new")

    def substituted(self, x, by, instead):
        """`by` for the symbol of variable x, in whose place the variables `instead` stand."""
        memo, new = {}, []
        change = lambda e: self.pool.substitute(e, x.symbol, by, memo)
        for v in self.variables:
            new += instead if v is x else [Variable(v.symbol, change(v.lo), change(v.hi), v.multiple_of, v.choices)]
        return self.but(new, [(change(e), negated) for e, negated in self.hypotheses])

    def divisors(self, x):
        """Every t for which x % t == 0 is a hypothesis, not negated."""
        ops, args = self.pool.ops, self.pool.args
        for e, negated in self.hypotheses:
            if not negated and ops[e] == "==" and self.pool.value(args[e][1]) == 0:
                left = args[e][0]
                if ops[left] == "%" and args[left][0] == x:
                    yield args[left][1]

    def known_multiple(self, x):
        known = x.multiple_of
        for m in map(self.pool.value, self.divisors(x.symbol)):
            if m is not None and 1 <= m <= 2**30 and known // gcd(m, known) <= 2**30 // m:
                known = known // gcd(m, known) * m
        return known

    def apart(self, hypotheses):
        """Each taken apart: what hypotheses they make, in order."""
        out, todo = [], hypotheses[::-1]
        while todo:
            self.pool.spend()
            e, negated = todo.pop()
            op, a = self.pool.ops[e], self.pool.args[e]
            if op == "not":
                todo.append((a[0], not negated))
            elif op == ("or" if negated else "and"):
                todo += [(a[1], negated), (a[0], negated)]
            elif op == "implies" and negated:
                todo += [(a[1], True), (a[0], False)]
            else:
                out.append((e, negated))
        return out

    def arms(self, e, negated):
        """The two arms of a disjunction, each a list of hypotheses."""
        op, a, make = self.pool.ops[e], self.pool.args[e], self.pool.make
        if op == ("and" if negated else "or"):
            return [(a[0], negated)], [(a[1], negated)]
        if op == "implies" and not negated:
            return [(a[0], True)], [(a[1], False)]
        if op == ("==" if negated else "!="):
            return [(make("<", *a), False)], [(make(">", *a), False)]
        need(op == "if", "it is no disjunction")
        return [(a[0], False), (a[1], negated)], [(a[0], True), (a[2], negated)]

    def says(self, number):
        """What a hypothesis says of a polynomial: (>= 0, == 0 or != 0; the polynomial)."""
        e, negated = self.hypothesis(number)
        op = self.pool.ops[e]
        need(op in COMPARISONS, "the hypothesis is no comparison")
        op = NEGATED[op] if negated else op
        a, b = map(self.polynomials.of, self.pool.args[e])
        big, small = (b, a) if op in ("<", "<=") else (a, b)
        difference = self.polynomials.linear((1, big), (-1, small), (-1 if op in ("<", ">") else 0, ONE))
        return op if op in ("==", "!=") else ">=", difference

    def step_choices(self, step):
        x = self.variable(step["variable"])
        need(x.choices is not None, "the variable has no choices")
        return (self.substituted(x, self.pool.const(c), []) for c in x.choices)

    def step_multiple(self, step):
        x, f, k, make = self.variable(step["variable"], free=True), step["factor"], step["symbol"], self.pool.make
        need(f >= 2, "the factor is less than 2")
        need(self.known_multiple(x) % f == 0, "the variable is not known to be a multiple of that")
        self.need_new(k)
        factor = self.pool.const(f)
        lo = None if x.lo is None else make("cdiv", x.lo, factor)
        hi = None if x.hi is None else make("//", x.hi, factor)
        return [self.substituted(x, make("*", factor, k), [Variable(k, lo, hi)])]

    def step_divided(self, step):
        x, t, k, pool = self.variable(step["variable"], free=True), step["value"], step["symbol"], self.pool
        divisor = self.variable(t)
        need(divisor is not x, "the divisor is the variable itself")
        lo, hi, least = (None if b is None else pool.value(b) for b in (x.lo, x.hi, divisor.lo))
        need(lo is not None and hi is not None and least is not None, "a bound is no constant")
        need(lo >= 0, "the variable may be negative")
        need(least >= 1, "the divisor may be 0")
        need(t in self.divisors(x.symbol), "no hypothesis says that it divides")
        self.need_new(k)
        product = pool.make("*", t, k)
        new = self.substituted(x, product, [Variable(k, pool.const(int(lo >= 1)), x.hi)])
        new.hypotheses[-1:-1] = [(pool.make(">=", product, x.lo), False), (pool.make("<=", product, x.hi), False)]
        return [new]

    def step_bound(self, step):
        x, pool = self.variable(step["variable"], free=True), self.pool
        least = "at_least" in step
        c, shown = step["at_least" if least else "at_most"], []
        for e, negated in self.hypotheses:
            op, d = pool.ops[e], pool.value(pool.args[e][1]) if len(pool.args[e]) == 2 else None
            if not negated and d is not None and pool.args[e][0] == x.symbol:
                shown += [d] if op in ("==", ">=" if least else "<=") else []
                shown += [d + 1 if least else d - 1] if op == (">" if least else "<") else []
        need(any(d >= c if least else d <= c for d in shown), "no hypothesis says so")
        new = Variable(x.symbol, pool.const(c) if least else x.lo, x.hi if least else pool.const(c), x.multiple_of)
        return [self.but([new if v is x else v for v in self.variables])]

    def step_refute(self, _):
        return [self.but(hypotheses=self.apart(self.hypotheses))]

    def step_split(self, step):
        arms = self.arms(*self.hypothesis(step["hypothesis"]))
        return [self.but(hypotheses=self.hypotheses + self.apart(arm)) for arm in arms]

    def step_let(self, step):
        s, e, pool, polynomials = step["symbol"], step["value"], self.pool, self.polynomials
        kind, p = self.says(step["hypothesis"])
        need(kind == "==", "the hypothesis is no equation")
        difference = polynomials.linear((1, polynomials.of(s)), (-1, polynomials.of(e)))
        need(p in (difference, polynomials.linear((-1, difference))), "the equation says something else")
        need(s not in polynomials.put_in, "the symbol was replaced before")
        for replaced, by in polynomials.put_in.items():
            e = pool.substitute(e, replaced, by, {})
        need(not pool.mentions(e, s), "the value mentions the symbol")
        put_in = {replaced: pool.substitute(by, s, e, {}) for replaced, by in polynomials.put_in.items()}
        return [self.but(polynomials=Polynomials(pool, polynomials.atoms, {**put_in, s: e}))]

    def step_absurd(self, step):
        e, negated = self.hypothesis(step["hypothesis"])
        value = self.pool.value(e)
        if value is None:
            kind, p = self.says(step["hypothesis"])
            c = constant(p)
            need(c is not None and not OPERATIONS[kind](c, 0), "it is not absurd")
        need(value is None or bool(value) == negated, "it is not absurd")
        return []

    def step_points(self, _):
        pool, at, declared = self.pool, {}, 0
        need(not self.polynomials.put_in, "an equation was put in")
        for v in self.variables:
            need(not any(pool.mask[b] & ~declared for b in v.bounds), "a bound depends on something other than earlier variables")
            need(v.choices is not None or len(v.bounds) == 2, "a variable has no end")
            declared |= pool.mask[v.symbol]
        need(not any(pool.mask[e] & ~declared for e, _ in self.hypotheses), "a hypothesis speaks of no variable")

        def visit(i):
            if i == len(self.variables):
                values = ((pool.evaluate(e, at), negated) for e, negated in self.hypotheses)
                return need(any(v is not None and bool(v) == negated for v, negated in values), "a case is not refuted")
            v = self.variables[i]
            values, m = v.choices, v.multiple_of
            if values is None:
                lo, hi = pool.evaluate(v.lo, at), pool.evaluate(v.hi, at)
                need(lo is not None and hi is not None, "a bound has no value")
                values = range(-(-lo // m) * m, hi + 1, m)
                need(hi < lo or (hi - lo) // m < VALUES, "a variable has too many values")
            for at[v.symbol] in values:
                pool.spend()
                visit(i + 1)

        visit(0)
        return []

    def step_lines(self, step):
        stated = []
        for line in step["lines"]:
            stated.append(self.line(stated, *line))
        last = constant(stated[-1]) if stated else None
        need(last is not None and last < 0, "the last line is no negative constant")
        return []

    def line(self, stated, rule, *rest):
        """The polynomial that a line states to be >= 0."""
        of, linear, times = self.polynomials.of, self.polynomials.linear, self.polynomials.times

        def at(i):
            need(1 <= i <= len(stated), "there is no such line before")
            return stated[i - 1]

        def same(one, other):
            need(one == other, "it is not the same polynomial")
            return one

        if rule == "fact":
            kind, p = self.says(rest[0])
            need(kind == "==" or kind == ">=" and rest[1] == 0, "the hypothesis does not say that")
            return linear((-1 if rest[1] else 1, p))
        if rule in ("lower", "upper"):
            v = self.variable(rest[0])
            bound, sign = (v.lo, 1) if rule == "lower" else (v.hi, -1)
            need(bound is not None, "the variable has no such bound")
            return linear((sign, of(v.symbol)), (-sign, of(bound)))
        if rule == "definition":
            need(0 <= rest[2] <= len(stated), "there is no such line before")
            return self.definition(rest[0], rest[1], lambda: at(rest[2]))
        if rule == "sum":
            parts = []
            for c, *factors in rest:
                need(c >= 0, "a coefficient is negative")
                need(len(factors) <= 7, "a product of too many lines")
                parts.append((c, ONE))
                for i in factors:
                    parts[-1] = c, times(parts[-1][1], at(i))
            return linear(*parts)
        if rule == "cancel":
            e, i, j = rest
            c = constant(linear((1, times(linear((1, at(j)), (1, ONE)), of(e))), (-1, at(i))))
            need(c is not None and c >= 0, "what remains is no constant >= 0")
            return linear((1, of(e)), (-1 if c > 0 else 0, ONE))
        if rule == "ends":
            f, i, j, k, l = rest
            return same(linear((1, at(i)), (-1, times(of(f), at(l)))), linear((1, at(j)), (1, times(of(f), at(k)))))
        e, f, i, j = rest  # cases
        need(self.pool.ops[e] in ("min", "max", "if"), "it has no two cases")
        return same(*(linear((1, at(n)), (-1, times(of(f), linear((1, of(arm)), (-1, of(e))))))
                      for n, arm in zip((i, j), self.pool.args[e][-2:])))

    def definition(self, e, side, line):
        """By the operation at the top of e; `line` gives the line that shows a divisor >= 1."""
        of, linear, op = self.polynomials.of, self.polynomials.linear, self.pool.ops[e]
        need(side in (0, 1), "there is no such side")
        if op in DIVISIONS:
            a, b = map(of, self.pool.args[e])
            most = linear((1, b), (-1, ONE))
            need(line() == most, "the divisor is not shown to be at least 1")
            sign = {"//": 1, "cdiv": -1}.get(op)
            least = linear((sign, a), (-sign, self.polynomials.times(b, of(e)))) if sign else of(e)
            return linear((1, most), (-1, least)) if side else least
        if op in ("min", "max"):
            sign = 1 if op == "min" else -1
            return linear((sign, of(self.pool.args[e][side])), (-sign, of(e)))
        if op == "next_power_of_2":
            return linear((1, of(e)), (-1, of(self.pool.args[e][0]) if side else ONE))
        need(self.pool.is_truth(e), "nothing is known of it by definition")
        return linear((1, ONE), (-1, of(e))) if side else of(e)
