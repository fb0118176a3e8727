"""`benchstick web`."""

from __future__ import annotations

import click

from benchstick.paths import data_folder


@click.command()
@click.option("--listen", metavar="A", help="address; loopback unless told otherwise")
@click.option("--port", metavar="P", type=int, help="port; 8080 unless told otherwise")
@click.option("--new-token", metavar="NAME", help="make a token for scripts, print it, and end")
def web(listen: str | None, port: int | None, new_token: str | None) -> int:
    """Serve the page, as an unprivileged user that cannot open a drive."""
    from webui import serve

    return serve.main(listen=listen, port=port, home=data_folder(), new_token=new_token)
