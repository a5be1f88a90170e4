import type { WorkflowStates } from '../domain/statuses.ts';
import type { Network } from '../networks/network.ts';
import type { Config } from '../runtime/config/read-config.ts';
import type { Logger } from '../runtime/logger.ts';
import type { MediaStorage } from '../runtime/storage/media-storage.ts';
import type { Composed } from '../services/compose.ts';
import { createLimits, type Limits } from './limits.ts';

export type ActivityDeps = Pick<
  Composed,
  'orm' | 'sealer' | 'rules' | 'downloads' | 'publicUrl' | 'sandboxUrl'
> & {
  readonly retentionDays: Pick<Config['retentionDays'], 'deliveries' | 'metricDays'>;
  /** With adapters, which only workers load; `rules` are of all networks. */
  readonly networks: Readonly<Record<string, Network>>;
  readonly egress: Composed['egress'];
  /** Sends requests to webhook endpoints, which may have other allowed addresses. */
  readonly webhooks: Composed['egress'];
  readonly limits: Limits;
  readonly storage: MediaStorage;
  readonly oauth: Composed['networks']['oauth'];
  readonly workflows: WorkflowStates;
  readonly stopping?: AbortSignal;
  readonly log: Logger;
  readonly now: () => Date;
};

export const composeActivities = (
  { retentionDays }: Config,
  services: Composed,
  own: Pick<ActivityDeps, 'networks' | 'storage' | 'workflows' | 'stopping' | 'log' | 'now'>,
): ActivityDeps => ({
  ...services,
  oauth: services.networks.oauth,
  egress: services.networkEgress,
  webhooks: services.egress,
  limits: createLimits(),
  retentionDays,
  ...own,
});
