import { Router } from '@koa/router';
import type { ApiDeps } from '../deps.ts';
import { redirectUri } from '../../accounts/connecting/redirect-uri.ts';

/** How long a server may keep it, in seconds. */
const keptSeconds = 300;

/** The documents by which authorization servers know this service. They are public, and hold no secret. */
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
