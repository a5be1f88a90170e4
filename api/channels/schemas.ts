import {
  anyFields,
  count,
  dateTime,
  fields,
  flag,
  listOf,
  nullable,
  oneOf,
  record,
  text,
  uuid,
} from '../../domain/json-schema.ts';
import { channelAccess } from '../../domain/statuses.ts';
import { maxRetriedPosts } from '../../services/channels/reconnect-channel.ts';

export const channelSchema = record({
  id: uuid,
  platform: { ...text, examples: ['mastodon', 'bluesky'] },
  handle: text,
  display_name: {
    ...nullable(text),
    description:
      'The account’s display name, from the last connection or check. Null when the network reports none.',
  },
  profile_url: {
    ...nullable(text),
    description: 'The account’s public page. Null when its address is unknown.',
  },
  server: {
    ...text,
    description:
      'The host of the account’s server, to which posts are sent. A handle may be claimed; the server is where the account was confirmed.',
  },
  sandbox: {
    ...flag,
    description:
      'Whether the account is at the sandbox: its posts are not published on a real network.',
  },
  state: {
    ...oneOf(channelAccess),
    description:
      '`at_risk`: its access ends within seven days, and only connecting it again renews it. `needs_reconnect`: it has ended.',
  },
  error: { ...nullable(text), description: 'Why the channel needs reconnecting.' },
  expires_at: {
    ...nullable(dateTime),
    description:
      'When a person has to connect the account again. Null when this is never needed, the network reports no end, or the access is already lost.',
  },
  options: {
    ...anyFields,
    description: 'Default options of its posts. `GET /networks` has the schema.',
  },
  created_at: dateTime,
});

/** In events and in the answer of a disconnect. */
export const channelFields = { id: uuid, platform: text, handle: text };

export const disconnectedFields = {
  channel: record(channelFields),
  scheduled_posts: {
    ...count,
    description:
      'How many posts are to be sent to the channel. Each fails there at its time with `disconnected`, unless the account is connected again before.',
  },
};

export const disconnectedAnswer = record({
  ...disconnectedFields,
  still_sending: {
    ...count,
    description:
      'How many posts are being sent to the channel at this moment. Each may still be published; its status on the channel then says so.',
  },
});

export const reconnectBody = fields({
  retry_posts: { ...flag, description: 'Send them again. Only once the account is connected.' },
});

export const reconnectAnswer = record({
  channel: channelSchema,
  link: {
    ...nullable(text),
    description:
      'A link with which a person connects this account again, once and within 15 minutes. It is shown only in this response. Null with `retry_posts`, and when this network cannot be connected in a browser here.',
  },
  link_id: {
    ...nullable(uuid),
    description: 'For `GET /channels/connect/{link_id}`. Null without a link.',
  },
  failed_posts: {
    ...record({
      count,
      post_ids: {
        ...listOf(uuid),
        maxItems: maxRetriedPosts,
        description: `The first ${maxRetriedPosts} of them, by due time.`,
      },
    }),
    description: 'Posts that failed on this channel with `access_lost` in the last 24 hours.',
  },
  retrying: { ...listOf(uuid), description: 'The posts that this call sends again.' },
});

export const channelAnswer = record({ channel: channelSchema });

export const checkAnswer = record({
  channel: channelSchema,
  access: {
    ...oneOf(['connected', 'needs_reconnect', 'unknown']),
    description:
      'The network’s answer. `unknown`: it gave none, and the channel is unchanged; `reason` says why.',
  },
  reason: {
    ...nullable(text),
    description: 'Why the answer is `needs_reconnect` or `unknown`; null otherwise.',
  },
  checked_at: { ...dateTime, description: 'When the network was asked.' },
});

export const editChannelSchema = fields({
  options: {
    ...nullable(anyFields),
    description:
      'Replaces all defaults of its posts; null clears them. `GET /networks` has the schema.',
  },
});
