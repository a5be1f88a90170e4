# Calls the API through a client from openapi-python-client: calls.py API_URL API_KEY CHANNEL_ID FAILED_POST_ID
# Prints the values that the client read, as JSON.
import io
import json
import sys
import uuid
from datetime import datetime, timedelta, timezone

from generated import AuthenticatedClient
from generated.api.channels import list_channels
from generated.api.media import upload_media
from generated.api.posts import create_post, get_post, list_posts, retry_post, validate_post
from generated.models import NewMediaFile, NewPost
from generated.types import File

api_url, api_key, channel_id, failed_post_id = sys.argv[1:]
png = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c02"
    "0000000b4944415478da6364600000000600023081d02f0000000049454e44ae426082"
)
with AuthenticatedClient(base_url=api_url, token=api_key) as client:
    channels = list_channels.sync(client=client).channels
    file = File(payload=io.BytesIO(png), file_name="dot.png", mime_type="image/png")
    upload = upload_media.sync(client=client, body=NewMediaFile(file=file, alt_text="A dot"))
    post = NewPost(
        body="By a generated client",
        channel_ids=[uuid.UUID(channel_id)],
        media_ids=[upload.media.id],
        scheduled_at=(datetime.now(timezone.utc) + timedelta(hours=1)).isoformat(),
    )
    key = str(uuid.uuid4())
    created = create_post.sync(client=client, body=post, idempotency_key=key)
    again = create_post.sync_detailed(client=client, body=post, idempotency_key=key)
    got = get_post.sync(created.post.id, client=client)
    listed = list_posts.sync(client=client, limit=5)
    retried = retry_post.sync(uuid.UUID(failed_post_id), client=client)
    invalid = validate_post.sync(
        client=client, body=NewPost(body="x" * 600, channel_ids=[uuid.UUID(channel_id)])
    )
    refused = create_post.sync(client=client, body=NewPost(body=""))
    answers = {
        "channels": [str(channel.id) for channel in channels],
        "upload": upload.media.name,
        "created": str(created.post.status),
        "again": again.status_code,
        "got": {
            "pending": got.post.summary.pending,
            "media": [str(file.type_) for file in got.post.media],
        },
        "listed": str(created.post.id) in [str(post.id) for post in listed.posts],
        "retried": [str(one) for one in retried.retrying],
        "invalid": [error.rule for error in invalid.channels[0].errors],
        "refused": str(refused.code),
    }
print(json.dumps(answers))
