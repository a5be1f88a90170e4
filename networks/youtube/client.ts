import { networkClient, type Access, type RefusedRequest } from '../client.ts';
import type { Purpose } from '../http.ts';
import type { Removal } from '../network.ts';
import { dialect } from './refusal.ts';

export const idSchema = { type: 'string', pattern: '^[A-Za-z0-9_.\\-]{1,200}$' } as const;

const client = networkClient(dialect, 'Google');

export const { call, ask } = client;

export type YoutubeAnswer = Awaited<ReturnType<typeof call>>;

/** Whether a response has a reason: YouTube's stable name of an error. */
export const refusedAs = (answer: YoutubeAnswer, reason: string): boolean =>
  answer.said().reasons?.includes(reason) === true;

/**
 * Deletes a video or a comment; both need the scope `youtube.force-ssl`. A comment that was left out has an id of ours,
 * which YouTube does not know.
 *
 * Source: https://developers.google.com/youtube/v3/docs/videos/delete
 */
export const deleteResource = (
  access: Access,
  about: 'video' | 'comment',
  id: string,
): Promise<Removal> =>
  client.remove(access, { path: `/youtube/v3/${about}s?${new URLSearchParams({ id })}`, about });

/** A request that reads resources, and the subject for its refusal. */
export const reading = (
  resource: string,
  query: Readonly<Record<string, string>>,
  purpose: Purpose,
  about: RefusedRequest['about'] & string,
) => {
  const path = `/youtube/v3/${resource}?${new URLSearchParams(query)}`;
  return { method: 'GET', path, purpose, about } as const;
};
