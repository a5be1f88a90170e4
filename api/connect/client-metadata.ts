import { Router } from '@koa/router';
import { redirectUri } from '../../services/channels/oauth-context.ts';
import type { ApiDeps } from '../deps.ts';

/** How long servers may cache it, in seconds. */
const keptSeconds = 300;

/** Serves the OAuth client metadata documents. They are public and contain no secrets. */
export function clientMetadataRouter(
  deps: Pick<ApiDeps, 'publicUrl' | 'sealer' | 'networks'>,
): Router {
  const { publicUrl, sealer, networks } = deps;
  const router = new Router({ sensitive: true, strict: true });
  for (const [platform, entry] of Object.entries(networks.oauth)) {
    const { path, make } = entry?.clientMetadata ?? {};
    if (path === undefined || make === undefined) {
      continue;
    }

    const service = {
      publicUrl,
      redirectUri: redirectUri(publicUrl, platform),
      derive: sealer.derive,
    };
    router.get(path, async (ctx) => {
      const metadata = await make(service);
      if (metadata !== null) {
        ctx.set('Cache-Control', `public, max-age=${keptSeconds}`);
        ctx.body = metadata;
      }
    });
  }

  return router;
}
