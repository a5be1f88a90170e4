import { Router } from '@koa/router';
import { assertReaches } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import {
  dateTime,
  fields,
  flag,
  listOf,
  nullable,
  oneOf,
  record,
  text,
  uuid,
  type Value,
} from '../../domain/json-schema.ts';
import { createConnectLink } from '../../services/channels/create-link.ts';
import { redirectUri } from '../../services/channels/oauth-context.ts';
import { readLink, linkStatuses } from '../../services/channels/read-link.ts';
import type { Caller } from '../../services/context.ts';
import type { ApiDeps } from '../deps.ts';
import { answersOnce, createdAnswer, idempotencyHeader, requestKey } from '../http/idempotency.ts';
import { ok, routesWith, type Route } from '../http/route.ts';

const short = { ...text, minLength: 1, maxLength: 500 } as const;

const connectBody = fields(
  {
    platform: {
      ...short,
      description: 'As in `GET /networks`.',
      examples: ['x', 'linkedin', 'bluesky', 'mastodon', 'youtube'],
    },
    url: {
      ...short,
      description:
        'The account’s server, for a network with many servers. If omitted, the page asks for it.',
    },
    handle: {
      ...short,
      description:
        'The account’s handle, if the network needs it. If omitted, the page asks for it.',
    },
    return_url: {
      ...text,
      minLength: 1,
      maxLength: 2000,
      description:
        'The address to which the browser returns, with `connected=<channel id>` or `error=<code>` added to its query. The operator configures the allowed addresses.',
    },
    sandbox: { ...flag, description: 'An account of the sandbox instead of the network.' },
    channel_id: {
      ...text,
      maxLength: 100,
      description: 'The channel to connect again. Any other account is then refused.',
    },
  },
  ['platform'],
);
type ConnectBody = Value<typeof connectBody>;

const linkAnswer = record({
  id: { ...uuid, description: 'For `GET /channels/connect/{link_id}`.' },
  link: {
    ...text,
    format: 'uri',
    description:
      'Open it in a browser. Anyone who has the link can connect an account with it, once and before it expires.',
  },
  expires_at: dateTime,
  platform: text,
});

const linkStatusAnswer = record({
  id: uuid,
  status: {
    ...oneOf(linkStatuses),
    description:
      '`pending`: it is not finished yet. `connected`: it connected the account of `channel_ids`. `failed`: it ended without an account. `expired`: it was not finished in time. The last two need a new link.',
  },
  channel_ids: { ...listOf(uuid), description: 'The connected channels; empty before.' },
  error: {
    ...nullable(text),
    description:
      'The last problem, as a sentence for people, also of a pending link that can still be used; null without one.',
  },
  error_code: {
    ...nullable(text),
    description:
      'A code for `error`, such as `denied`, `wrong_account`, `no_account` or `quota_exceeded`. More may be added.',
  },
  platform: text,
  expires_at: dateTime,
});

const connectExamples = {
  mastodon: {
    summary: 'A Mastodon account, with a return URL',
    value: {
      platform: 'mastodon',
      url: 'https://social.example',
      return_url: 'https://app.example.com/accounts',
    },
  },
  again: {
    summary: 'A channel that needs reconnecting',
    value: { platform: 'x', channel_id: '0192f0a1-7c3e-7b52-8d4f-2a9c6e1b0f31' },
  },
} as const;

const route = routesWith({ tag: 'Channels', scope: 'channels' });

function assertMayConnect(caller: Caller, channelId: string | undefined): void {
  if (caller.channelIds !== null && channelId === undefined) {
    const message =
      'This API key is restricted to some channels, so it cannot connect another account. Send channel_id to connect one of them again.';
    throw new AppError('channel_not_allowed', message);
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
  route.post('/channels/connect', {
    operationId: 'connectChannel',
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
  route.get('/channels/connect/{link_id}', {
    operationId: 'getConnectLink',
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
