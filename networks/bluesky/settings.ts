import { answerReader } from '../answer.ts';
import type { Json } from '../network.ts';

export type BlueskySettings = {
  /** Where people read the posts, without a trailing slash: a channel of another app than Bluesky's has its own. */
  readonly webUrl: string;
};

const defaults: BlueskySettings = { webUrl: 'https://bsky.app' };

const read = answerReader<Partial<BlueskySettings>>({
  type: 'object',
  properties: { webUrl: { type: 'string', pattern: '^https?://[^/]' } },
});

/** The settings of a channel; a channel without them has Bluesky's own app. */
export const blueskySettings = (settings: Json): BlueskySettings => ({
  ...defaults,
  ...read(settings),
});
