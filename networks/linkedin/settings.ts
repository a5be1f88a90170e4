import type { Json } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import type { ProfileUrl } from '../network-entry.ts';

export const linkedinApiUrl = 'https://api.linkedin.com';

/** The website for posts of an API: the sandbox shows its own. */
export const linkedinWebUrl = (apiUrl: string): string =>
  apiUrl === linkedinApiUrl ? defaults.webUrl : apiUrl;

/** Settings of one account, stored in the channel. */
export type LinkedinSettings = {
  /** Whether the account is the page of an organisation. */
  readonly isOrganization: boolean;
  /** Base URL of the website that shows the posts, without a trailing slash. */
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

/** The settings of a channel. Missing or malformed ones default to a member's on LinkedIn itself. */
export const linkedinSettings = (settings: Json): LinkedinSettings => ({
  ...defaults,
  ...read(settings),
});

/** The page of an organisation. LinkedIn's API does not reveal the URL of a member's profile. */
export const profileUrl: ProfileUrl = ({ remoteId, settings }) => {
  const id = /^urn:li:organization:(?<id>\d+)$/v.exec(remoteId)?.groups?.['id'];
  return id === undefined ? null : `${linkedinSettings(settings).webUrl}/company/${id}/`;
};
