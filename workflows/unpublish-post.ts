import {
  ActivityFailure,
  CancellationScope,
  isCancellation,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { Target } from '../activities/claim-post.ts';
import type { Activities } from '../activities/index.ts';
import { removalDetails, removalFailure, type ChannelDetails } from './details.ts';
import { unpublish, type UnpublishPostInput } from './messages.ts';
import { activitiesFor } from './publish-channels.ts';
import { errorCodesKey, upsertIfSearchable } from './search-attributes.ts';

const { readUnpublish, finishUnpublish } = proxyLocalActivities<Activities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '30 seconds' },
  localRetryThreshold: '5 seconds',
  summary: 'Read or end the request to remove the post',
});

/**
 * Removes a post from its networks, and records the event `post.unpublished`. A signal says that there may be more
 * channels; without one, a request that arrives while this ends would be lost.
 *
 * @throws ApplicationFailure if the post may still be live somewhere, so that the workflow ends as Failed.
 */
export async function unpublishPost(input: UnpublishPostInput): Promise<'removed'> {
  const channels = new Map<string, ChannelDetails>();
  const show = (): void => setCurrentDetails(removalDetails(input, [...channels.values()]));
  let isAsked = true;
  setHandler(unpublish, () => void (isAsked = true), {
    description: 'Look for more channels to remove the post from.',
  });
  try {
    for (let isOver = false; isAsked || !isOver;) {
      isAsked = false;
      const targets = await readUnpublish(input);
      const stopped = await removeFrom(input, targets, (target, outcome) => {
        const { postChannelId, ...channel } = target;
        channels.set(postChannelId, { ...channel, ...outcome });
        show();
      });
      ({ isOver } = await finishUnpublish({ ...input, stopped }));
    }
  } catch (error) {
    if (isCancellation(error)) {
      // Cancelled in the Temporal UI: end the request too.
      await CancellationScope.nonCancellable(() => finishUnpublish({ ...input, stopped: 'all' }));
    }

    throw error;
  }

  const left = [...channels.values()].filter(
    ({ status }) => !['removed', 'not_found', 'gone'].includes(status),
  );
  const codes = [...new Set(left.flatMap(({ code }) => code ?? []))].toSorted();
  upsertIfSearchable(codes.length > 0 ? [{ key: errorCodesKey, value: codes }] : []);
  if (left.length > 0) {
    throw removalFailure(left);
  }

  return 'removed';
}

/** Removes the post from all channels at the same time. @returns the rows whose activity was stopped or timed out. */
async function removeFrom(
  input: UnpublishPostInput,
  targets: readonly Target[],
  setOutcome: (target: Target, outcome: Pick<ChannelDetails, 'status' | 'code'>) => void,
): Promise<string[]> {
  const stopped: string[] = [];
  await Promise.all(
    targets.map(async (target) => {
      const { postChannelId, ...channel } = target;
      setOutcome(target, { status: 'under way' });
      try {
        const { unpublishChannel } = activitiesFor(channel, 'Remove from');
        setOutcome(target, await unpublishChannel({ ...input, postChannelId }));
      } catch (error) {
        if (isCancellation(error) || !(error instanceof ActivityFailure)) {
          throw error;
        }

        stopped.push(postChannelId);
        setOutcome(target, { status: 'stopped', code: 'internal' });
      }
    }),
  );
  return stopped;
}
