"""What can go wrong, each with one sentence that says where and why."""


class TileproofError(Exception):
    """Base of all errors of this package."""


class NotFound(TileproofError):
    """The tileproof program, JAX, or a function that was named is not there."""


class NoPallasCall(TileproofError):
    """Tracing the function reached no pallas_call."""


class NotExecuted(NoPallasCall, AssertionError):
    """A comparison that did not execute every pallas_call of the function."""


class Unsupported(TileproofError):
    """The kernel uses something that the spec language does not express."""

    def __init__(self, what: str, where: str | None = None):
        super().__init__(f"{what} ({where})" if where else what)
        self.what, self.where = what, where
