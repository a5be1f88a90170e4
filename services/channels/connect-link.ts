import { recordAudit, type Actor, type Origin } from '../../db/audit.ts';
import { ConnectLink, Channel } from '../../db/entities/channels.ts';
import type { Em, Orm } from '../../db/orm.ts';
import { countTries, moveLink } from '../../db/repositories/links.ts';
import { connectFlowPurpose } from '../../db/sealing-purposes.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { Account } from '../../networks/network.ts';
import type { Grant } from '../../networks/oauth/contract.ts';
import { sha256Hex, type Sealer } from '../../runtime/secrets.ts';
import type { ServiceDeps } from '../deps.ts';
import { cleanAccount, connectChannel, recordConnected } from './connect-channel.ts';
import { internalProblem, Problem, problemOf, unknownLink } from './connect-problem.ts';

export type ConnectStep = {
  readonly link: ConnectLink;
  readonly token: string;
  readonly browser: string;
  readonly origin: Origin;
};

/** Tries with one link, each of which sends requests to a server that the person names. A refused secret counts twice. */
export const mostTries = 20;

/** @returns how many tries a link has had. @throws Problem `used` after the last one. */
export async function countTry(em: Em, link: ConnectLink): Promise<number> {
  const tries = await countTries(em, link, mostTries);
  if (tries === undefined) {
    throw new Problem('used', 'This link was tried too often. Ask for a new link.');
  }

  return tries;
}

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

/** Sealed state that a link keeps between its steps. */
export type Flow = {
  /** The link's token: the browser is redirected to the link's page, to remove code and state from the address bar. */
  readonly token: string;
  /** From `Begun`, while the browser is at the network. */
  readonly kept?: Json;
  readonly choice?: { readonly grant: Grant; readonly accounts: readonly Account[] };
};

export const sealFlow = (sealer: Sealer, { id }: Pick<ConnectLink, 'id'>, flow: Flow): string =>
  sealer.seal(JSON.stringify(flow), connectFlowPurpose(id));

export const openFlow = (
  sealer: Sealer,
  { id, sealedFlow }: Pick<ConnectLink, 'id' | 'sealedFlow'>,
): Flow => JSON.parse(sealer.open(sealedFlow ?? '', connectFlowPurpose(id))) as Flow;

/** Ends a link, or returns it to its first step. Its used state still names it then, for the brand of pages. */
export async function stopLink(
  deps: Pick<ServiceDeps, 'orm' | 'now'>,
  link: ConnectLink,
  move: 'fail' | 'reopen',
  { code, message }: Problem,
): Promise<void> {
  await moveLink(deps.orm.em.fork(), { link, move }, deps.now(), {
    sealed_flow: null,
    error: message,
    error_code: code,
    ...(move === 'reopen' && { redirect_uri: null }),
  });
}

/** Runs the end of a connection. A refusal ends the link, and an internal failure reopens it. */
export const orStop = (
  deps: Pick<ServiceDeps, 'orm' | 'now'>,
  link: ConnectLink,
  work: () => Promise<void>,
): Promise<void> =>
  work().catch(async (error: unknown) => {
    const problem = problemOf(error);
    await stopLink(deps, link, problem ? 'fail' : 'reopen', problem ?? internalProblem());
    if (!problem) {
      throw error;
    }
  });

/** Returns the accounts that a link may connect. @throws Problem `wrong_account`, `no_account` */
export async function matchingAccounts(
  deps: Pick<ServiceDeps, 'orm'>,
  link: ConnectLink,
  named: readonly Account[],
): Promise<readonly Account[]> {
  const { channelId, workspaceId } = link;
  const accounts = named.map(cleanAccount);
  const [first] = accounts;
  if (!first) {
    throw new Problem('no_account', 'The network named no account that could be connected.');
  }

  if (channelId === null) {
    return accounts;
  }

  const channel = await deps.orm.em.fork().findOne(Channel, { id: channelId, workspaceId });
  if (!channel || channel.disconnectedAt !== null) {
    throw new Problem('used', 'The account of this link was disconnected in the meantime.');
  }

  const same = accounts.filter(
    ({ remoteId, baseUrl, isProved = false }) =>
      remoteId === channel.remoteId && (isProved || baseUrl === channel.baseUrl),
  );
  if (same.length === 0) {
    const isAlike = first.handle === channel.handle;
    const [came, wanted] = [first, channel].map(({ handle, remoteId, baseUrl }) =>
      isAlike ? `${handle} (${remoteId} on ${new URL(baseUrl).host})` : handle,
    );
    throw new Problem(
      'wrong_account',
      `The network let you in as ${came}, and this link is for ${wanted}. Nothing was changed. Sign in there as ${wanted}, and ask for a new link.`,
    );
  }

  return same;
}

export const actorOf = ({ link, origin }: Pick<ConnectStep, 'link' | 'origin'>): Actor => ({
  ...origin,
  workspaceId: link.workspaceId,
  linkId: link.id,
});

/**
 * Stores an account and ends its link, in one transaction.
 *
 * @param grant Null when the account has credentials of its own.
 * @throws Problem `wrong_account`, AppError `quota_exceeded`. Nothing has changed then.
 */
export async function storeAccount(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'sealer' | 'quotas'>,
  link: ConnectLink,
  origin: Origin,
  { account, grant }: { readonly account: Account; readonly grant: Grant | null },
): Promise<void> {
  const { workspaceId, platform, channelId } = link;
  await deps.orm.em.fork().transactional(async (em) => {
    const channel = await connectChannel(em, deps.sealer, workspaceId, platform, account, {
      grant,
      channelId,
      most: deps.quotas.channels,
    });
    const { id } = channel;
    if (channelId !== null && id !== channelId) {
      const message = `This account is also connected as the channel ${id}. Nothing was changed. Disconnect that channel, and ask for a new link.`;
      throw new Problem('wrong_account', message);
    }

    const isMine = await moveLink(em, { link, move: 'connect' }, deps.now(), {
      sealed_flow: null,
      connected_id: id,
      error: null,
      error_code: null,
    });
    if (!isMine) {
      throw new Problem('expired', 'This link has expired. Ask for a new one.');
    }

    await recordConnected(em, channel);
    await recordAudit(em, actorOf({ link, origin }), 'channel.connected', id);
  });
}
