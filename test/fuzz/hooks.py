"""What the document cannot say of a request in JSON Schema, and why the API may refuse it all the same."""

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData

# Rules about what the database holds, what time it is, what a text says or where a URL leads: a request that fits its
# schema can break them. `invalid_request` is not among them. It means that the schema was broken, so a request that
# fits the schema must not get it, but for what stands below.
CONTENT = {
    "empty_body",
    "invalid_channel_ids",
    "invalid_scheduled_at",
    "no_channels",
    "invalid_content",
    "invalid_media_ids",
    "invalid_media_url",
}
ENDPOINT = {"invalid_webhook_url", "invalid_events"}
BEYOND_SCHEMA = {
    "POST /posts": CONTENT | {"idempotency_key_reused"},
    "PATCH /posts/{id}": CONTENT,
    "POST /posts/validate": CONTENT,
    "POST /webhooks": ENDPOINT,
    "PATCH /webhooks/{id}": ENDPOINT,
    # A schema says that there is a file, and not what is in it.
    "POST /media": {"invalid_media"},
}

# Parameters that `invalid_request` may name although they fit their schema: a cursor is what a list has given out,
# and which two days make a range of at most 366 days no schema can say.
UNSAYABLE = {"?cursor", "?from", "?to"}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Drops the failure that a request was refused although it fits its schema, where that is right."""
    return not (isinstance(failure, RejectedPositiveData) and may_be_refused(case, response.json()))


def may_be_refused(case, error):
    if error["code"] in BEYOND_SCHEMA.get(case.operation.label, set()):
        return True
    if error["code"] != "invalid_request":
        return False
    paths = {detail["path"] for detail in error.get("details", [])}
    return names_two_keys(case) or holds_nul(case.body) or bool(paths) and paths <= UNSAYABLE


def names_two_keys(case):
    """The idempotency key may stand in a header or in the body. No schema can forbid two that differ."""
    header = (case.headers or {}).get("Idempotency-Key")
    body = case.body.get("idempotency_key") if isinstance(case.body, dict) else None
    return header is not None and body is not None and header != body


def holds_nul(value):
    """PostgreSQL has no NUL in texts. A pattern against it in every schema would be in everybody's way."""
    if isinstance(value, dict):
        return any(holds_nul(part) for item in value.items() for part in item)
    if isinstance(value, list):
        return any(holds_nul(part) for part in value)
    return isinstance(value, str) and "\x00" in value
