import { ConnectLink, type ConnectStatus } from '../../db/entities/connect-link.ts';
import type { Em, Orm } from '../../db/orm.ts';
import { db, query } from '../../db/query.ts';
import { connectFlowPurpose } from '../../db/sealing-purposes.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { Account } from '../../networks/network.ts';
import type { Grant } from '../../networks/oauth/contract.ts';
import { sha256Hex, type Sealer } from '../../runtime/secrets.ts';
import { Problem, unknownLink } from './problem.ts';

/** Sealed state that a link keeps between its steps. */
export type Flow = {
  /** The link's token: the browser is redirected to the link's page, to remove code and state from the address bar. */
  readonly token: string;
  /** From `Begun`, while the browser is at the network. */
  readonly kept?: Json;
  /** The accounts to choose from. */
  readonly choice?: { readonly grant: Grant; readonly accounts: readonly Account[] };
};

/** @throws Problem `unknown_link`, `expired` */
export async function findLink(orm: Orm, token: string, now: Date): Promise<ConnectLink> {
  const isToken = /^[0-9A-Za-z]{32}$/v.test(token);
  const link = isToken
    ? await orm.em.fork().findOne(ConnectLink, { tokenHash: sha256Hex(token) })
    : null;
  if (!link) {
    throw unknownLink();
  }

  assertLives(link, now);
  return link;
}

/** @throws Problem `expired` */
export function assertLives({ expiresAt, status }: ConnectLink, now: Date): void {
  if (expiresAt <= now && status !== 'connected' && status !== 'failed') {
    throw new Problem('expired', 'This link has expired. Ask for a new one.');
  }
}

type Changes = {
  readonly status: ConnectStatus;
  readonly state_hash?: string | null;
  readonly browser_hash?: string | null;
  readonly redirect_uri?: string | null;
  readonly sealed_flow?: string | null;
  readonly connected_id?: string | null;
  readonly error?: string | null;
  readonly error_code?: string | null;
};

/** The expected step of a link. A concurrent request may have moved it on. */
export type At = {
  readonly link: Pick<ConnectLink, 'id' | 'workspaceId'>;
  readonly from: readonly ConnectStatus[];
  /** The expected authorization, when a link may have several. */
  readonly stateHash?: string;
};

/** Moves a link to its next step. @returns false when the link is at another step or has expired. */
export async function moveLink(
  em: Em,
  { link, from, stateHash }: At,
  now: Date,
  changes: Changes,
): Promise<boolean> {
  let statement = db
    .updateTable('connect_links')
    .set(changes)
    .where('id', '=', link.id)
    .where('workspace_id', '=', link.workspaceId)
    .where('status', 'in', from)
    .where('expires_at', '>', now);
  if (stateHash !== undefined) {
    statement = statement.where('state_hash', '=', stateHash);
  }

  const moved = await query(em, statement.returning('id'));
  return moved.length === 1;
}

/** Clears the state of the last step. */
export const closedFlow = {
  state_hash: null,
  redirect_uri: null,
  sealed_flow: null,
} as const;

export const sealFlow = (sealer: Sealer, { id }: Pick<ConnectLink, 'id'>, flow: Flow): string =>
  sealer.seal(JSON.stringify(flow), connectFlowPurpose(id));

/** @throws Error when the link has no sealed state, which its status rules out. */
export function openFlow(
  sealer: Sealer,
  { id, sealedFlow }: Pick<ConnectLink, 'id' | 'sealedFlow'>,
): Flow {
  if (sealedFlow === null) {
    throw new Error(`The connect link ${id} has no sealed state.`);
  }

  return JSON.parse(sealer.open(sealedFlow, connectFlowPurpose(id))) as Flow;
}
