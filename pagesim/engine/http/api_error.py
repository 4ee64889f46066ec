"""What is wrong with a call, as OpenAI's clients read it: a status and an object with one sentence.

Knows nothing about sockets or engines.
"""

INVALID = "invalid_request_error"
TYPES = {404: "not_found_error", 429: "rate_limit_error", 500: "server_error", 503: "server_error"}


class ApiError(Exception):
    """Raised wherever a call is found wanting; its text is the sentence.

    ``param`` is the field it is about, ``code`` a word for programs, ``retry_seconds`` when to come again.
    """

    def __init__(
        self,
        status: int,
        sentence: str,
        *,
        param: str | None = None,
        code: str | None = None,
        retry_seconds: int | None = None,
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.param = param
        self.code = code
        self.retry_seconds = retry_seconds

    def as_dict(self) -> dict[str, object]:
        return {
            "error": {
                "message": str(self),
                "type": TYPES.get(self.status, INVALID),
                "param": self.param,
                "code": self.code,
            }
        }


def wrong(param: str, sentence: str, code: str | None = None) -> ApiError:
    """A field has a value that cannot be served: 400."""
    return ApiError(400, sentence, param=param, code=code)
