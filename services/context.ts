import type { Actor, Origin } from '../db/audit.ts';
import type { KeyHolder } from '../domain/api-keys.ts';
import type { Quotas } from '../domain/quotas.ts';

/** The authenticated caller and the rights of its key. Every query is limited to its workspace. */
export type Caller = Actor &
  KeyHolder & {
    readonly keyId: string;
    readonly plan: string | null;
    readonly quotas: Quotas;
  };

/** The holder of an operator key, which manages workspaces and reads nothing in them. */
export type Operator = Origin & { readonly operatorKeyId: string };

export type QuotaOwner = Actor & Pick<Caller, 'quotas'>;

export type PostChange = Actor & { readonly postId: string };
