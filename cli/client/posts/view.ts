import type { Post } from '../../../sdk/src/index.ts';
import { facts, localTime, oneLine, ownZone, safeLines, tableText } from '../../table.ts';

/** A post for people. */
export function postText(post: Post): string {
  const time = (at: string | null) => at && zonedTime(at, post.timezone);
  const parts = post.thread ?? [post.body ?? ''];
  return [
    facts([
      ['Post', post.id],
      ['Status', statusOf(post)],
      ['Due', post.published_at ? null : time(post.scheduled_at)],
      ['Published', time(post.published_at)],
      ['Files', String(post.media.length || '')],
      ['Tags', post.tags.join(', ')],
      ['External id', post.external_id],
      ...post.warnings.map(({ message }) => ['Warning', message] as const),
    ]),
    ...(post.channels.length > 0 ? ['', channelsText(post)] : []),
    ...parts.filter(Boolean).map((part) => `\n${safeLines(part)}`),
  ].join('\n');
}

const statusOf = ({ outcome, status, summary: { removed }, channels }: Post): string =>
  `${outcome ?? status}${removed > 0 ? `, then removed from ${removed} of ${channels.length} channels` : ''}`;

/** @param zone This machine's unless given. */
export function zonedTime(at: string, zone: string | null | undefined): string {
  const known = zone ?? ownZone();
  return `${localTime(at, known)} (${known})`;
}

const channelsText = ({ id: post, channels, thread, body }: Post): string =>
  [
    tableText({
      head: ['NETWORK', 'HANDLE', 'STATUS', 'RESULT'],
      rows: channels.map((one) => [
        one.platform,
        one.handle,
        one.unpublish ? `${one.status}, unpublish ${one.unpublish.status}` : one.status,
        [one.url, one.error].filter(Boolean).join(' '),
      ]),
    }),
    ...channels.flatMap((one) =>
      [
        one.body !== null &&
          one.body !== (thread?.[0] ?? body) &&
          `Text on ${oneLine(one.handle)}: ${oneLine(one.body)}`,
        Object.keys(one.options).length > 0 &&
          `Options on ${oneLine(one.handle)}: ${oneLine(JSON.stringify(one.options))}`,
        one.status === 'unconfirmed' &&
          `Look whether it is on ${one.platform}, then: punctual post settle ${post} --channel ${one.channel_id} --url URL, or --not-published`,
      ].filter((line) => line !== false),
    ),
  ].join('\n');
