"""Posts one message to the webhook's receiver."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.client
import urllib.error
import urllib.request
from typing import Any

from benchstick import __version__
from benchstick.store import webhook_outbox

# An error message needs no more of the receiver's answer.
_ANSWER_BYTES = 200


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def post(url: str, secret: str, letter: webhook_outbox.Letter, seconds: float) -> str | None:
    """Post one body and wait `seconds` for an answer. None when the receiver accepted it, else the
    reason in one line.

    With a secret the header X-Benchstick-Signature is `sha256=` and the HMAC of the body, so that
    the receiver can check the sender.
    """
    body = letter.body.encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"benchstick/{__version__}",
        "Idempotency-Key": letter.key,
        "X-Benchstick-Attempt": str(letter.attempts + 1),
    }
    if secret:
        mark = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        headers["X-Benchstick-Signature"] = f"sha256={mark}"
    opener = urllib.request.build_opener(_NoRedirects)
    request = urllib.request.Request(url, body, headers, method="POST")
    try:
        with opener.open(request, timeout=seconds):
            return None
    except urllib.error.HTTPError as error:
        with contextlib.closing(error):
            text = _read_answer(error)
        return f"the receiver answered {error.code} {error.reason}{text}"
    except urllib.error.URLError as error:
        return f"no connection: {getattr(error.reason, 'strerror', None) or error.reason}"
    except TimeoutError:
        return f"no answer within {seconds:g} s"
    except (OSError, http.client.HTTPException, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def _read_answer(error: urllib.error.HTTPError) -> str:
    try:
        text = error.read(_ANSWER_BYTES).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return ""
    line = " ".join(part for part in text.split() if part.isprintable())
    return f": {line}" if line else ""
