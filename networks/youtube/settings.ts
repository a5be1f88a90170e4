import { answerReader } from '../answer.ts';
import type { ProfileUrl } from '../entry.ts';
import type { Json } from '../../domain/json-schema.ts';
import { idSchema } from './client.ts';

/** What a channel keeps of its account. */
export type YoutubeSettings = {
  /** The playlist of all that it uploads. */
  readonly uploadsPlaylist: string;
  /** Where people watch: `https://www.youtube.com`, or the sandbox. */
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

/** @param channelId A channel's uploads have its id with another beginning. */
export function settingsOf(settings: Json, channelId: string): YoutubeSettings {
  return {
    uploadsPlaylist: channelId.replace(/^UC/u, 'UU'),
    webUrl: youtubeWebUrl,
    ...readSettings(settings),
  };
}

/** Where people look at the channel. */
export const profileUrl: ProfileUrl = ({ remoteId, settings }) =>
  `${settingsOf(settings, remoteId).webUrl}/channel/${encodeURIComponent(remoteId)}`;
