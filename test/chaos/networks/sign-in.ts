import { registeredApps } from '../../../services/channels/oauth-context.ts';
import type { Orm } from '../../../db/orm.ts';
import type { Account } from '../../../networks/network.ts';
import type { Grant, Oauth } from '../../../networks/oauth/contract.ts';
import { openNetworks } from '../../../networks/registry.ts';
import type { Egress } from '../../../runtime/egress/egress.ts';
import type { Sealer } from '../../../runtime/secrets.ts';
import { openBrowser } from '../../support/browser.ts';
import { factsOf, type Platform } from '../plan/platforms.ts';

/** The browser is redirected here; no server listens. */
const redirectUri = 'http://127.0.0.1:9/connect/callback/chaos';

export type SignIn = {
  readonly platform: Platform;
  /** The address of the line to the sandbox. */
  readonly url: string;
  /** With the scopes that every app gets, which allow writing posts but not reading them. */
  readonly isBlind: boolean;
  readonly orm: Orm;
  readonly sealer: Sealer;
  readonly egress: Egress;
};

/** Connects the demo account as its owner does: on the network's page, in a browser. */
export async function signIn(way: SignIn): Promise<{ account: Account; grant: Grant }> {
  const { platform, url, isBlind, orm, sealer, egress } = way;
  const { oauth, sandboxUrl } = await oauthOf(way);
  const now = () => new Date();
  const context = {
    http: egress,
    publicUrl: new URL(redirectUri).origin,
    sandboxUrl,
    apps: registeredApps({ orm, sealer, now }, platform),
    derive: sealer.derive,
    now,
  };
  const state = crypto.randomUUID();
  const redirectUriFor = () => redirectUri;
  const begun = await oauth.begin({ ...context, values: {}, state, redirectUriFor });
  const browser = openBrowser(redirectUri);
  const page = await browser.open(begun.url);
  const { url: returned } = await browser.press(page, 'Allow', { account: 'demo' });
  const answer = new URL(returned).searchParams;
  const { grant, accounts } = await oauth.finish({ ...context, ...begun, answer });
  const [account] = accounts;
  if (!account) {
    throw new Error(
      `The ${isBlind ? 'blind ' : ''}account of ${platform} at ${url} was not found.`,
    );
  }

  return { account, grant };
}

async function oauthOf({ platform, url, isBlind }: Pick<SignIn, 'platform' | 'url' | 'isBlind'>) {
  const settings = (isBlind && factsOf(platform).blindSettings?.(url)) || {};
  const entry = openNetworks(settings).oauth[platform];
  if (!entry) {
    throw new Error(`The product has no OAuth login for ${platform}.`);
  }

  return { oauth: (await entry.load()) as Oauth, sandboxUrl: isBlind ? null : url };
}
