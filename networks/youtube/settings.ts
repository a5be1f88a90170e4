import { answerReader } from '../answer.ts';
import type { ProfileUrl } from '../network-entry.ts';
import type { Json } from '../../domain/json-schema.ts';
import { idSchema } from './client.ts';

/** Settings of a channel's account. */
export type YoutubeSettings = {
  /** The playlist of the channel's uploads. */
  readonly uploadsPlaylist: string;
  /** The website that shows the videos: `https://www.youtube.com`, or the sandbox. */
  readonly webUrl: string;
};

const readSettings = answerReader<Partial<YoutubeSettings>>({
  type: 'object',
  properties: {
    uploadsPlaylist: idSchema,
    webUrl: { type: 'string', pattern: '^https?://' },
  },
});

export const youtubeWebUrl = 'https://www.youtube.com';

/** @param channelId Gives the default uploads playlist, whose id differs only in its prefix. */
export function settingsOf(settings: Json, channelId: string): YoutubeSettings {
  return {
    uploadsPlaylist: channelId.replace(/^UC/u, 'UU'),
    webUrl: youtubeWebUrl,
    ...readSettings(settings),
  };
}

/** The page of the channel. */
export const profileUrl: ProfileUrl = ({ remoteId, settings }) =>
  `${settingsOf(settings, remoteId).webUrl}/channel/${encodeURIComponent(remoteId)}`;
