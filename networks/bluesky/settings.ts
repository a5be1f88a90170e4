import { answerReader } from '../answer.ts';
import type { Json } from '../network.ts';

export type BlueskySettings = {
  /** Where people read the posts, without a trailing slash: a channel of another app than Bluesky's has its own. */
  readonly webUrl: string;
  /** What the account's PDS takes as one blob. No PDS tells it, so an operator whose PDS takes less sets it. */
  readonly maxVideoBytes: number;
};

const defaults: BlueskySettings = {
  webUrl: 'https://bsky.app',
  // What Bluesky's own servers take for a video. A PDS as it comes out of the box takes 5 MiB.
  maxVideoBytes: 100_000_000,
};

const read = answerReader<Partial<BlueskySettings>>({
  type: 'object',
  properties: {
    webUrl: { type: 'string', pattern: '^https?://[^/]' },
    maxVideoBytes: { type: 'integer', minimum: 1 },
  },
});

/** The settings of a channel; a channel without them has Bluesky's own app and servers. */
export const blueskySettings = (settings: Json): BlueskySettings => ({
  ...defaults,
  ...read(settings),
});
