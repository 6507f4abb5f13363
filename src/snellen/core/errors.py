"""The two ways things go wrong that a user must tell apart."""


class SnellenError(ValueError):
    """Bad input: a wrong name, a damaged folder, a setting that does not exist.

    The message is one line: what is wrong, where, and how to mend it. Commands print it and exit with 2.
    """


class CallFailed(Exception):
    """A subject could not be reached, or broke off: not an answer, never scored, to be asked again."""
