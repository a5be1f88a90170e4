import { sql } from 'kysely';
import { query } from '../db/query.ts';
import { oauthAppPurpose } from '../db/sealing-purposes.ts';
import type { OauthAppCredentials, RegisteredApps } from '../networks/oauth/contract.ts';
import type { AccountDeps } from './deps.ts';

type Row = { readonly client_id: string; readonly sealed_secret: string };

/** OAuth apps registered at the servers of a network. They belong to the installation: all workspaces share them. */
export function registeredApps(
  { orm, sealer, now }: Pick<AccountDeps, 'orm' | 'sealer' | 'now'>,
  platform: string,
): RegisteredApps {
  const find = async (
    baseUrl: string,
    redirectUri: string,
  ): Promise<OauthAppCredentials | null> => {
    const [row] = await query(
      orm.em.fork(),
      sql<Row>`select client_id, sealed_secret from oauth_apps
        where platform = ${platform} and base_url = ${baseUrl} and redirect_uri = ${redirectUri}`,
    );
    return row
      ? {
          clientId: row.client_id,
          clientSecret: sealer.open(row.sealed_secret, oauthAppPurpose(platform, baseUrl)),
        }
      : null;
  };
  return {
    find,
    async keep(baseUrl, redirectUri, app) {
      const sealed = sealer.seal(app.clientSecret, oauthAppPurpose(platform, baseUrl));
      await query(
        orm.em.fork(),
        sql`insert into oauth_apps (platform, base_url, redirect_uri, client_id, sealed_secret, created_at)
          values (${platform}, ${baseUrl}, ${redirectUri}, ${app.clientId}, ${sealed}, ${now()})
          on conflict do nothing`,
      );
      return (await find(baseUrl, redirectUri)) ?? app;
    },
    async forget(baseUrl, redirectUri, { clientId }) {
      await query(
        orm.em.fork(),
        sql`delete from oauth_apps where platform = ${platform} and base_url = ${baseUrl}
          and redirect_uri = ${redirectUri} and client_id = ${clientId}`,
      );
    },
  };
}
