import {
  having,
  type Json,
  listOf,
  mayHave,
  textUpTo,
  type Value,
} from '../../domain/json-schema.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { answerReader } from '../answer.ts';
import type { Access } from '../client.ts';
import { baseUrlOf } from '../http.ts';
import { pathOn, type CheckAccount, type PostPages, type ProfileUrl } from '../network-entry.ts';
import { NetworkError, type Account } from '../network.ts';
import { ask, idSchema, reading } from './client.ts';

type YoutubeLogin = {
  readonly baseUrl: string;
  /** With the scopes `youtube.upload` and `youtube.readonly`; for first comments also `youtube.force-ssl`. */
  readonly accessToken: string;
};

const channelSchema = having(
  { id: idSchema, snippet: having({ title: textUpTo(255) }, { customUrl: textUpTo(255) }) },
  { contentDetails: mayHave({ relatedPlaylists: mayHave({ uploads: idSchema }) }) },
);

type Channel = Value<typeof channelSchema>;

const readChannels = answerReader(mayHave({ items: listOf(channelSchema, 50) }));

/**
 * Reads the channel of a token. Creates nothing; costs 1 unit of the quota.
 *
 * Source: https://developers.google.com/youtube/v3/docs/channels/list
 */
export async function connectYoutube(http: Egress, login: YoutubeLogin): Promise<Account> {
  const [account] = await youtubeAccounts(http, login);
  return account;
}

/** All channels of a token, usually one. Throws as `connectYoutube` does. */
export async function youtubeAccounts(
  http: Egress,
  login: YoutubeLogin,
): Promise<[Account, ...Account[]]> {
  const baseUrl = baseUrlOf(login.baseUrl);
  const credentials = { accessToken: login.accessToken.trim() };
  const access = { http, baseUrl, credentials };
  const [first, ...others] = await ownChannels(access, 'snippet,contentDetails');
  return [accountOf(access, first), ...others.map((channel) => accountOf(access, channel))];
}

export const checkYoutube: CheckAccount = async (account) => {
  const channels = await ownChannels(account, 'snippet');
  const channel = channels.find(({ id }) => id === account.remoteId) ?? channels[0];
  return { remoteId: channel.id, displayName: channel.snippet.title };
};

async function ownChannels(access: Access, part: string): Promise<[Channel, ...Channel[]]> {
  const query = { part, mine: 'true' };
  const request = reading('channels', query, 'prepare', 'account');
  const [first, ...others] = (await ask(access, request, readChannels)).items ?? [];
  if (!first) {
    throw new NetworkError('permission_missing', 'This Google account has no YouTube channel.', {
      accepted: 'no',
    });
  }

  return [first, ...others];
}

function accountOf({ baseUrl, credentials }: Access, channel: Channel): Account {
  const uploadsPlaylist = channel.contentDetails?.relatedPlaylists?.uploads;
  const settings: Partial<YoutubeSettings> = {
    webUrl: webUrlOf(baseUrl),
    ...(uploadsPlaylist && { uploadsPlaylist }),
  };
  return {
    baseUrl,
    remoteId: channel.id,
    handle: handleOf(channel),
    displayName: channel.snippet.title,
    credentials,
    session: null,
    settings,
  };
}

const handleOf = ({ id, snippet }: Channel): string => snippet.customUrl || snippet.title || id;

/** The sandbox and other servers than Google's show their videos themselves. */
const webUrlOf = (baseUrl: string): string =>
  new URL(baseUrl).hostname.endsWith('.googleapis.com') ? youtubeWebUrl : baseUrl;

const settingsSchema = having({
  uploadsPlaylist: idSchema,
  /** The website that shows the videos: `https://www.youtube.com`, or the sandbox. */
  webUrl: { type: 'string', pattern: '^https?://' },
});

export type YoutubeSettings = Value<typeof settingsSchema>;

const readSettings = answerReader<Partial<YoutubeSettings>>({ ...settingsSchema, required: [] });

const youtubeWebUrl = 'https://www.youtube.com';

/** @param channelId Gives the default uploads playlist, whose id differs only in its prefix. */
export function settingsOf(settings: Json, channelId: string): YoutubeSettings {
  return {
    uploadsPlaylist: channelId.replace(/^UC/u, 'UU'),
    webUrl: youtubeWebUrl,
    ...readSettings(settings),
  };
}

export const profileUrl: ProfileUrl = ({ remoteId, settings }) =>
  `${settingsOf(settings, remoteId).webUrl}/channel/${encodeURIComponent(remoteId)}`;

const youtubeId = /^[\w.\-]{1,128}$/v;

/** Any video of YouTube: no address names the channel. */
export const postPages: PostPages = {
  idAt: ({ settings, remoteId }, url, part) => {
    const { webUrl } = settingsOf(settings, remoteId);
    const isShort = webUrl === youtubeWebUrl && url.host === 'youtu.be';
    const path = isShort ? `/live${url.pathname}` : (pathOn(webUrl, url) ?? '');
    const video =
      path === '/watch'
        ? url.searchParams.get('v')
        : /^\/(?:shorts|live)\/(?<id>[^\/]+)\/?$/v.exec(path)?.groups?.['id'];
    const id = part > 0 ? url.searchParams.get('lc') : video;
    return video && id && youtubeId.test(id) ? { id } : null;
  },
  example: ({ settings, remoteId }, part) =>
    `${settingsOf(settings, remoteId).webUrl}/watch?v={id}${part > 0 ? '&lc={id}' : ''}`,
};
