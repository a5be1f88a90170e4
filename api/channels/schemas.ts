import { channelAccess } from '../../domain/access.ts';
import {
  anyFields,
  dateTime,
  fields,
  nullable,
  oneOf,
  record,
  text,
  uuid,
  type Value,
} from '../../domain/json-schema.ts';

export const channelSchema = record({
  id: uuid,
  platform: { ...text, examples: ['mastodon', 'bluesky'] },
  handle: text,
  state: {
    ...oneOf(channelAccess),
    description:
      '`at_risk`: its access ends within seven days, and only connecting it again renews it. `needs_reconnect`: it has ended.',
  },
  error: { ...nullable(text), description: 'Why the channel needs reconnecting.' },
  expires_at: {
    ...nullable(dateTime),
    description:
      'When a person has to connect the account again. Null: never, or the network does not say.',
  },
  options: {
    ...anyFields,
    description: 'What its posts have unless they say otherwise. `GET /networks` has the schema.',
  },
  created_at: dateTime,
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
