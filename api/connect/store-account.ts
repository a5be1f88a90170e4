import { connectChannel } from '../../accounts/connect-channel.ts';
import { cleanAccount } from '../../accounts/clean-account.ts';
import { Channel } from '../../db/entities/channel.ts';
import type { ConnectLink } from '../../db/entities/connect-link.ts';
import type { Account } from '../../networks/network.ts';
import type { Grant } from '../../networks/oauth/contract.ts';
import type { ApiDeps } from '../deps.ts';
import { moveLink, type Flow } from './links.ts';
import type { ConnectOutcome } from './outcome.ts';
import { Problem } from './problem.ts';

/**
 * Returns the accounts that a link may connect.
 *
 * @param how.isProved The authorization server confirmed the accounts, not only the server that a person named.
 * @throws Problem `wrong_account`, `no_account`
 */
export async function matchingAccounts(
  deps: Pick<ApiDeps, 'orm' | 'networks'>,
  link: ConnectLink,
  named: readonly Account[],
  { isProved }: { readonly isProved: boolean },
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

  const moves = isProved && followsMoves(deps, link);
  const same = accounts.filter(
    ({ remoteId, baseUrl }) =>
      remoteId === channel.remoteId && (moves || baseUrl === channel.baseUrl),
  );
  if (same.length === 0) {
    throw wrongAccount(first.handle, channel.handle);
  }

  return same;
}

const wrongAccount = (came: string, wanted?: string): Problem =>
  new Problem(
    'wrong_account',
    `The network let you in as ${came}, and this link is for ${wanted ?? 'another account'}. Nothing was changed. Sign in there ${wanted === undefined ? 'with that account' : `as ${wanted}`}, and ask for a new link.`,
  );

/** Whether the channel follows its account to another server. The sandbox cannot prove that the account is the same. */
const followsMoves = ({ networks }: Pick<ApiDeps, 'networks'>, link: ConnectLink): boolean =>
  !link.atSandbox && networks.oauth[link.platform]?.moves === true;

/**
 * Stores an account and ends its link, in one transaction.
 *
 * @param grant Null when the account has credentials of its own.
 * @throws Problem `wrong_account`, AppError `quota_exceeded`. Nothing has changed then.
 */
export async function storeAccount(
  deps: ApiDeps,
  link: ConnectLink,
  { token }: Pick<Flow, 'token'>,
  { account, grant }: { readonly account: Account; readonly grant: Grant | null },
): Promise<ConnectOutcome> {
  const { workspaceId, platform, channelId } = link;
  return deps.orm.em.fork().transactional(async (em) => {
    const { id, handle } = await connectChannel(em, deps.sealer, workspaceId, platform, account, {
      grant,
      moves: grant !== null && followsMoves(deps, link),
      most: deps.quotas.channels,
    });
    if (channelId !== null && id !== channelId) {
      throw wrongAccount(handle);
    }

    const isMine = await moveLink(em, { link, from: ['redeeming'] }, deps.now(), {
      status: 'connected',
      sealed_flow: null,
      connected_id: id,
      error: null,
      error_code: null,
    });
    if (!isMine) {
      throw new Problem('expired', 'This link has expired. Ask for a new one.');
    }

    return { kind: 'connected', token, channelId: id };
  });
}
