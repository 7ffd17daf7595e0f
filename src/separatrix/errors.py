"""The error of a parameter, apart from those of data: who gave it can mend it without a look."""


class ParameterError(ValueError):
    """A parameter has a value it cannot have, or one that does not go with the others."""
