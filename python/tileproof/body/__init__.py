"""Jaxprs as text of the spec language: bodies and index maps.

A value that is used once and is short stands where it is used; every other one
gets a name. Reads of refs are statements of their own, in order.
"""

from .control import Control
from .declared import Declared
from .shapes import Shapes
from .spelled import Spelled
from .values import Ref, Value, number

__all__ = ["Body", "Ref", "Value", "number"]


class Body(Spelled, Shapes, Declared, Control):
    """Statements of one kernel body; a group of primitives is one base class."""
