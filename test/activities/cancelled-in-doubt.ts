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
 * A cancelled post that its network has, though no attempt has found it: the next reconcile is an hour away. Its
 * workflow has received the cancel signal and waits.
 */
export async function cancelledInDoubt(
  t: ExecutionContext,
  { newWorkspace, postHandle }: Sweeps,
): Promise<CancelledInDoubt> {
  const network = fakeNetwork();
  const workspace = await newWorkspace(t, network);
  network.fates.push({ kind: 'lost' });
  network.blind = new NetworkError('network_unavailable', 'Down.', {
    accepted: 'no',
    retryAtMs: Date.now() + 3_600_000,
  });
  const id = await workspace.schedule(0);
  await untilChannelIs(workspace, id, 'retrying');
  const handle = postHandle(id);
  const first = await untilTriedAgainLater(handle);
  t.is((await workspace.client.post(`/posts/${id}/cancel`)).body.still_sending, 1);
  await untilTriedAgainLater(handle, first); // The workflow received the signal and reconciled once more.
  return { ...workspace, network, id };
}

/**
 * Waits until the post's activity waits for its second attempt. @param before An activity id to skip. @returns the
 * activity's id.
 */
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
