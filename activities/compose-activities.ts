import type { Config } from '../runtime/config/read-config.ts';
import type { Composed } from '../services/compose.ts';
import type { ActivityDeps } from './deps.ts';

type Own = 'networks' | 'storage' | 'workflows' | 'log' | 'now';

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
  publicUrl: services.publicUrl,
  sandboxUrl: services.sandboxUrl,
  retentionDays,
  ...own,
});
