import type { ConnectLink } from '../../db/entities/connect-link.ts';
import { pasted } from '../../domain/texts.ts';
import type { Connector } from '../../networks/network.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import type { ApiDeps } from '../deps.ts';
import type { Step } from './begin.ts';
import { moveLink } from './links.ts';
import { oauthEntryOf } from './oauth-of.ts';
import { reopen, type Outcome } from './outcome.ts';
import { failedHere, Problem, problemOf } from './problem.ts';
import { fitting, storeAccount } from './store-account.ts';

/** Longer than any app password, in UTF-16 code units. */
const longest = 500;

/** How an account of this link is connected with a secret; null where only the network's own page connects one. */
export function connectorOf(
  { networks, sandboxUrl }: Pick<ApiDeps, 'networks' | 'sandboxUrl'>,
  { platform, atSandbox }: Pick<ConnectLink, 'platform' | 'atSandbox'>,
): Connector | null {
  const connectors: Readonly<Record<string, Connector>> = networks.connectors;
  const takes = networks.oauth[platform]?.takesSecret === true;
  return takes && !(atSandbox && sandboxUrl === null) ? (connectors[platform] ?? null) : null;
}

/**
 * Connects an account with a secret that its owner typed, such as an app password.
 *
 * @param given By the names of the connector's options and its secret.
 * @throws Problem; the link can be tried again.
 */
export async function connectWithSecret(
  deps: ApiDeps,
  { link, token, browser }: Step,
  given: Readonly<Record<string, string>>,
): Promise<Outcome> {
  oauthEntryOf(deps, link);
  const connector = connectorOf(deps, link);
  if (!connector) {
    throw new Problem('invalid', 'Accounts of this network are connected at the network only.');
  }

  const values = valuesFor(connector, given, link);
  const at = { link, from: ['open', 'authorizing'] } as const;
  const mine = { status: 'redeeming', browser_hash: sha256Hex(browser) } as const;
  if (!(await moveLink(deps.orm.em.fork(), at, deps.now(), mine))) {
    throw new Problem('used', 'This link was used in the meantime.');
  }

  try {
    const base = link.atSandbox && deps.sandboxUrl ? connector.sandbox(deps.sandboxUrl) : {};
    const account = await connector.connect(deps.networkEgress, { ...base, ...values });
    const [same = account] = await fitting(deps, link, [account], { isProved: false });
    return await storeAccount(deps, link, { token }, { account: same, grant: null });
  } catch (error) {
    const problem = problemOf(error);
    await reopen(deps, link, problem ?? failedHere());
    throw problem ?? error;
  }
}

/** The options that the page asks for. At the sandbox the server is known. */
export const shownOptions = (
  { options }: Connector,
  { atSandbox }: Pick<ConnectLink, 'atSandbox'>,
) =>
  Object.entries(options).filter(
    ([name, { required }]) => required && !(atSandbox && name === 'url'),
  );

/** @throws Problem `invalid` for what is missing or malformed, or is not on the page. */
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
      throw new Problem('invalid', `This is no ${what}.`);
    }

    values[name] = value;
  }

  return values;
}
