"""Primitives that move lanes; iota and dot."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .. import jaxpr as jx
from ..errors import Unsupported
from .values import Lanes, Value, number, shape_text
from .writer import Writer


class Shapes(Writer):
    """Each lane of a result is a lane of an operand; program ids stand for themselves."""

    def do_broadcast_in_dim(self, eqn: Any) -> None:
        x = self.read(eqn.invars[0])
        shape, dims = tuple(eqn.params["shape"]), tuple(eqn.params["broadcast_dimensions"])
        if not x.shape or x.splat is not None:
            scalar = x.splat if x.splat is not None else x
            if not self.cheap(scalar):
                scalar = self.assign(scalar)
            self.env[eqn.outvars[0]] = Value("", shape, jx.dtype_name(eqn.outvars[0].aval), splat=scalar) if shape else x
            return
        between = tuple(x.shape[dims.index(d)] if d in dims else 1 for d in range(len(shape)))
        text, atom = x.text, x.atom
        if between != x.shape:
            text, atom = f"reshape({text}, {shape_text(between)})", True
        if between != shape:
            text, atom = f"broadcast_to({text}, {shape_text(shape)})", True
        kept = x.lanes is not None and x.shape[x.lanes.dim] == shape[dims[x.lanes.dim]]
        self.finish(eqn, Value(text, atom=atom, bounds=x.bounds, lanes=x.lanes.along(dims[x.lanes.dim]) if x.lanes is not None and kept else None))

    @staticmethod
    def only(shape: tuple[int, ...]) -> int | None:
        """The one dimension that is not of one element; None: there are others."""
        longer = [d for d, n in enumerate(shape) if n != 1]
        return longer[0] if len(longer) == 1 else None

    def reshaped(self, eqn: Any) -> None:
        x = self.read(eqn.invars[0])
        shape = tuple(eqn.outvars[0].aval.shape)
        if x.splat is not None:
            self.env[eqn.outvars[0]] = dataclasses.replace(x, shape=shape) if shape else x.splat
        elif not shape and x.shape:
            self.finish(eqn, Value(f"reshape({x.text}, ())", bounds=x.bounds))
        elif not x.shape:
            self.env[eqn.outvars[0]] = Value("", shape, x.dtype, splat=x if self.cheap(x) else self.assign(x)) if shape else x
        else:
            kept = x.lanes is not None and self.only(x.shape) == x.lanes.dim
            self.finish(eqn, Value(f"reshape({x.text}, {shape_text(shape)})", bounds=x.bounds, lanes=x.lanes.along(self.only(shape)) if x.lanes is not None and kept else None))

    def do_reshape(self, eqn: Any) -> None:
        if eqn.params.get("dimensions") is not None:
            raise Unsupported("a reshape with dimensions", self.place)
        self.reshaped(eqn)

    def do_squeeze(self, eqn: Any) -> None:
        self.reshaped(eqn)

    def do_expand_dims(self, eqn: Any) -> None:
        self.reshaped(eqn)

    def do_broadcast_to(self, eqn: Any) -> None:
        x = self.read(eqn.invars[0])
        shape = tuple(eqn.outvars[0].aval.shape)
        if not x.shape or x.splat is not None:
            self.env[eqn.outvars[0]] = Value("", shape, jx.dtype_name(eqn.outvars[0].aval), splat=x.splat if x.splat is not None else x)
        else:
            kept = x.lanes is not None and x.shape[x.lanes.dim] == shape[x.lanes.dim] and len(x.shape) == len(shape)
            self.finish(eqn, Value(f"broadcast_to({x.text}, {shape_text(shape)})", lanes=x.lanes if kept else None))

    def do_transpose(self, eqn: Any) -> None:
        x = self.strong(self.read(eqn.invars[0]))
        self.finish(eqn, Value(f"transpose({x.text}, {shape_text(tuple(eqn.params['permutation']))})"))

    def do_concatenate(self, eqn: Any) -> None:
        parts = [self.strong(self.read(a)).text for a in eqn.invars]
        self.finish(eqn, Value(f"concatenate([{', '.join(parts)}], axis={eqn.params['dimension']})"))

    def do_stack(self, eqn: Any) -> None:
        parts = [self.strong(self.read(a)).text for a in eqn.invars]
        self.finish(eqn, Value(f"stack([{', '.join(parts)}], axis={eqn.params.get('axis', 0)})"))

    def do_slice(self, eqn: Any) -> None:
        x = self.strong(self.read(eqn.invars[0]))
        starts, limits, strides = (eqn.params[k] for k in ("start_indices", "limit_indices", "strides"))
        tail = f", {shape_text(tuple(strides))}" if strides is not None and any(s != 1 for s in strides) else ""
        self.finish(eqn, Value(f"slice({x.text}, {shape_text(tuple(starts))}, {shape_text(tuple(limits))}{tail})"))

    def do_split(self, eqn: Any) -> None:
        x = self.strong(self.read(eqn.invars[0]))
        if not x.atom or not self.cheap(x):
            x = self.assign(x)
        axis, at = eqn.params["axis"], 0
        for var, size in zip(eqn.outvars, eqn.params["sizes"], strict=True):
            starts = [0] * len(x.shape)
            limits = list(x.shape)
            starts[axis], limits[axis] = at, at + int(size)
            at += int(size)
            if not jx.is_dropped(var):
                part = Value(f"slice({x.text}, {shape_text(tuple(starts))}, {shape_text(tuple(limits))})", tuple(var.aval.shape), x.dtype)
                self.env[var] = self.assign(part)

    def do_pad(self, eqn: Any) -> None:
        """Between elements first, then around them; less than nothing cuts off."""
        x, value = self.strong(self.read(eqn.invars[0])), self.read(eqn.invars[1])
        for d, (_, _, inner) in enumerate(eqn.params["padding_config"]):
            if inner and x.shape[d] > 1:
                x = self.spread(x, value, d, int(inner))
        config = [(int(lo), int(hi)) for lo, hi, _ in eqn.params["padding_config"]]
        if any(lo > 0 or hi > 0 for lo, hi in config):
            widths = ", ".join(f"({max(lo, 0)}, {max(hi, 0)})" for lo, hi in config)
            shape = tuple(n + max(lo, 0) + max(hi, 0) for n, (lo, hi) in zip(x.shape, config, strict=True))
            x = Value(f"pad({x.text}, {value.text}, ({widths}{',' if len(config) == 1 else ''}))", shape, x.dtype)
        if any(lo < 0 or hi < 0 for lo, hi in config):
            x = self.sliced(x, [-min(lo, 0) for lo, _ in config], [n + min(hi, 0) for n, (_, hi) in zip(x.shape, config, strict=True)])
        self.finish(eqn, x)

    def spread(self, x: Value, value: Value, d: int, inner: int) -> Value:
        """`inner` times the value between neighbours along dimension d."""
        apart = (*x.shape[:d + 1], 1, *x.shape[d + 1:])
        widths = ", ".join("(0, 0)" if n != d + 1 else f"(0, {inner})" for n in range(len(apart)))
        shape = (*x.shape[:d], x.shape[d] * (inner + 1), *x.shape[d + 1:])
        text = f"reshape(pad(reshape({x.text}, {shape_text(apart)}), {value.text}, ({widths})), {shape_text(shape)})"
        return self.sliced(Value(text, shape, x.dtype), [0] * len(shape), [n - inner if k == d else n for k, n in enumerate(shape)])

    @staticmethod
    def sliced(x: Value, starts: list[int], limits: list[int]) -> Value:
        shape = tuple(b - a for a, b in zip(starts, limits, strict=True))
        return Value(f"slice({x.text}, {shape_text(tuple(starts))}, {shape_text(tuple(limits))})", shape, x.dtype)

    def do_rev(self, eqn: Any) -> None:
        x = self.strong(self.read(eqn.invars[0]))
        text = x.text
        for axis in eqn.params["dimensions"]:
            text = f"flip({text}, axis={axis})"
        self.finish(eqn, Value(text))

    def do_tile(self, eqn: Any) -> None:
        x = self.strong(self.read(eqn.invars[0]))
        reps = tuple(eqn.params["reps"])
        if all(r == 1 for r in reps):
            self.env[eqn.outvars[0]] = x
        else:
            self.finish(eqn, Value(f"tile({x.text}, {shape_text(reps)})"))

    def do_repeat(self, eqn: Any) -> None:
        """pltpu.repeat: the whole, several times."""
        x = self.strong(self.read(eqn.invars[0]))
        reps = [1] * len(x.shape)
        reps[eqn.params["axis"]] = eqn.params["repeats"]
        self.finish(eqn, Value(f"tile({x.text}, {shape_text(tuple(reps))})"))

    def clamped(self, start: Value, extent: int, size: int) -> Value:
        """JAX moves a window that would leave the array back inside."""
        if start.number is not None:
            return number(min(max(int(start.number), 0), extent - size), "int32")
        value = Value(f"clip({start.text}, 0, {extent - size})", (), "int32")
        return value if extent == size else self.assign(value)

    def do_dynamic_slice(self, eqn: Any) -> None:
        if not jx.lowered("dynamic_slice"):
            self.lacks("a slice of a value from a computed index on (dynamic_slice)",
                       "read it from the ref, `x_ref[pl.ds(start, size)]`, or select it by a mask, `jnp.sum(jnp.where(row == start, x, 0), 0)`")
        x = self.strong(self.read(eqn.invars[0]))
        text = x.text
        for d, (atom, size) in enumerate(zip(eqn.invars[1:], eqn.params["slice_sizes"], strict=True)):
            if size == x.shape[d]:
                continue
            start = self.clamped(self.read(atom), x.shape[d], size)
            text = f"take({text}, iota(int32, ({size},), 0) + {start.operand()}, axis={d})"
        self.finish(eqn, Value(text, atom=text != x.text or x.atom))

    def do_dynamic_update_slice(self, eqn: Any) -> None:
        if not jx.lowered("dynamic_update_slice"):
            self.lacks("an update of a slice of a value (dynamic_update_slice)",
                       "store it in the ref, `o_ref[pl.ds(start, size)] = v`, or select by a mask, `jnp.where(row == start, v, x)`")
        x, update = (self.strong(self.read(a)) for a in eqn.invars[:2])
        shape = shape_text(x.shape)
        widths = ", ".join(f"(0, {n - k})" for n, k in zip(x.shape, update.shape, strict=True))
        text, masks = f"pad({update.text}, 0, ({widths}{',' if len(x.shape) == 1 else ''}))", []
        if x.dtype == "bool":
            raise Unsupported("an update of a slice of bools", self.place)
        for d, atom in enumerate(eqn.invars[2:]):
            if update.shape[d] == x.shape[d]:
                continue
            start = self.clamped(self.read(atom), x.shape[d], update.shape[d])
            text = f"roll({text}, {start.text}, axis={d})"
            lane = f"iota(int32, {shape}, {d})"
            masks.append(f"(({lane} >= {start.operand()}) & ({lane} < {start.operand()} + {update.shape[d]}))")
        if not masks:
            self.env[eqn.outvars[0]] = update
            return
        self.finish(eqn, Value(f"where({' & '.join(masks)}, {text}, {x.text})"))

    def do_gather(self, eqn: Any) -> None:
        """jnp.take along one axis, and jnp.take_along_axis."""
        x, index = (self.strong(self.read(a)) for a in eqn.invars)
        d, sizes = eqn.params["dimension_numbers"], tuple(eqn.params["slice_sizes"])
        axis = d.start_index_map[0] if len(d.start_index_map) == 1 else -1
        whole = axis >= 0 and all(s == (1 if n == axis else x.shape[n]) for n, s in enumerate(sizes))
        batch = len(index.shape) - 1
        offsets = tuple(n for n in range(len(x.shape) - 1 + batch) if not axis <= n < axis + batch)
        others = tuple(n for n in range(len(x.shape)) if n != axis)
        along = axis >= 0 and batch == len(x.shape) and all(s == 1 for s in sizes) and not d.offset_dims and (
            tuple(d.operand_batching_dims) == others == tuple(d.start_indices_batching_dims))
        if along and tuple(d.collapsed_slice_dims) == (axis,):
            self.along(eqn, x, index, axis)
            return
        if not whole or tuple(d.collapsed_slice_dims) != (axis,) or tuple(d.offset_dims) != offsets or d.operand_batching_dims:
            raise Unsupported("a gather (`x[i, j]` of a value) is not supported", self.place, "use jnp.take, of one axis, or jnp.take_along_axis")
        if not batch:
            self.lacks("jnp.take of one index", "read it from the ref, `x_ref[i]`, or select it by a mask, `jnp.sum(jnp.where(row == i, x, 0), 0)`")
        shape = tuple(index.shape[:-1])
        self.finish(eqn, self.picked(eqn, x, Value(f"reshape({index.text}, {shape_text(shape)})", shape, index.dtype, bounds=index.within()), axis))

    def picked(self, eqn: Any, x: Value, at: Value, axis: int) -> Value:
        """x at the indices along the axis; JAX clamps one outside, fills, or was promised that there is none."""
        mode, last = str(eqn.params["mode"]).lower(), x.shape[axis] - 1
        if at.indexes(x.shape[axis]) or last < 0 or not ("clip" in mode or "fill" in mode):
            return Value(f"take({x.text}, {at.text}, axis={axis})")
        at = self.assign(at)
        text = f"take({x.text}, clip({at.text}, 0, {last}), axis={axis})"
        if "clip" in mode:
            return Value(text)
        whole, ones = tuple(eqn.outvars[0].aval.shape), len(x.shape) - 1 - axis
        held = f"reshape(({at.text} >= 0) & ({at.text} < {last + 1}), {shape_text((*(1,) * axis, *at.shape, *(1,) * ones))})"
        return Value(f"where(broadcast_to({held}, {shape_text(whole)}), {text}, {number(jx.fill_of(eqn), x.dtype).text})")

    def along(self, eqn: Any, x: Value, index: Value, axis: int) -> None:
        """Lane by lane along the axis: turn t gives the lanes whose index is t.
        An index outside is no lane's: JAX clamps it, fills, or was promised that there is none."""
        shape = tuple(index.shape[:-1])
        at = self.assign(Value(f"reshape({index.text}, {shape_text(shape)})", shape, index.dtype))
        mode = str(eqn.params["mode"]).lower()
        if "clip" in mode:
            at = self.assign(Value(f"clip({at.text}, 0, {x.shape[axis] - 1})", shape, index.dtype))
        elif "fill" not in mode:
            self.line(f"check(all(({at.text} >= 0) & ({at.text} < {x.shape[axis]})), 'an index of take_along_axis is outside its axis')")
        x = x if self.cheap(x) else self.assign(x)
        fill = jx.fill_of(eqn) if "fill" in mode else np.zeros((), np.int32)
        out = self.assign(Value("", shape, x.dtype, splat=number(fill, x.dtype)))
        t = self.name("t")
        one = shape_text(tuple(1 if n == axis else k for n, k in enumerate(shape)))
        self.line(f"for {t} in range(0, {x.shape[axis]}):")
        lane = f"broadcast_to(reshape(take({x.text}, {t}, axis={axis}), {one}), {shape_text(shape)})"
        self.line(f"    {out.text} = where({at.text} == {t}, {lane}, {out.text})")
        self.finish(eqn, Value(out.text))

    def do_iota(self, eqn: Any) -> None:
        p = eqn.params
        lanes = Lanes(int(p["dimension"])) if np.dtype(p["dtype"]) == np.int32 else None
        within = (0, p["shape"][p["dimension"]] - 1) if lanes is not None else None
        self.finish(eqn, Value(f"iota({np.dtype(p['dtype']).name}, {shape_text(tuple(p['shape']))}, {p['dimension']})", lanes=lanes, bounds=within))

    def do_dot_general(self, eqn: Any) -> None:
        a, b = (self.strong(self.read(v)) for v in eqn.invars[:2])
        out = jx.dtype_name(eqn.outvars[0].aval)
        if a.dtype != b.dtype:  # JAX multiplies them in the result's dtype
            a, b = (v if v.dtype == out else Value(f"{v.operand()}.astype({out})", v.shape, out) for v in (a, b))
        (ca, cb), (ba, bb) = eqn.params["dimension_numbers"]
        text = f"dot({a.text}, {b.text}"
        if tuple(ca) != (len(a.shape) - 1,) or tuple(cb) != (0,) or ba:
            text += f", contract=({list(map(int, ca))}, {list(map(int, cb))})"
        if ba:
            text += f", batch=({list(map(int, ba))}, {list(map(int, bb))})"
        if out != a.dtype:
            text += f", preferred_element_type={out}"
        self.finish(eqn, Value(text + ")"))

    def do_program_id(self, eqn: Any) -> None:
        axis = eqn.params["axis"]
        self.env[eqn.outvars[0]] = self.inner_axes[axis][0] if self.inner_axes is not None else self.axis(self.axes[axis])

    def axis(self, name: str) -> Value:
        return Value(name, bounds=(0, self.steps[name] - 1) if self.steps.get(name, 0) > 0 else None)

    def do_num_programs(self, eqn: Any) -> None:
        axis = eqn.params["axis"]
        self.env[eqn.outvars[0]] = self.inner_axes[axis][1] if self.inner_axes is not None else Value(f"num_programs({self.axes[axis]})")
