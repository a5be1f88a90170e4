import type { Quotas } from '../../domain/quotas.ts';
import { wholeNumber, type Env } from './read-values.ts';

const upTo = (otherwise: number) => ({ otherwise, least: 0, most: 999_999_999_999_999 });

/** What a workspace may have, where the operator set nothing else for it (`npm run admin -- quota set`). */
export const quotas = (env: Env, problems: string[]): Quotas => ({
  scheduled: wholeNumber(env, 'PUNCTUAL_QUOTA_SCHEDULED', upTo(10_000), problems),
  drafts: wholeNumber(env, 'PUNCTUAL_QUOTA_DRAFTS', upTo(10_000), problems),
  text_bytes: wholeNumber(env, 'PUNCTUAL_QUOTA_TEXT_BYTES', upTo(1_000_000_000), problems),
  files: wholeNumber(env, 'PUNCTUAL_QUOTA_FILES', upTo(10_000), problems),
  media_bytes: wholeNumber(env, 'PUNCTUAL_QUOTA_MEDIA_BYTES', upTo(10_000_000_000), problems),
  channels: wholeNumber(env, 'PUNCTUAL_QUOTA_CHANNELS', upTo(100), problems),
});
