import type { KeyHolder } from '../domain/api-keys.ts';
import type { Quotas } from '../domain/quotas.ts';

/** The authenticated caller and the rights of its key. Every query is limited to its workspace. */
export type Caller = KeyHolder & {
  readonly keyId: string;
  readonly workspaceId: string;
  readonly plan: string | null;
  /** Limits of the workspace. */
  readonly quotas: Quotas;
};

/** A workspace and its quotas. */
export type QuotaOwner = Pick<Caller, 'workspaceId' | 'quotas'>;

/** A post of a workspace. */
export type PostScope = { readonly workspaceId: string; readonly postId: string };
