"""`benchstick web`."""

from __future__ import annotations

import click

from benchstick.paths import data_folder


@click.command()
@click.option("--listen", metavar="A", help="address (default: loopback)")
@click.option("--port", metavar="P", type=int, help="port (default: 8080)")
@click.option("--new-token", metavar="NAME", help="create a token for scripts, print it, and exit")
def web(listen: str | None, port: int | None, new_token: str | None) -> int:
    """Serve the page, as an unprivileged user that cannot open a drive."""
    from webui.server import serve

    return serve.main(listen=listen, port=port, home=data_folder(), new_token=new_token)
