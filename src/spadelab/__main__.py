"""`python -m spadelab` is the command `spadelab`."""

from __future__ import annotations

from spadelab.cli import app

if __name__ == "__main__":
    app(prog_name="spadelab")
