import { Router } from '@koa/router';
import { assertReaches } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import { createConnectLink } from '../../services/channels/create-link.ts';
import { redirectUri } from '../../services/channels/oauth-context.ts';
import { readLink } from '../../services/channels/read-link.ts';
import type { Caller } from '../../services/context.ts';
import type { ApiDeps } from '../deps.ts';
import { answersOnce, createdAnswer, idempotencyHeader, requestKey } from '../http/idempotency.ts';
import { ok, route, type Route } from '../http/route.ts';
import {
  connectBody,
  connectExamples,
  linkAnswer,
  linkStatusAnswer,
  type ConnectBody,
} from './schemas.ts';

/** @throws AppError `channel_not_allowed` */
function assertMayConnect(caller: Caller, channelId: string | undefined): void {
  if (caller.channelIds !== null && channelId === undefined) {
    throw new AppError(
      'channel_not_allowed',
      'This API key is restricted to some channels, so it cannot connect another account. Send channel_id to connect one of them again.',
    );
  }

  assertReaches(caller, channelId === undefined ? [] : [channelId], () => '/channel_id');
}

const valuesOf = ({ url, handle }: ConnectBody): Record<string, string> => ({
  ...(url === undefined ? {} : { url }),
  ...(handle === undefined ? {} : { handle }),
});

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

export const connectRoutes: Route[] = [
  route({
    method: 'post',
    path: '/channels/connect',
    operationId: 'connectChannel',
    tag: 'Channels',
    scope: 'channels',
    summary: 'Create a link with which a person connects an account',
    description:
      'Open the link in a browser: its page names the account and the workspace, and leads to the network. It is valid for 15 minutes and connects one account, once. An account that is already connected keeps its channel and gets new access. An API key has at most 100 open links; another one replaces its oldest.',
    body: connectBody,
    bodyExamples: connectExamples,
    requestHeaders: idempotencyHeader,
    answers: answersOnce(
      linkAnswer,
      'The link. It is shown this once.',
      'The link that this idempotency key created before.',
    ),
    errors: [
      'invalid_channel_ids',
      'network_not_configured',
      'quota_exceeded',
      'channel_not_allowed',
    ],
    handle: async ({ caller, body, header }, deps) => {
      assertMayConnect(caller, body.channel_id);
      const key = requestKey(header, 'connectChannel', { by: caller.keyId, ...body });
      const request = {
        platform: body.platform,
        values: valuesOf(body),
        returnUrl: body.return_url,
        atSandbox: body.sandbox,
        channelId: body.channel_id,
        mostChannels: caller.quotas.channels,
      };
      const { replayed, ...made } = await createConnectLink(deps, caller, request, key);
      return createdAnswer({ ...made, platform: body.platform }, replayed);
    },
  }),
  route({
    method: 'get',
    path: '/channels/connect/{link_id}',
    operationId: 'getConnectLink',
    scope: 'channels',
    tag: 'Channels',
    summary: 'The outcome of a link that connects an account',
    description:
      'A link can be read for an hour after it has expired. The event `channel.connected` also reports a connection.',
    answers: ok('The link, without its secret address.', linkStatusAnswer),
    handle: async ({ caller, params: { link_id: id = '' } }, deps) => ({
      status: 200,
      body: await readLink(deps, caller, id),
    }),
  }),
];
