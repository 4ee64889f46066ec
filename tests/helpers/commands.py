"""Whether a command line that a text names exists."""

import shlex

import typer

from pagesim.cli.main import app


def check_command(text: str) -> None:
    """Parses the command as the program would, and runs nothing; fails for one that is not there."""
    words = shlex.split(text)
    assert words[0] == "pagesim", text
    command = typer.main.get_command(app)
    arguments = words[1:]
    while hasattr(command, "commands") and arguments and arguments[0] in command.commands:
        command, arguments = command.commands[arguments[0]], arguments[1:]
    assert not hasattr(command, "commands"), text
    command.make_context("pagesim", arguments)  # raises for an option that is not there
