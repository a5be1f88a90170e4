import type { Egress } from '../../runtime/egress/egress.ts';
import { answerReader } from '../answer.ts';
import { NetworkError, type Account } from '../network.ts';
import { baseUrlOf } from '../send-request.ts';
import { accessWith, answerOf, get, idSchema } from './client.ts';
import { youtubeWebUrl, type YoutubeSettings } from './settings.ts';

type YoutubeLogin = {
  /** Of the API: `https://www.googleapis.com`. */
  readonly baseUrl: string;
  /** With the scopes `youtube.upload` and `youtube.readonly`; for first comments also `youtube.force-ssl`. */
  readonly accessToken: string;
};

type Channel = {
  readonly id: string;
  readonly snippet: { readonly title: string; readonly customUrl?: string };
  readonly contentDetails?: { readonly relatedPlaylists?: { readonly uploads?: string } };
};

const readChannels = answerReader<{ readonly items?: readonly Channel[] }>({
  type: 'object',
  properties: {
    items: {
      type: 'array',
      maxItems: 50,
      items: {
        type: 'object',
        required: ['id', 'snippet'],
        properties: {
          id: idSchema,
          snippet: {
            type: 'object',
            required: ['title'],
            properties: {
              title: { type: 'string', maxLength: 255 },
              customUrl: { type: 'string', maxLength: 255 },
            },
          },
          contentDetails: {
            type: 'object',
            properties: {
              relatedPlaylists: { type: 'object', properties: { uploads: idSchema } },
            },
          },
        },
      },
    },
  },
});

/**
 * Asks YouTube whose channel a token opens. Creates nothing; costs 1 unit of the quota.
 *
 * Source: https://developers.google.com/youtube/v3/docs/channels/list
 *
 * @throws NetworkError `access_lost` for a token that Google does not accept, `permission_missing` for one that may not
 *   read the channel or has none.
 * @throws AppError `invalid_request` for an address that is none.
 */
export async function connectYoutube(http: Egress, login: YoutubeLogin): Promise<Account> {
  const baseUrl = baseUrlOf(login.baseUrl);
  const credentials = { accessToken: login.accessToken.trim() };
  const access = accessWith({ http, baseUrl }, credentials, 'prepare');
  const query = { part: 'snippet,contentDetails', mine: 'true' };
  const response = await get(access, { path: 'channels', query }, 'prepare');
  const refused = {
    purpose: 'prepare',
    accessToken: access.accessToken,
    about: 'account',
  } as const;
  const [channel] = answerOf(response, refused, readChannels).items ?? [];
  if (!channel) {
    throw new NetworkError('permission_missing', 'This Google account has no YouTube channel.', {
      taken: 'no',
    });
  }

  const { customUrl, title } = channel.snippet;
  const uploadsPlaylist = channel.contentDetails?.relatedPlaylists?.uploads;
  const settings: Partial<YoutubeSettings> = {
    webUrl: webUrlOf(baseUrl),
    ...(uploadsPlaylist && { uploadsPlaylist }),
  };
  return {
    baseUrl,
    remoteId: channel.id,
    handle: customUrl || title || channel.id,
    credentials,
    session: null,
    settings,
  };
}

/** A server that is not Google's shows its videos itself. */
const webUrlOf = (baseUrl: string): string =>
  new URL(baseUrl).hostname.endsWith('.googleapis.com') ? youtubeWebUrl : baseUrl;
