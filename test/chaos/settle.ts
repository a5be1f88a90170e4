import type { Stage } from './change-post.ts';
import type { Lived } from './lived.ts';
import { insist } from './parts/calls.ts';
import type { Found } from './read-networks.ts';

/**
 * After a restore nobody but the owner can tell what became of a post: who looks at the account, and says so. Of threads
 * only part of which may be there nothing is said here.
 *
 * @throws Error when the API does not take it.
 */
export async function settleForgotten(
  { client, channelIds, journal }: Stage,
  lived: Lived,
  found: readonly Found[],
): Promise<void> {
  const { marker, parts } = lived.plan;
  if (lived.restores === 0 || parts > 1 || !lived.end || lived.end.status === 'draft') {
    return;
  }

  for (const { channel_id: id, status } of lived.end.channels) {
    const channel = channelIds.indexOf(id);
    if (status !== 'unconfirmed') {
      continue;
    }

    const there = found.find((each) => each.marker === marker && each.channel === channel);
    const body = { channel_id: id, url: there?.url ?? null };
    const { reply } = await insist(() => client.post(`/posts/${lived.id}/settle`, body));
    journal.note(marker, `settled ${body.url ?? 'as absent'}: ${reply.status}`);
    if (reply.status !== 200) {
      throw new Error(`It was not settled: ${reply.status} ${JSON.stringify(reply.body)}`);
    }

    lived.settled += 1;
    lived.end = reply.body.post;
  }
}
