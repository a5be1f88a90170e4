import { OauthAppSchema } from '../../db/entities/channels.ts';
import { oauthAppPurpose } from '../../db/sealing-purposes.ts';
import type {
  OauthAppCredentials,
  OauthContext,
  RegisteredApps,
} from '../../networks/oauth/contract.ts';
import type { Networks } from '../../networks/registry.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import type { ServiceDeps } from '../deps.ts';

export type AccountDeps = Pick<
  ServiceDeps,
  'orm' | 'sealer' | 'publicUrl' | 'sandboxUrl' | 'log' | 'now'
> &
  Pick<Networks, 'oauth'> & {
    readonly egress: Egress;
  };

export const accountDeps = (deps: ServiceDeps): AccountDeps => ({
  ...deps,
  oauth: deps.networks.oauth,
  egress: deps.networkEgress,
});

/** Builds the context of a network's OAuth adapter. @param isAtSandbox For an account of the sandbox. */
export const oauthContext = (
  deps: Omit<AccountDeps, 'oauth' | 'log'>,
  platform: string,
  isAtSandbox: boolean,
): OauthContext => ({
  http: deps.egress,
  publicUrl: deps.publicUrl,
  sandboxUrl: isAtSandbox ? deps.sandboxUrl : null,
  apps: registeredApps(deps, platform),
  derive: deps.sealer.derive,
  now: deps.now,
});

export const isAtSandbox = (
  { sandboxUrl }: Pick<AccountDeps, 'sandboxUrl'>,
  baseUrl: string,
): boolean =>
  sandboxUrl !== null && (baseUrl === sandboxUrl || baseUrl.startsWith(`${sandboxUrl}/`));

/**
 * The OAuth redirect URI. Each authorization server has its own, against mix-up attacks (RFC 9700, section 4.4).
 *
 * @param server Base URL, for a network with many servers.
 */
export const redirectUri = (publicUrl: string, platform: string, server?: string): string =>
  `${publicUrl}/connect/callback/${platform}${server === undefined ? '' : `-${sha256Hex(server).slice(0, 16)}`}`;

/** OAuth apps registered at the servers of a network. They belong to the installation: all workspaces share them. */
export function registeredApps(
  { orm, sealer, now }: Pick<AccountDeps, 'orm' | 'sealer' | 'now'>,
  platform: string,
): RegisteredApps {
  const find = async (baseUrl: string, address: string): Promise<OauthAppCredentials | null> => {
    const app = await orm.em.fork().findOne(OauthAppSchema, {
      platform,
      baseUrl,
      redirectUri: address,
    });
    const purpose = oauthAppPurpose(platform, baseUrl);
    return app && { clientId: app.clientId, clientSecret: sealer.open(app.sealedSecret, purpose) };
  };
  return {
    find,
    async keep(baseUrl, address, { clientId, clientSecret }) {
      const sealedSecret = sealer.seal(clientSecret, oauthAppPurpose(platform, baseUrl));
      const row = { platform, baseUrl, redirectUri: address };
      const app = { ...row, clientId, sealedSecret, createdAt: now() };
      await orm.em.fork().upsert(OauthAppSchema, app, { onConflictAction: 'ignore' });
      return (await find(baseUrl, address)) ?? { clientId, clientSecret };
    },
    async forget(baseUrl, address, { clientId }) {
      const app = { platform, baseUrl, redirectUri: address, clientId };
      await orm.em.fork().nativeDelete(OauthAppSchema, app);
    },
  };
}
