import { channelAccess } from '../../domain/access.ts';
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
  type Value,
} from '../../domain/json-schema.ts';
import { mostAtOnce } from './retry-lost-posts.ts';
import { mostNamed } from '../../accounts/disconnect-channel.ts';

export const channelSchema = record({
  id: uuid,
  platform: { ...text, examples: ['mastodon', 'bluesky'] },
  handle: text,
  display_name: {
    ...nullable(text),
    description:
      'What people call the account, as its network said when it was connected or checked last. Null where the network does not say.',
  },
  profile_url: {
    ...nullable(text),
    description: 'The page of the account for people. Null where its address is not known.',
  },
  sandbox: {
    ...flag,
    description:
      'Whether the account is one of the sandbox: nothing that is posted to it goes out.',
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
      'When a person has to connect the account again. Null: never, or the network does not say, or the access is lost already.',
  },
  options: {
    ...anyFields,
    description: 'What its posts have unless they say otherwise. `GET /networks` has the schema.',
  },
  created_at: dateTime,
});

const namedPosts = { ...listOf(uuid), maxItems: mostNamed };

/** What a disconnection has done, as its answer and its event say. */
export const disconnectedFields = {
  channel: record({ id: uuid, platform: text, handle: text }),
  removed_from: {
    ...count,
    description: 'How many scheduled posts and drafts do not have the channel any more.',
  },
  became_drafts: {
    ...record({
      count,
      post_ids: { ...namedPosts, description: `Of the first ${mostNamed} of them.` },
    }),
    description: 'Scheduled posts that were to go nowhere else, and are drafts now.',
  },
};

export const disconnectedAnswer = record({
  ...disconnectedFields,
  still_sending: {
    ...count,
    description:
      'How many posts are being sent to the channel at this moment. Each may still go out, and its channel says so then.',
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
      'Leads a person to connect this account again, once and within 15 minutes; shown this once. Null after `retry_posts`, and where the network cannot be connected in a browser here.',
  },
  failed_posts: {
    ...record({
      count,
      post_ids: {
        ...listOf(uuid),
        maxItems: mostAtOnce,
        description: `Of the first ${mostAtOnce} of them, in the order in which they were due.`,
      },
    }),
    description:
      'Posts that failed on this channel within 24 hours, for `access_lost`, as the call found them.',
  },
  retrying: { ...listOf(uuid), description: 'Those of them that this call has sent again.' },
});

export const channelAnswer = record({ channel: channelSchema });

/** Only the fields that are sent change. */
export const editChannelSchema = fields({
  options: {
    ...nullable(anyFields),
    description:
      'Defaults for its posts, as a whole; null clears them. `GET /networks` has the schema.',
  },
});
export type EditChannelBody = Value<typeof editChannelSchema>;
