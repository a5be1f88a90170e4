import type { WorkflowStates } from '../domain/workflow-state.ts';
import type { Orm } from '../db/orm.ts';
import type { RulesByPlatform } from '../networks/content-rules.ts';
import type { Network } from '../networks/network.ts';
import type { Networks } from '../networks/registry.ts';
import type { RetentionDays } from '../runtime/config/limits.ts';
import type { Downloader, Egress } from '../runtime/egress/egress.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Sealer } from '../runtime/secrets.ts';
import type { MediaStorage } from '../runtime/storage/media-storage.ts';

/** What activities work with, built once in `worker/main.ts`. */
export type ActivityDeps = {
  readonly orm: Orm;
  readonly sealer: Sealer;
  readonly networks: Readonly<Record<string, Network>>;
  /** The way out to networks. */
  readonly egress: Egress;
  /** The way out to what texts link to: link cards. */
  readonly downloads: Downloader;
  /** The way out to webhook endpoints: other addresses may be open there. */
  readonly webhooks: Egress;
  /** Has the bytes of the files that posts publish. */
  readonly storage: MediaStorage;
  /** Where browsers reach the API, without a slash at the end: events link to files. */
  readonly publicUrl: string;
  /** How grants of accounts are renewed, by platform. */
  readonly oauth: Networks['oauth'];
  /** Of the sandbox, without a slash at the end; null where there is none. */
  readonly sandboxUrl: string | null;
  /** Of all networks, also those that have no adapter. */
  readonly rules: RulesByPlatform;
  /** The sweep asks whether Temporal goes on with what the database waits for. */
  readonly workflows: WorkflowStates;
  /** For how many days what is over is kept. */
  readonly retentionDays: Pick<RetentionDays, 'deliveries' | 'finds' | 'metricDays'>;
  readonly log: Logger;
  readonly now: () => Date;
};
