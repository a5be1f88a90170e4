import { sha256Hex } from '../../runtime/secrets.ts';
import type { ApiDeps } from '../deps.ts';
import type { Step } from './begin.ts';
import { moveLink, openFlow, type Flow } from './links.ts';
import { endOf, reopen, type Outcome } from './outcome.ts';
import { failedHere, Problem, problemOf } from './problem.ts';
import { storeAccount } from './store-account.ts';

/** What the person chooses from, in the browser that went to the network. @throws Problem `other_browser`, `used` */
export function openChoice(
  { sealer }: Pick<ApiDeps, 'sealer'>,
  { link, browser }: Pick<Step, 'link' | 'browser'>,
): NonNullable<Flow['choice']> {
  if (sha256Hex(browser) !== link.browserHash) {
    throw new Problem('other_browser', 'The account is being chosen in another browser.');
  }

  const { choice } = link.status === 'choosing' ? openFlow(sealer, link) : {};
  if (!choice) {
    throw new Problem('used', 'There is nothing to choose any more.');
  }

  return choice;
}

/**
 * Connects the account that the person chose.
 *
 * @param index Of those that were shown.
 * @throws Problem; the choice stays open where it was none of them. After a failure of ours the link begins anew.
 */
export async function chooseAccount(deps: ApiDeps, step: Step, index: number): Promise<Outcome> {
  const { link, token } = step;
  const { grant, accounts } = openChoice(deps, step);
  const account = accounts[index];
  if (!account) {
    throw new Problem('invalid', 'Choose one of the accounts.');
  }

  const em = deps.orm.em.fork();
  const isMine = await moveLink(em, { link, from: ['choosing'] }, deps.now(), {
    status: 'redeeming',
  });
  if (!isMine) {
    throw new Problem('used', 'This link was used in the meantime.');
  }

  try {
    return await storeAccount(deps, link, { token }, { account, grant });
  } catch (error) {
    const problem = problemOf(error);
    if (problem) {
      return endOf(deps, link, { token }, problem);
    }

    await reopen(deps, link, failedHere());
    throw error;
  }
}
