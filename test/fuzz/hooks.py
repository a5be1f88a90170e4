"""What the document cannot say of a request in JSON Schema, and why the API may refuse it all the same."""

import base64
from pathlib import Path

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import RejectedPositiveData

# Rules about what the database holds, what time it is, what a text says or where a URL leads: a request that fits its
# schema can break them. `invalid_request` is not among them. It means that the schema was broken, so a request that
# fits the schema must not get it, but for what stands below.
CONTENT = {
    "empty_body",
    "invalid_channel_ids",
    "invalid_channel_options",
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
    "POST /posts/{id}/settle": {"invalid_channel_ids"},
    # Which options there are depends on the channel's network.
    "PATCH /channels/{id}": {"invalid_channel_options", "invalid_media_ids"},
    "GET /networks": {"invalid_channel_ids"},
    # Which networks are set up, and where browsers may be sent back to, are the operator's settings.
    "POST /channels/connect": {"invalid_channel_ids", "network_not_configured"},
    "POST /channels/{id}/reconnect": {"channel_not_connected"},
    "POST /webhooks": ENDPOINT,
    "PATCH /webhooks/{id}": ENDPOINT,
    # A schema says that there is a file, and not what is in it.
    "POST /media": {"invalid_media"},
}

# Parameters that `invalid_request` may name although they fit their schema: a cursor is what a list has given out,
# and which two days make a range of at most 366 days, or which text is an address without credentials, no schema can say.
UNSAYABLE = {"?cursor", "?from", "?to", "/url"}

# The same of one call: what a network asks for beforehand, and what the operator has set up.
# A download has all posts by date, and which names of time zones there are changes every year.
UNSAYABLE_OF = {
    "POST /channels/connect": {"/platform", "/handle", "/sandbox", "/return_url"},
    "GET /analytics": {"?limit", "?offset", "?sort"},
    "GET /analytics/best-times": {"?timezone"},
}

# The same of all that is below: an alt text of spaces alone is blank, which spaces there are each language says otherwise,
# and files of a thread's first part stand in one of two places.
UNSAYABLE_BELOW = ("/alt_text", "/alt_texts/", "/thread/")


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Drops what Schemathesis takes for a failure and is none."""
    if isinstance(failure, RejectedPositiveData):
        return not may_be_refused(case, response.json())
    is_refused = response.status_code == 413  # Schemathesis knows this status as a refusal of nothing.
    return not (isinstance(failure, AcceptedNegativeData) and (is_refused or is_plain_upload(case)))


# One grey pixel. Bytes that are made up are never a picture, so no upload would ever go well.
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
)


@schemathesis.hook
def map_body(context, body):
    """Puts a picture into half of the uploads."""
    if context.operation.label == "POST /media" and isinstance(body, dict):
        file = body.get("file")
        if isinstance(file, (str, bytes)) and len(file) % 2 == 0:
            return {**body, "file": PICTURE}
    return body


# The endpoint with deliveries, and the channels. Once they are gone, most calls find nothing any more.
KEPT = {
    "DELETE /webhooks/{id}": Path("webhooks.dict").read_text(),
    "DELETE /channels/{id}": Path("channels.dict").read_text(),
}
NOBODY = "00000000-0000-7000-8000-000000000000"


@schemathesis.hook
def before_call(context, case, kwargs):
    """Lets a deletion of one of those go to one that nobody has."""
    if str(case.path_parameters.get("id")) in KEPT.get(case.operation.label, ""):
        case.path_parameters = {"id": NOBODY}


def may_be_refused(case, error):
    if error["code"] in BEYOND_SCHEMA.get(case.operation.label, set()):
        return True
    if error["code"] != "invalid_request":
        return False
    paths = {detail["path"] for detail in error.get("details", [])}
    unsayable = UNSAYABLE | UNSAYABLE_OF.get(case.operation.label, set())
    is_unsayable = bool(paths) and all(p in unsayable or p.startswith(UNSAYABLE_BELOW) for p in paths)
    return names_two_keys(case) or holds_what_no_schema_forbids([case.body, case.query]) or is_unsayable


def names_two_keys(case):
    """The idempotency key may stand in a header or in the body. No schema can forbid two that differ."""
    header = (case.headers or {}).get("Idempotency-Key")
    body = case.body.get("idempotency_key") if isinstance(case.body, dict) else None
    return header is not None and body is not None and header != body


def holds_what_no_schema_forbids(value):
    """PostgreSQL has no NUL in texts, and a name in a map may not be that of an object's prototype."""
    if isinstance(value, dict):
        return "__proto__" in value or any(holds_what_no_schema_forbids(part) for item in value.items() for part in item)
    if isinstance(value, list):
        return any(holds_what_no_schema_forbids(part) for part in value)
    return isinstance(value, str) and "\x00" in value


def is_plain_upload(case):
    """A form's fields are texts, so a name that is a number is a name by the time it arrives."""
    is_upload = case.operation.label == "POST /media" and isinstance(case.body, dict)
    return is_upload and case.body.get("file") == PICTURE and set(case.body) <= {"file", "name", "alt_text"}
