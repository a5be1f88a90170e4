import type { Orm } from '../db/orm.ts';
import type { Networks } from '../networks/registry.ts';
import type { Egress } from '../runtime/egress/egress.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Sealer } from '../runtime/secrets.ts';

/** What the use cases of connected accounts work with, in every process. */
export type AccountDeps = {
  readonly orm: Orm;
  readonly sealer: Sealer;
  /** How accounts are connected in a browser, and their grants renewed, by platform. */
  readonly oauth: Networks['oauth'];
  /** The way out to networks. */
  readonly egress: Egress;
  /** Where browsers reach this service, without a slash at the end. */
  readonly publicUrl: string;
  /** Of the sandbox, without a slash at the end; null where there is none. */
  readonly sandboxUrl: string | null;
  readonly log: Logger;
  readonly now: () => Date;
};
