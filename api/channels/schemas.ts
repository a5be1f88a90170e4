import { channelStates } from '../../db/entities/channel.ts';
import { dateTime, nullable, record, text, uuid } from '../../domain/json-schema.ts';

export const channelSchema = record({
  id: uuid,
  platform: { type: 'string', examples: ['mastodon', 'bluesky'] },
  handle: text,
  state: { type: 'string', enum: [...channelStates] },
  error: { ...nullable(text), description: 'Why the channel needs reconnecting.' },
  created_at: dateTime,
});
