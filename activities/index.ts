import { attemptDelivery } from './attempt-delivery/attempt-delivery.ts';
import type { DeliveryRequest } from './attempt-delivery/load-delivery.ts';
import { claimPost, type ClaimRequest } from './claim-post.ts';
import type { ActivityDeps } from './deps.ts';
import { finalizePost, type FinalizeRequest } from './finalize-post.ts';
import { heartbeating } from './heartbeating.ts';
import type { PublishRequest } from './publish-channel/job.ts';
import { publishChannel } from './publish-channel/publish-channel.ts';
import { refreshMetrics, type RefreshRequest } from './refresh-metrics/refresh-metrics.ts';
import { sweep } from './sweep/sweep.ts';
import { unpublishChannel, type RemovalRequest } from './unpublish/unpublish-channel.ts';
import {
  finishUnpublish,
  readUnpublish,
  type UnpublishEnd,
  type UnpublishRequest,
} from './unpublish/unpublish-request.ts';

export function createActivities(deps: ActivityDeps) {
  return {
    claimPost: (request: ClaimRequest) => claimPost(deps, request),
    finalizePost: (request: FinalizeRequest) => finalizePost(deps, request),
    publishChannel: (request: PublishRequest) => publishChannel(deps, request),
    readUnpublish: (request: UnpublishRequest) => readUnpublish(deps, request),
    unpublishChannel: (request: RemovalRequest) => unpublishChannel(deps, request),
    finishUnpublish: (request: UnpublishEnd) => finishUnpublish(deps, request),
    attemptDelivery: (request: DeliveryRequest) => attemptDelivery(deps, request),
    refreshMetrics: (request: RefreshRequest) => heartbeating(() => refreshMetrics(deps, request)),
    sweep: (_: Record<string, never>) => heartbeating(() => sweep(deps)),
  };
}

export type Activities = ReturnType<typeof createActivities>;
