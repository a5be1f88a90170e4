import { ConnectLink } from '../../db/entities/connect-link.ts';
import type { Authorized } from '../../networks/oauth/contract.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import type { ApiDeps } from '../deps.ts';
import { assertLives, moveLink, openFlow, sealFlow, type Flow } from './links.ts';
import { oauthContextOf, oauthEntryOf } from './oauth-entry.ts';
import { failLink, reopenLink, type ConnectOutcome } from './outcome.ts';
import { internalProblem, Problem, problemOf } from './problem.ts';
import { matchingAccounts, storeAccount } from './store-account.ts';

export type Callback = {
  /** The last path segment of the callback URL. */
  readonly key: string;
  readonly answer: URLSearchParams;
  /** The secret of the browser's cookie; null without a cookie. */
  readonly browser: string | null;
  /** Called with the link's token before the request to the network. */
  readonly onKnown: (token: string) => Promise<void>;
};

const isState = /^[\x21-\x7e]{1,500}$/v;

/**
 * Handles the network's callback: redeems the code and stores the account, or lets the person choose. Each answer is
 * redeemed at most once, even when the callback is repeated.
 *
 * @returns the outcome that the link's page shows.
 * @throws Problem when the answer does not belong to a link of this browser. Nothing has changed then.
 */
export async function finishConnecting(deps: ApiDeps, callback: Callback): Promise<ConnectOutcome> {
  const link = await takeLink(deps, callback);
  const flow = openFlow(deps.sealer, link);
  let authorized: Authorized;
  try {
    await callback.onKnown(flow.token);
    const oauth = await oauthEntryOf(deps, link).load();
    authorized = await oauth.finish({
      ...oauthContextOf(deps, link),
      answer: callback.answer,
      redirectUri: link.redirectUri ?? '',
      kept: flow.kept ?? null,
    });
  } catch (error) {
    const problem = problemOf(error);
    if (!problem) {
      await reopenLink(deps, link, internalProblem());
      throw error;
    }

    // Without a grant the link can be used again. The answer is not redeemed again: the next attempt gets a new one.
    return problem.code === 'no_account'
      ? failLink(deps, link, flow, problem)
      : reopenLink(deps, link, problem).then(() => ({ kind: 'open', token: flow.token }));
  }

  return takeGrant(deps, link, flow, authorized);
}

/** @returns the link, claimed for this request. @throws Problem */
async function takeLink(deps: ApiDeps, { key, answer, browser }: Callback): Promise<ConnectLink> {
  const state = answer.get('state') ?? '';
  const em = deps.orm.em.fork();
  const stateHash = sha256Hex(state);
  const link = isState.test(state) ? await em.findOne(ConnectLink, { stateHash }) : null;
  if (!link || link.redirectUri?.split('/').at(-1) !== key) {
    throw new Problem(
      'wrong_answer',
      'This answer does not match an open connection. Begin again with the link that you were sent.',
    );
  }

  if (browser === null || sha256Hex(browser) !== link.browserHash) {
    throw new Problem(
      'other_browser',
      'This connection was begun in another browser. Open the link that you were sent in this one, and begin again.',
    );
  }

  assertLives(link, deps.now());
  const at = { link, from: ['authorizing'], stateHash } as const;
  if (!(await moveLink(em, at, deps.now(), { status: 'redeeming' }))) {
    throw new Problem('used', 'This answer was used already. Ask for a new link to connect again.');
  }

  return link;
}

async function takeGrant(
  deps: ApiDeps,
  link: ConnectLink,
  flow: Flow,
  { grant, accounts }: Authorized,
): Promise<ConnectOutcome> {
  try {
    const candidates = await matchingAccounts(deps, link, accounts, { isProved: true });
    const [account] = candidates;
    if (account && candidates.length === 1) {
      return await storeAccount(deps, link, flow, { account, grant });
    }

    const choice = { grant, accounts: candidates };
    const sealed = sealFlow(deps.sealer, link, { token: flow.token, choice });
    const at = { link, from: ['redeeming'] } as const;
    const em = deps.orm.em.fork();
    await moveLink(em, at, deps.now(), { status: 'choosing', sealed_flow: sealed });
    return { kind: 'open', token: flow.token };
  } catch (error) {
    const problem = problemOf(error);
    if (problem) {
      return failLink(deps, link, flow, problem);
    }

    await reopenLink(deps, link, internalProblem());
    throw error;
  }
}
