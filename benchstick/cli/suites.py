"""`benchstick suites`."""

from __future__ import annotations

import click

from benchstick.cli.common import print_json
from benchstick.suites import presets, registry


@click.command()
@click.option("--json", "as_json", is_flag=True, help="the benchstick/suites/2 document")
def suites(as_json: bool) -> None:
    """List the suites with their parameters and presets."""
    suite_list = registry.all_suites().values()
    if as_json:
        entries = [registry.suite_json(suite) for suite in suite_list]
        print_json({"schema": "benchstick/suites/2", "suites": entries})
        return
    for suite in suite_list:
        print(f"{suite.name}: {suite.title}\n    {suite.summary}")
        print(f"    target: {' or '.join(suite.targets)}; default: --fs {suite.default_fs}")
        for param in suite.params:
            default = param.default
            if isinstance(default, bool):
                default = "yes" if default else "no"
            print(f"    --param {param.name}={default}  {param.help}")
        for preset in presets.of_suite(suite.name):
            print(f"    {suite.name}:{preset.name}  {preset.title}: {preset.description}")
