"""``pagesim workloads``: what is built in, and which trace formats are read."""

import typer

from pagesim.cli.options import AsJson


def workloads(as_json: AsJson = False) -> None:
    """List the built-in workloads, the scenarios, and the trace formats that --trace reads."""
    from pagesim.sim.scenario import load_scenario, scenario_names
    from pagesim.sim.trace_formats import CSV_FORMATS, JSONL_FORMATS
    from pagesim.sim.workloads import WORKLOADS, natural_rate

    if as_json:
        from pagesim.cli.output import print_json

        kinds = [
            {"name": name, "about": kind.about, "requests_per_s": natural_rate(name)}
            for name, kind in WORKLOADS.items()
        ]
        stories = [{"name": n, "title": load_scenario(n).title} for n in scenario_names()]
        print_json({"workloads": kinds, "scenarios": stories})
        return
    typer.echo("Built-in workloads:")
    for name, kind in WORKLOADS.items():
        rate = natural_rate(name)
        arrivals = "" if rate is None else f" (natural rate: --rate {rate:.2f})"
        typer.echo(f"{name:14} {kind.about}{arrivals}")
    typer.echo("\nScenarios, small stories for `pagesim run NAME` (or NAME.toml of your own):")
    for name in scenario_names():
        typer.echo(f"{name:20} {load_scenario(name).title}")
    typer.echo("\nTrace files that --trace reads, each also as .gz:")
    for kind_of_file, formats in (("CSV", CSV_FORMATS), ("JSONL", JSONL_FORMATS)):
        for form in formats:
            typer.echo(f"{kind_of_file:14} {form.about}: {form.columns}")
