import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { attemptDelivery } from '../../../activities/attempt-delivery/attempt-delivery.ts';
import { claimPost } from '../../../activities/claim-post.ts';
import { finalizePost } from '../../../activities/finalize-post.ts';
import { publishChannel } from '../../../activities/publish-channel/publish-channel.ts';
import type { Punctual } from '../../support/punctual.ts';

const logger = new DefaultLogger('ERROR');

/** Does what a post's workflow does, each step once: so a test of the commands needs no Temporal and no time. */
export async function publish(
  { deps }: Punctual,
  workspaceId: string,
  postId: string,
): Promise<void> {
  const claimed = await claimPost(deps, { workspaceId, postId, nowMs: Date.now() });
  if (claimed.kind !== 'go') {
    throw new Error(`The claim said ${claimed.kind}.`);
  }

  const { targets, revision } = claimed;
  for (const { postChannelId } of targets) {
    const request = { workspaceId, postId, postChannelId };
    await new MockActivityEnvironment(undefined, { logger }).run(publishChannel, deps, request);
  }

  const end = { workspaceId, postId, revision, canceled: false, claimed: revision };
  const { deliveryIds } = await finalizePost(deps, end);
  for (const deliveryId of deliveryIds) {
    await attemptDelivery(deps, { workspaceId, deliveryId });
  }
}
