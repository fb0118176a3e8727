"""The web page of the bench and its HTTP API. It reads the store and asks the agent; it never
opens a drive."""

from webui.app import create_app

__all__ = ["create_app"]
