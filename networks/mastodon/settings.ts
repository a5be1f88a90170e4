import { answerReader } from '../answer.ts';
import type { Json } from '../network.ts';

/** What a server said of its limits when the account was connected. */
export type MastodonSettings = {
  /** In characters as the server counts them. */
  readonly maxCharacters: number;
  /** What every link counts, whatever its length. */
  readonly charactersReservedPerUrl: number;
};

/** Source: https://docs.joinmastodon.org/user/posting/#text */
const defaults: MastodonSettings = { maxCharacters: 500, charactersReservedPerUrl: 23 };

const read = answerReader<Partial<MastodonSettings>>({
  type: 'object',
  properties: {
    maxCharacters: { type: 'integer', minimum: 1 },
    charactersReservedPerUrl: { type: 'integer', minimum: 0, maximum: 10_000 },
  },
});

/** The settings of a channel; a channel without them, or with others, has Mastodon's defaults. */
export const mastodonSettings = (settings: Json): MastodonSettings => ({
  ...defaults,
  ...read(settings),
});
