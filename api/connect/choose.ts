import { sha256Hex } from '../../runtime/secrets.ts';
import type { ApiDeps } from '../deps.ts';
import type { ConnectStep } from './begin.ts';
import { moveLink, openFlow, type Flow } from './links.ts';
import { failLink, reopenLink, type ConnectOutcome } from './outcome.ts';
import { internalProblem, Problem, problemOf } from './problem.ts';
import { storeAccount } from './store-account.ts';

/** Returns the accounts to choose from, for the browser that was authorized. @throws Problem `other_browser`, `used` */
export function openChoice(
  { sealer }: Pick<ApiDeps, 'sealer'>,
  { link, browser }: Pick<ConnectStep, 'link' | 'browser'>,
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
 * @param index Position in the list that was shown.
 * @throws Problem; an invalid index keeps the choice open. An internal failure reopens the link.
 */
export async function chooseAccount(
  deps: ApiDeps,
  step: ConnectStep,
  index: number,
): Promise<ConnectOutcome> {
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
      return failLink(deps, link, { token }, problem);
    }

    await reopenLink(deps, link, internalProblem());
    throw error;
  }
}
