import type { ConnectLink } from '../../db/entities/channels.ts';
import { moveLink } from '../../db/repositories/links.ts';
import { pasted } from '../../domain/texts.ts';
import { baseUrlOf } from '../../networks/http.ts';
import type { Connector } from '../../networks/network-entry.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import type { ServiceDeps } from '../deps.ts';
import { oauthEntryOf } from './connect-at-network.ts';
import {
  countTry,
  mostTries,
  stopLink,
  type ConnectStep,
  matchingAccounts,
  storeAccount,
} from './connect-link.ts';
import { internalProblem, Problem, problemOf } from './connect-problem.ts';

/** Limit of a secret in UTF-16 code units, longer than any app password. */
const longest = 500;

export type SignIn = {
  readonly workspaceId: string;
  /** The client's address, or the prefix of its provider. */
  readonly address: string;
  /** The host that receives the secret. */
  readonly server: string;
};

/** Counts sign-ins that a network refused, in this process. */
export type Refusals = {
  /** @returns how many seconds sign-ins stay blocked; 0 when they are allowed. */
  readonly restOf: (signIn: SignIn) => Promise<number>;
  readonly count: (signIn: SignIn) => Promise<void>;
};

type SecretDeps = ServiceDeps & { readonly refusedSecrets: Refusals };

/** Returns the connector for secrets; null when accounts of the network are connected by OAuth only. */
export function connectorOf(
  { networks, sandboxUrl }: Pick<ServiceDeps, 'networks' | 'sandboxUrl'>,
  { platform, atSandbox }: Pick<ConnectLink, 'platform' | 'atSandbox'>,
): Connector | null {
  const connectors: Readonly<Record<string, Connector>> = networks.connectors;
  const takes = networks.oauth[platform]?.takesSecret === true;
  return takes && !(atSandbox && sandboxUrl === null) ? (connectors[platform] ?? null) : null;
}

/**
 * Connects an account with a secret that its owner typed, such as an app password.
 *
 * @throws Problem; the link can be used again. After ten refusals it has failed.
 */
export async function connectWithSecret(
  deps: SecretDeps,
  { link, browser, origin }: ConnectStep,
  given: Readonly<Record<string, string>>,
  address: string,
): Promise<void> {
  oauthEntryOf(deps, link);
  const connector = connectorOf(deps, link);
  if (!connector) {
    throw new Problem('invalid', 'Accounts of this network are connected at the network only.');
  }

  const values = valuesFor(connector, given, link);
  const { workspaceId } = link;
  const signIn = { workspaceId, address, server: serverOf(link, values) };
  await assertFewRefusals(deps, signIn);
  await countTry(deps.orm.em.fork(), link);
  const mine = { browser_hash: sha256Hex(browser) };
  if (!(await moveLink(deps.orm.em.fork(), { link, move: 'secret' }, deps.now(), mine))) {
    throw new Problem('used', 'This link was used in the meantime.');
  }

  try {
    const base = link.atSandbox && deps.sandboxUrl ? connector.sandbox(deps.sandboxUrl) : {};
    const account = await connector.connect(deps.networkEgress, { ...base, ...values });
    const [same = account] = await matchingAccounts(deps, link, [account]);
    await storeAccount(deps, link, origin, { account: same, grant: null });
  } catch (error) {
    const problem = problemOf(error);
    if (problem?.code === 'refused') {
      await deps.refusedSecrets.count(signIn);
      if ((await countTry(deps.orm.em.fork(), link).catch(() => mostTries)) >= mostTries) {
        await stopLink(deps, link, 'fail', tooManyRefusals());
        return;
      }
    }

    await stopLink(deps, link, 'reopen', problem ?? internalProblem());
    throw problem ?? error;
  }
}

const tooManyRefusals = (): Problem =>
  new Problem(
    'refused',
    'The network refused the sign-ins with this link, and it has ended. Ask for a new link.',
  );

/** The host that the person named, or the platform for a network with one server. */
const serverOf = ({ platform }: ConnectLink, { url }: Readonly<Record<string, string>>): string =>
  url === undefined ? platform : new URL(baseUrlOf(url)).host;

/** @throws Problem `rate_limited` after too many refused sign-ins of this client, or of this workspace at this server. */
async function assertFewRefusals({ refusedSecrets }: SecretDeps, signIn: SignIn): Promise<void> {
  const seconds = await refusedSecrets.restOf(signIn);
  if (seconds > 0) {
    const message = `Too many sign-ins were refused. Try again in ${Math.ceil(seconds / 60)} minutes.`;
    throw new Problem('rate_limited', message);
  }
}

/** The options that the page asks for. The server of the sandbox is known. */
export const shownOptions = (
  { options }: Connector,
  { atSandbox }: Pick<ConnectLink, 'atSandbox'>,
) =>
  Object.entries(options).filter(
    ([name, { required }]) => required && !(atSandbox && name === 'url'),
  );

/** @throws Problem `invalid` for a missing, malformed or unknown value. */
function valuesFor(
  connector: Connector,
  given: Readonly<Record<string, string>>,
  link: Pick<ConnectLink, 'atSandbox'>,
): Record<string, string> {
  const names = [...shownOptions(connector, link).map(([name]) => name), connector.secret];
  const other = Object.keys(given).find((name) => !names.includes(name));
  if (other !== undefined) {
    throw new Problem('invalid', `This page does not take "${other.slice(0, 50)}".`);
  }

  const values: Record<string, string> = {};
  for (const name of names) {
    const value = pasted(given[name] ?? '');
    const what = name.replaceAll('-', ' ');
    if (value === '') {
      throw new Problem('invalid', `The ${what} is missing.`);
    }
    if (value.length > longest || /\p{Cc}/v.test(value)) {
      throw new Problem('invalid', `This is not a valid ${what}.`);
    }

    values[name] = value;
  }

  return values;
}
