import type { Allowance } from '../content-rules.ts';
import { type NetworkEntry, readAllowance } from '../network-entry.ts';
import { readSite } from '../oauth/site.ts';
import { checkYoutube, connectYoutube, postPages, profileUrl } from './connect.ts';
import { readPrepared } from './metadata.ts';
import { rules } from './rules.ts';

export const youtube: NetworkEntry = (env, problems) => {
  const site = readSite(env, problems, 'YouTube', {
    apiUrl: ['PUNCTUAL_YOUTUBE_API_URL', 'https://www.googleapis.com'],
    app: ['PUNCTUAL_YOUTUBE_CLIENT_ID', 'PUNCTUAL_YOUTUBE_CLIENT_SECRET'],
    authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
    tokenUrl: 'https://oauth2.googleapis.com/token',
  });
  const allowance = readAllowance(env, problems, {
    setting: 'PUNCTUAL_YOUTUBE_UNITS_PER_WORKSPACE_PER_DAY',
    otherwise: 5000,
    unit: 'units',
    cost: unitsOf,
  });
  return {
    rules,
    adapter: async () => ({ ...(await import('./adapter.ts')).youtubeNetwork, allowance }),
    connector: {
      summary: 'Connects a YouTube channel.',
      options: { url: { placeholder: site.apiUrl, required: false } },
      secret: 'token',
      connect: (http, { url: baseUrl = site.apiUrl, token: accessToken = '' }) =>
        connectYoutube(http, { baseUrl, accessToken }),
      sandbox: (url) => ({ url: `${url}/youtube`, token: 'demo' }),
    },
    oauth: {
      name: 'YouTube',
      missing: site.missing,
      fields: {},
      load: async () => (await import('./oauth.ts')).youtubeOauth(site),
    },
    check: checkYoutube,
    profileUrl,
    postPages,
  };
};

/**
 * In units of the project's 10,000 a day. An upload costs no units but one of 100 uploads a day, so it counts as a
 * hundredth of the units.
 *
 * Source: https://developers.google.com/youtube/v3/determine_quota_cost
 */
const units = { upload: 100, thumbnail: 50, comment: 51 } as const;

/** The units for sending a part. Reads of videos cost one unit each and are not counted. */
const unitsOf: Allowance['cost'] = ({ data, options }, isUploading) => {
  if (readPrepared(data)?.kind === 'comment') {
    return units.comment;
  }

  const thumbnail = options['thumbnail'] === undefined ? 0 : units.thumbnail;
  return (isUploading ? 0 : units.upload) + thumbnail;
};
