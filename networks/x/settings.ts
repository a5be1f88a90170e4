import type { Json } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import type { ProfileUrl } from '../entry.ts';

/** What holds for one account. */
export type XSettings = {
  /** Where people read its posts, without a trailing slash: they lie under `<webUrl>/i/web/status/`. */
  readonly webUrl: string;
};

const defaults: XSettings = { webUrl: 'https://x.com' };

const readSettings = answerReader<Partial<XSettings>>({
  type: 'object',
  properties: { webUrl: { type: 'string', pattern: '^https?://[^/]' } },
});

/** What is missing or malformed counts as X's own. */
const xSettings = (settings: Json): XSettings => ({
  ...defaults,
  ...readSettings(settings),
});

/** The live address of a post. */
export const postUrl = (settings: Json, id: string): string =>
  `${xSettings(settings).webUrl}/i/web/status/${encodeURIComponent(id)}`;

/** Where people look at the account. */
export const profileUrl: ProfileUrl = ({ handle, settings }) =>
  `${xSettings(settings).webUrl}/${encodeURIComponent(handle.replace(/^@/v, ''))}`;
