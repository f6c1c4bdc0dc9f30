"""The one exception that is meant for the user's eyes."""

from __future__ import annotations


class UserError(Exception):
    """Bad input or a full disk, not a bug: one sentence that says what, where and what would be right.

    The command line prints the sentence and exits with code 2.
    """
