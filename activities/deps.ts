import type { WorkflowStates } from '../domain/statuses.ts';
import type { Network } from '../networks/network.ts';
import type { Config } from '../runtime/config/read-config.ts';
import type { Logger } from '../runtime/logger.ts';
import type { MediaStorage } from '../runtime/storage/media-storage.ts';
import type { Composed } from '../services/compose.ts';
import { createLimits, type Limits } from './limits.ts';

/** Dependencies of the activities, built once by the worker. */
export type ActivityDeps = Pick<
  Composed,
  'orm' | 'sealer' | 'rules' | 'downloads' | 'publicUrl' | 'sandboxUrl'
> & {
  readonly retentionDays: Pick<Config['retentionDays'], 'deliveries' | 'metricDays'>;
  /** With adapters, which only workers load; `rules` are of all networks. */
  readonly networks: Readonly<Record<string, Network>>;
  /** Sends requests to networks. */
  readonly egress: Composed['egress'];
  /** Sends requests to webhook endpoints, which may have other allowed addresses. */
  readonly webhooks: Composed['egress'];
  /** Limits of this process, for webhook endpoints and for servers of networks. */
  readonly limits: Limits;
  /** Stores the media files of posts. */
  readonly storage: MediaStorage;
  /** Renews OAuth grants, by platform. */
  readonly oauth: Composed['networks']['oauth'];
  /** Lets the sweep check whether a row's workflow is running. */
  readonly workflows: WorkflowStates;
  /** Aborts when the worker stops. */
  readonly stopping?: AbortSignal;
  readonly log: Logger;
  readonly now: () => Date;
};

type Own = 'networks' | 'storage' | 'workflows' | 'stopping' | 'log' | 'now';

export const composeActivities = (
  { retentionDays }: Config,
  services: Composed,
  own: Pick<ActivityDeps, Own>,
): ActivityDeps => ({
  orm: services.orm,
  sealer: services.sealer,
  rules: services.rules,
  oauth: services.networks.oauth,
  egress: services.networkEgress,
  webhooks: services.egress,
  downloads: services.downloads,
  limits: createLimits(),
  publicUrl: services.publicUrl,
  sandboxUrl: services.sandboxUrl,
  retentionDays,
  ...own,
});
