import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { isFinal, type ChannelStatus } from '../../domain/post-status.ts';
import { NetworkError } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import { begin } from './begin.ts';
import { heartbeating } from './heartbeating.ts';
import { waitingReconnectDeliveries } from './lose-access.ts';
import { openConnection } from './open-connection.ts';
import { recordFailure } from './record-failure.ts';
import { recordPublished } from './record-published.ts';
import { sendThread } from './send-thread.ts';
import { loadTarget, type PublishRequest, type PublishTarget } from './target.ts';

export type ChannelOutcome = {
  readonly status: ChannelStatus;
  /** Deliveries of a `channel.needs_reconnect` event that wait for their workflow. */
  readonly deliveryIds: readonly string[];
};

/**
 * One try to bring a post onto one channel. Safe to repeat at any point: it starts at the ledger, and a part
 * that may have been sent is looked for on the network, never sent blindly.
 *
 * @throws ApplicationFailure typed with the channel's error code and the delay until the next try.
 */
export async function publishChannel(
  deps: ActivityDeps,
  request: PublishRequest,
): Promise<ChannelOutcome> {
  const target = await loadTarget(deps, request);
  if (!target) {
    return { status: 'draft', deliveryIds: [] };
  }

  if (isFinal(target.status)) {
    // An earlier try ended it, and its answer was lost on the way to Temporal.
    return { status: target.status, deliveryIds: await waitingReconnectDeliveries(deps, target) };
  }

  if (!(await begin(deps, target))) {
    return { status: 'draft', deliveryIds: [] };
  }

  try {
    await heartbeating(() => publish(deps, target));
    return { status: 'published', deliveryIds: [] };
  } catch (error) {
    if (!(error instanceof NetworkError)) {
      throw error; // A bug or our own database: the default retry shows it, and the ledger keeps it safe.
    }

    const recorded = await recordFailure(deps, target, error);
    if (recorded.kind === 'final') {
      return { status: recorded.status, deliveryIds: recorded.deliveryIds };
    }

    throw ApplicationFailure.create({
      type: recorded.code,
      message: `${recorded.code}; the next try is at ${new Date(recorded.atMs).toISOString()}`,
      nextRetryDelay: Math.max(recorded.atMs - deps.now().getTime(), 1000),
      category: ApplicationFailureCategory.BENIGN,
    });
  }
}

async function publish(deps: ActivityDeps, target: PublishTarget): Promise<void> {
  const network = deps.networks[target.platform];
  if (!network) {
    throw new Error(`This worker knows no network "${target.platform}".`);
  }

  const { parkedUntil } = target;
  if (parkedUntil && parkedUntil > deps.now()) {
    throw new NetworkError(
      'rate_limited',
      `The network limits how often this channel may post; it takes posts again at ${parkedUntil.toISOString()}.`,
      { taken: 'no', retryAtMs: parkedUntil.getTime() },
    );
  }

  const connection = await openConnection(deps, target);
  const sent = await sendThread(deps, target, network, connection);
  await recordPublished(deps, target, sent);
}
