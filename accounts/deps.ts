import type { Orm } from '../db/orm.ts';
import type { Networks } from '../networks/registry.ts';
import type { Egress } from '../runtime/egress/egress.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Sealer } from '../runtime/secrets.ts';

/** Dependencies of the account use cases, in every process. */
export type AccountDeps = {
  readonly orm: Orm;
  readonly sealer: Sealer;
  /** OAuth adapters by platform. */
  readonly oauth: Networks['oauth'];
  /** Guarded HTTP client for requests to networks. */
  readonly egress: Egress;
  /** Public base URL of this service, without a trailing slash. */
  readonly publicUrl: string;
  /** Base URL of the sandbox, without a trailing slash; null when there is none. */
  readonly sandboxUrl: string | null;
  readonly log: Logger;
  readonly now: () => Date;
};
