"""Machine-readable output: one JSON document on standard output and nothing else."""

import json

import typer


def print_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=True))
