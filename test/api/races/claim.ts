import { claimPost, type Claim } from '../../../activities/claim-post.ts';
import { loadTarget } from '../../../activities/publish-channel/target.ts';
import type { Punctual } from '../../support/punctual.ts';

/** Begins to publish a post, as its workflow does when it is due. */
export const claim = ({ deps }: Punctual, workspaceId: string, postId: string): Promise<Claim> =>
  claimPost(deps, { workspaceId, postId, nowMs: Date.now() });

/** What a worker that made this claim would send now: the texts by channel. */
export async function wouldSend(
  { deps }: Punctual,
  workspaceId: string,
  postId: string,
  claimed: Claim & { readonly kind: 'go' },
): Promise<Record<string, readonly string[]>> {
  const sent: Record<string, readonly string[]> = {};
  for (const { postChannelId, channelId } of claimed.targets) {
    const target = await loadTarget(deps, { workspaceId, postId, postChannelId });
    sent[channelId] = target?.texts ?? [];
  }

  return sent;
}
