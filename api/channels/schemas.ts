import { channelStates } from '../../db/entities/channel.ts';
import { dateTime, nullable, oneOf, record, text, uuid } from '../../domain/json-schema.ts';

export const channelSchema = record({
  id: uuid,
  platform: { ...text, examples: ['mastodon', 'bluesky'] },
  handle: text,
  state: oneOf(channelStates),
  error: { ...nullable(text), description: 'Why the channel needs reconnecting.' },
  created_at: dateTime,
});
