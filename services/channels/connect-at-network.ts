import { randomBytes } from 'node:crypto';
import type { Origin } from '../../db/audit.ts';
import { ConnectLink } from '../../db/entities/channels.ts';
import { moveLink } from '../../db/repositories/links.ts';
import type { OauthEntry, Authorized, OauthContext } from '../../networks/oauth/contract.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import type { ServiceDeps } from '../deps.ts';
import {
  countTry,
  sealFlow,
  assertLives,
  openFlow,
  orStop,
  stopLink,
  type Flow,
  type ConnectStep,
  matchingAccounts,
  storeAccount,
} from './connect-link.ts';
import { Problem, internalProblem, problemOf } from './connect-problem.ts';
import { checkValues } from './create-link.ts';
import { accountDeps, oauthContext, redirectUri } from './oauth-context.ts';

/**
 * Begins an authorization for this browser. Answers to an earlier authorization of the link are then refused.
 *
 * @param given Keyed by field name; overrides the values of the link.
 * @throws Problem, OauthError, AppError. The link is unchanged then.
 */
export async function beginConnecting(
  deps: ServiceDeps,
  { link, token, browser }: ConnectStep,
  { confirmed, ...given }: Readonly<Record<string, string>>,
): Promise<string> {
  const { platform, atSandbox } = link;
  const entry = oauthEntryOf(deps, link);
  if (needsConfirmation(entry, link) && confirmed !== 'yes') {
    throw new Problem('invalid', 'Tick the box to confirm that the workspace may publish for you.');
  }

  const values = { ...link.values, ...checkValues(platform, entry, given, labelIn(entry)) };
  for (const [name, { label, required }] of Object.entries(entry.fields)) {
    if (required && !atSandbox && values[name] === undefined) {
      throw new Problem('invalid', `"${label}" is missing.`);
    }
  }

  await countTry(deps.orm.em.fork(), link);
  const oauth = await entry.load();
  const begun = await oauth.begin({
    ...oauthContextOf(deps, link),
    values,
    state: randomBytes(32).toString('base64url'),
    redirectUriFor: (server) => redirectUri(deps.publicUrl, platform, server),
  });
  const hasMoved = await moveLink(deps.orm.em.fork(), { link, move: 'begin' }, deps.now(), {
    state_hash: sha256Hex(begun.state),
    browser_hash: sha256Hex(browser),
    redirect_uri: begun.redirectUri,
    sealed_flow: sealFlow(deps.sealer, link, { token, kept: begun.kept }),
    error: null,
    error_code: null,
  });
  if (!hasMoved) {
    throw new Problem('used', 'This link was used in the meantime.');
  }

  return begun.url;
}

const labelIn =
  ({ fields }: OauthEntry) =>
  (name: string): string =>
    `"${fields[name]?.label ?? name}"`;

type Callback = {
  /** The last path segment of the callback URL. */
  readonly key: string;
  readonly answer: URLSearchParams;
  /** The secret of the browser's cookie; null without a cookie. */
  readonly browser: string | null;
  /** Called with the link's token before the request to the network. */
  readonly onKnown: (token: string) => Promise<void>;
  readonly origin: Origin;
};

const isState = /^[\x21-\x7e]{1,500}$/v;

/**
 * Handles the network's callback: redeems the code, at most once, and stores the account or lets the person choose.
 *
 * @returns the token of the link, whose page shows the outcome.
 * @throws Problem when the answer does not belong to a link of this browser. Nothing has changed then.
 */
export async function finishConnecting(deps: ServiceDeps, callback: Callback): Promise<string> {
  const link = await takeLink(deps, callback);
  const flow = { ...openFlow(deps.sealer, link), origin: callback.origin };
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
    // Without a grant the link can be used again. The answer is not redeemed again: the next attempt gets a new one.
    const move = problem?.code === 'no_account' ? 'fail' : 'reopen';
    await stopLink(deps, link, move, problem ?? internalProblem());
    if (!problem) {
      throw error;
    }

    return flow.token;
  }

  await orStop(deps, link, () => takeGrant(deps, link, flow, authorized));
  return flow.token;
}

/** @returns the link, claimed for this request. @throws Problem */
async function takeLink(
  deps: ServiceDeps,
  { key, answer, browser }: Callback,
): Promise<ConnectLink> {
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
  if (!(await moveLink(em, { link, move: 'answer', stateHash }, deps.now()))) {
    throw new Problem('used', 'This answer was used already. Ask for a new link to connect again.');
  }

  return link;
}

async function takeGrant(
  deps: ServiceDeps,
  link: ConnectLink,
  flow: Flow & { readonly origin: Origin },
  { grant, accounts }: Authorized,
): Promise<void> {
  const candidates = await matchingAccounts(deps, link, accounts);
  const [account] = candidates;
  if (account && candidates.length === 1) {
    await storeAccount(deps, link, flow.origin, { account, grant });
    return;
  }

  const choice = { grant, accounts: candidates };
  const sealed = sealFlow(deps.sealer, link, { token: flow.token, choice });
  await moveLink(deps.orm.em.fork(), { link, move: 'ask' }, deps.now(), { sealed_flow: sealed });
}

/** Returns the accounts to choose from, for the browser that was authorized. @throws Problem `other_browser`, `used` */
export function openChoice(
  { sealer }: Pick<ServiceDeps, 'sealer'>,
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

/** Connects the account that the person chose. An invalid index keeps the choice open. */
export async function chooseAccount(
  deps: ServiceDeps,
  step: ConnectStep,
  index: number,
): Promise<void> {
  const { link, origin } = step;
  const { grant, accounts } = openChoice(deps, step);
  const account = accounts[index];
  if (!account) {
    throw new Problem('invalid', 'Choose one of the accounts.');
  }

  const isMine = await moveLink(deps.orm.em.fork(), { link, move: 'choose' }, deps.now());
  if (!isMine) {
    throw new Problem('used', 'This link was used in the meantime.');
  }

  await orStop(deps, link, () => storeAccount(deps, link, origin, { account, grant }));
}

/** Limit for all requests of one step, in milliseconds. */
const stepMs = 30_000;

/** @throws Problem `network_not_configured` when the settings have changed since the link was created. */
export function oauthEntryOf(
  { networks, sandboxUrl }: Pick<ServiceDeps, 'networks' | 'sandboxUrl'>,
  { platform, atSandbox }: Pick<ConnectLink, 'platform' | 'atSandbox'>,
): OauthEntry {
  const entry = networks.oauth[platform];
  if (!entry || (atSandbox ? sandboxUrl === null : entry.missing.length > 0)) {
    throw new Problem(
      'network_not_configured',
      'This network is not set up for connecting accounts. Contact the sender of the link.',
    );
  }

  return entry;
}

/** Whether our page asks for consent, because the network may skip it. The sandbox always asks. */
export const needsConfirmation = (
  { asksOnce }: Pick<OauthEntry, 'asksOnce'>,
  { atSandbox }: Pick<ConnectLink, 'atSandbox'>,
): boolean => asksOnce === true && !atSandbox;

const oauthContextOf = (
  deps: ServiceDeps,
  { platform, atSandbox }: Pick<ConnectLink, 'platform' | 'atSandbox'>,
): OauthContext => ({
  ...oauthContext(accountDeps(deps), platform, atSandbox),
  signal: AbortSignal.timeout(stepMs),
});
