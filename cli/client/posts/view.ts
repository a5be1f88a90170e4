import type { Post } from '../../../sdk/src/index.ts';
import { facts, localTime, ownZone, safeLines, tableText } from '../../table.ts';

/** A post for people. */
export function postText(post: Post): string {
  const zone = post.timezone ?? ownZone();
  const time = (at: string | null) => (at ? `${localTime(at, zone)} (${zone})` : null);
  const parts = post.thread ?? [post.body ?? ''];
  return [
    facts([
      ['Post', post.id],
      ['Status', post.outcome ?? post.status],
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

const channelsText = ({ channels }: Post): string =>
  tableText({
    head: ['NETWORK', 'HANDLE', 'STATUS', 'RESULT'],
    rows: channels.map((one) => [
      one.platform,
      one.handle,
      one.unpublish ? `${one.status}, unpublish ${one.unpublish.status}` : one.status,
      [one.url, one.error].filter(Boolean).join(' '),
    ]),
  });
