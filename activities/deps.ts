import type { Orm } from '../db/orm.ts';
import type { WorkflowStates } from '../domain/statuses.ts';
import type { RulesByPlatform } from '../networks/content-rules.ts';
import type { Network } from '../networks/network.ts';
import type { Networks } from '../networks/registry.ts';
import type { Config, RetentionDays } from '../runtime/config/read-config.ts';
import type { Downloader, Egress } from '../runtime/egress/egress.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Sealer } from '../runtime/secrets.ts';
import type { MediaStorage } from '../runtime/storage/media-storage.ts';
import type { Composed } from '../services/compose.ts';
import { createLimits, type Limits } from './limits.ts';

/** Dependencies of the activities, built once by the worker. */
export type ActivityDeps = {
  readonly orm: Orm;
  readonly sealer: Sealer;
  readonly networks: Readonly<Record<string, Network>>;
  /** Sends requests to networks. */
  readonly egress: Egress;
  /** Downloads the pages that texts link to, for link cards. */
  readonly downloads: Downloader;
  /** Sends requests to webhook endpoints, which may have other allowed addresses. */
  readonly webhooks: Egress;
  /** Limits of this process, for webhook endpoints and for servers of networks. */
  readonly limits: Limits;
  /** Stores the media files of posts. */
  readonly storage: MediaStorage;
  /** Public URL of the API, without a trailing slash. Events contain links to files. */
  readonly publicUrl: string;
  /** Renews OAuth grants, by platform. */
  readonly oauth: Networks['oauth'];
  /** URL of the sandbox, without a trailing slash; null if there is none. */
  readonly sandboxUrl: string | null;
  /** Content rules of all networks, including those without an adapter. */
  readonly rules: RulesByPlatform;
  /** Lets the sweep check whether a row's workflow is running. */
  readonly workflows: WorkflowStates;
  /** Days to keep finished deliveries and metrics. */
  readonly retentionDays: Pick<RetentionDays, 'deliveries' | 'metricDays'>;
  /** Aborts when the worker stops. */
  readonly stopping?: AbortSignal;
  readonly log: Logger;
  readonly now: () => Date;
};

type Own = 'networks' | 'storage' | 'workflows' | 'stopping' | 'log' | 'now';

/** The dependencies of the activities. Their networks have adapters, which only workers load. */
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
