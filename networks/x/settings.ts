import type { Json } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import type { ProfileUrl } from '../network-entry.ts';

/** Settings of one account. */
export type XSettings = {
  /** The website that shows the posts, without a trailing slash: they are under `<webUrl>/i/web/status/`. */
  readonly webUrl: string;
};

const defaults: XSettings = { webUrl: 'https://x.com' };

const readSettings = answerReader<Partial<XSettings>>({
  type: 'object',
  properties: { webUrl: { type: 'string', pattern: '^https?://[^/]' } },
});

/** Missing or malformed settings default to X's own. */
const xSettings = (settings: Json): XSettings => ({
  ...defaults,
  ...readSettings(settings),
});

/** The URL of a post. */
export const postUrl = (settings: Json, id: string): string =>
  `${xSettings(settings).webUrl}/i/web/status/${encodeURIComponent(id)}`;

/** The page of the account. */
export const profileUrl: ProfileUrl = ({ handle, settings }) =>
  `${xSettings(settings).webUrl}/${encodeURIComponent(handle.replace(/^@/v, ''))}`;
