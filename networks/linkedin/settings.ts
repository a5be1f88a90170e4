import type { Json } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import type { ProfileUrl } from '../entry.ts';

export const linkedinApiUrl = 'https://api.linkedin.com';

/** Where people read what is posted by an API: a sandbox's posts are on the sandbox. */
export const linkedinWebUrl = (apiUrl: string): string =>
  apiUrl === linkedinApiUrl ? defaults.webUrl : apiUrl;

/** What holds for one account: kept in the channel's settings. */
export type LinkedinSettings = {
  /** Whether the account is the page of an organisation. */
  readonly isOrganization: boolean;
  /** Where people read posts, without a trailing slash. */
  readonly webUrl: string;
};

const defaults: LinkedinSettings = { isOrganization: false, webUrl: 'https://www.linkedin.com' };

const read = answerReader<Partial<LinkedinSettings>>({
  type: 'object',
  properties: {
    isOrganization: { type: 'boolean' },
    webUrl: { type: 'string', pattern: '^https?://' },
  },
});

/** The settings of a channel; what is missing or malformed is that of a member on LinkedIn itself. */
export const linkedinSettings = (settings: Json): LinkedinSettings => ({
  ...defaults,
  ...read(settings),
});

/** Where people look at the page of an organisation. LinkedIn does not tell apps where a member's profile is. */
export const profileUrl: ProfileUrl = ({ remoteId, settings }) => {
  const id = /^urn:li:organization:(?<id>\d+)$/v.exec(remoteId)?.groups?.['id'];
  return id === undefined ? null : `${linkedinSettings(settings).webUrl}/company/${id}/`;
};
