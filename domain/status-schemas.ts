import { nullable, oneOf } from './json-schema.ts';
import { endedOutcomes, postStatuses, shownChannelStatuses } from './statuses.ts';

export const postStatus = {
  ...oneOf(postStatuses),
  description:
    '`draft`: it has no time; a cancelled post is also a draft. `scheduled`: it waits for its time. `publishing`: some of its channels have not ended yet. `published`: it went out on every channel. `failed`: every channel has ended, and some are `failed` or `unconfirmed`; if `summary.published` is not 0, it went out on the others.',
};
export const postOutcome = {
  ...nullable(oneOf(endedOutcomes)),
  description:
    'How the post ended: `published` on every channel, `partial` on some, `failed` on none. `unconfirmed`: a channel is `unconfirmed`. Null until it has ended.',
};
export const channelStatus = {
  ...oneOf(shownChannelStatuses),
  description:
    '`draft`: the post is a draft. `scheduled`: publishing has not begun. `publishing`: it is being sent, or its files are being uploaded. `retrying`: the next attempt is at `retry_at`. `published`: it went out. `failed`: it did not go out, or not all parts of its thread did; `error` says why. `unconfirmed`: the network may or may not have the post, and nothing is sent again automatically. Look at the account, then report the outcome with `POST /posts/{id}/settle`. `removed`: it was published, and `POST /posts/{id}/unpublish` removed it; `url` and the last metrics stay as history.',
};
