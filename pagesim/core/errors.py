"""What can go wrong because of what a caller or a user gave.

Knows nothing about how an error is shown. Running out of memory is not here: that is a return value.
"""


class PagesimError(Exception):
    """A problem the user can mend; its text is one sentence: what was given, what is allowed, what to do."""


class InputError(PagesimError):
    """A value in a file or on the command line is wrong; the text names the place and the value."""


class UnknownSequenceError(PagesimError):
    """A sequence was named that holds nothing (never allocated, or freed already). No state was changed."""


class DuplicateSequenceError(PagesimError):
    """A sequence was allocated that already holds memory. No state was changed."""


class LawBrokenError(PagesimError):
    """A named law does not hold; the text starts with the law's name."""
