import { setTimeout as sleep } from 'node:timers/promises';
import type { ChannelResult } from '../../domain/post-view.ts';
import type { Evidence, Violation } from './check/evidence.ts';
import { readNetworks } from './networks/read-networks.ts';
import { callUntilAnswered, showPost } from './parts/calls.ts';
import type { World } from './world.ts';

/** How long a removal may take, in milliseconds. */
const patienceMs = 10 * 60_000;

/** The number of posts that their users remove at the end of a run. */
const mostRemoved = 5;

/**
 * Removes a few published posts once everything else has been recorded, and checks that they are gone from their
 * networks and not sent again.
 */
export async function removePosts(
  { client, channels }: World,
  histories: Evidence['histories'],
): Promise<Violation[]> {
  const deadlineMs = Date.now() + patienceMs;
  const published = histories.filter(({ end }) => end?.status === 'published');
  const violations: Violation[] = [];
  for (const { id, plan } of published.slice(0, mostRemoved)) {
    await callUntilAnswered(() => client.post(`/posts/${id}/unpublish`, {}));
    let ends: readonly ChannelResult[] = [];
    do {
      await sleep(500);
      ends = (await showPost(client, id))?.channels ?? [];
    } while (ends.some((end) => end.unpublish?.status === 'pending') && Date.now() < deadlineMs);
    const { reply } = await callUntilAnswered(() => client.post(`/posts/${id}/retry`));
    const live = (await readNetworks(channels)).filter(({ marker }) => marker === plan.marker);
    const wrong = live.filter(({ channel }) => {
      const end = ends.find((one) => one.channel_id === channels[channel]?.id);
      return end?.status === 'removed';
    });
    if (wrong.length > 0 || reply.status !== 409) {
      const what = `a retry got ${reply.status}, and on the network: ${wrong.map(({ url }) => url).join(', ')}`;
      violations.push({ invariant: 'live after its removal', marker: plan.marker, what });
    }
  }

  return violations;
}
