import type { Orm } from '../db/orm.ts';
import type { Network } from '../networks/network.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Sealer } from '../runtime/sealer.ts';
import type { PostToSync } from '../temporal/sync-post.ts';

/** What use cases work with, built once in `api/main.ts`. */
export type ApiDeps = {
  readonly orm: Orm;
  readonly sealer: Sealer;
  readonly networks: Readonly<Record<string, Network>>;
  readonly log: Logger;
  readonly now: () => Date;
  /** Tells Temporal of a committed post, in the background; what fails here the relay makes up for. */
  readonly tellTemporal: (post: PostToSync) => void;
  /** Why a webhook may not be sent to this address, in a sentence; null when it may. */
  readonly refuseUrl: (url: string) => Promise<string | null>;
  readonly readiness: () => Promise<Readiness>;
};

/** `ok`, or what is wrong in a few words. */
export type Readiness = {
  readonly postgresql: string;
  readonly temporal: string;
  readonly worker: string;
};
