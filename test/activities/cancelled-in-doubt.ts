import type { ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { fakeNetwork, type FakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { untilChannelIs, type SweptWorkspace, type Sweeps } from './sweeps.ts';

export type CancelledInDoubt = SweptWorkspace & {
  readonly network: FakeNetwork;
  readonly id: string;
};

/**
 * A cancelled post that its network has, which nobody knows: it is to be looked for, and the next look is in an hour. Its
 * workflow has heard of the cancel, and waits for that.
 */
export async function cancelledInDoubt(
  t: ExecutionContext,
  { newWorkspace, postHandle }: Sweeps,
): Promise<CancelledInDoubt> {
  const network = fakeNetwork();
  const workspace = await newWorkspace(t, network);
  network.fates.push({ kind: 'lost' });
  network.blind = new NetworkError('network_unavailable', 'Down.', {
    taken: 'no',
    retryAtMs: Date.now() + 3_600_000,
  });
  const id = await workspace.schedule(0);
  await untilChannelIs(workspace, id, 'retrying');
  const handle = postHandle(id);
  const first = await untilTriedAgainLater(handle);
  t.is((await workspace.client.post(`/posts/${id}/cancel`)).body.still_sending, 1);
  await untilTriedAgainLater(handle, first); // It has heard, and has looked once more.
  return { ...workspace, network, id };
}

/** Waits until a post's activity waits for its second try. @param before Not this one. @returns which it is. */
async function untilTriedAgainLater(
  handle: ReturnType<Sweeps['postHandle']>,
  before?: string,
): Promise<string> {
  const [activity] = await poll(
    async () => (await handle.describe()).raw.pendingActivities ?? [],
    ([pending]) => (pending?.attempt ?? 0) > 1 && pending?.activityId !== before,
  );
  return activity?.activityId ?? '';
}
