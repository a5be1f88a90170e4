import { ConnectLink } from '../../db/entities/connect-link.ts';
import type { Authorized } from '../../networks/oauth.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import type { ApiDeps } from '../deps.ts';
import { assertLives, moveLink, openFlow, sealFlow, type Flow } from './links.ts';
import { contextOf, oauthEntryOf } from './oauth-of.ts';
import { endOf, reopen, type Outcome } from './outcome.ts';
import { failedHere, Problem, problemOf } from './problem.ts';
import { fitting, storeAccount } from './store-account.ts';

export type Callback = {
  /** The last part of the address that the browser came back to. */
  readonly key: string;
  readonly answer: URLSearchParams;
  /** The secret of the browser's cookie; null where it has none. */
  readonly browser: string | null;
  /** Called with the link's token before its network is asked. */
  readonly onKnown: (token: string) => Promise<void>;
};

const isState = /^[\x21-\x7e]{1,500}$/v;

/**
 * Takes a network's answer: redeems it and stores the account, or lets the person choose. Each answer is redeemed once
 * at most, whatever comes twice.
 *
 * @returns what became of the link, whose page tells it.
 * @throws Problem where the answer belongs to no link that this browser may go on with. Nothing has changed then.
 */
export async function finishConnecting(deps: ApiDeps, callback: Callback): Promise<Outcome> {
  const link = await takeLink(deps, callback);
  const flow = openFlow(deps.sealer, link);
  let authorized: Authorized;
  try {
    await callback.onKnown(flow.token);
    const oauth = await oauthEntryOf(deps, link).load();
    authorized = await oauth.finish({
      ...contextOf(deps, link),
      answer: callback.answer,
      redirectUri: link.redirectUri ?? '',
      kept: flow.kept ?? null,
    });
  } catch (error) {
    const problem = problemOf(error);
    if (!problem) {
      await reopen(deps, link, failedHere());
      throw error;
    }

    // Without a grant nothing was used up. The answer itself is not redeemed again: the next try gets another.
    return problem.code === 'no_account'
      ? endOf(deps, link, flow, problem)
      : reopen(deps, link, problem).then(() => ({ kind: 'open', token: flow.token }));
  }

  return takeGrant(deps, link, flow, authorized);
}

/** @returns the link, which no other request redeems now. @throws Problem */
async function takeLink(deps: ApiDeps, { key, answer, browser }: Callback): Promise<ConnectLink> {
  const state = answer.get('state') ?? '';
  const em = deps.orm.em.fork();
  const stateHash = sha256Hex(state);
  const link = isState.test(state) ? await em.findOne(ConnectLink, { stateHash }) : null;
  if (!link || link.redirectUri?.split('/').at(-1) !== key) {
    throw new Problem(
      'wrong_answer',
      'This answer of a network belongs to no connection that is open here. Begin again with the link that you were sent.',
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
    throw new Problem('used', 'This answer was used already. Connecting again takes a new link.');
  }

  return link;
}

async function takeGrant(
  deps: ApiDeps,
  link: ConnectLink,
  flow: Flow,
  { grant, accounts }: Authorized,
): Promise<Outcome> {
  try {
    const candidates = await fitting(deps, link, accounts, { isProved: true });
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
      return endOf(deps, link, flow, problem);
    }

    await reopen(deps, link, failedHere());
    throw error;
  }
}
