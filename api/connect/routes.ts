import { dateTime, fields, flag, record, text, type Value } from '../../domain/json-schema.ts';
import { createConnectLink } from '../../services/channels/create-link.ts';
import { accountDeps } from '../../services/channels/oauth-context.ts';
import type { ApiDeps } from '../deps.ts';
import { route, type Route } from '../http/route.ts';

const short = { ...text, minLength: 1, maxLength: 500 } as const;

const connectBody = fields(
  {
    platform: { ...short, description: 'As in `GET /networks`.', examples: ['mastodon'] },
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
  link: {
    ...text,
    format: 'uri',
    description:
      'Open it in a browser. Anyone who has the link can connect an account with it, once and before it expires.',
  },
  expires_at: dateTime,
  platform: text,
});

/** For the OpenAPI document. */
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

const linkExamples = {
  link: {
    summary: 'A link',
    value: {
      link: 'https://punctual.example/connect/7Fq2LkX0aZr9WcT4sYb1NvE8uHj3MdP6',
      expires_at: '2027-01-12T08:45:00.000Z',
      platform: 'mastodon',
    },
  },
} as const;

export const connectRoutes = (deps: ApiDeps): Route[] => [
  route({
    method: 'post',
    path: '/channels/connect',
    operationId: 'connectChannel',
    tag: 'Channels',
    summary: 'Create a link with which a person connects an account',
    description:
      'Open the link in a browser: its page names the account and the workspace, and leads to the network. It is valid for 15 minutes and connects one account, once. An account that is already connected keeps its channel and gets new access. A workspace has at most 100 open links; another one replaces the oldest.',
    body: connectBody,
    bodyExamples: connectExamples,
    answers: {
      201: {
        description: 'The link. It is shown this once.',
        schema: linkAnswer,
        examples: linkExamples,
      },
    },
    errors: ['invalid_request', 'invalid_channel_ids', 'network_not_configured', 'quota_exceeded'],
    handle: async ({ caller, body }) => {
      const linkDeps = { ...accountDeps(deps), returnUrls: deps.returnUrls };
      const { link, expiresAt } = await createConnectLink(linkDeps, caller.workspaceId, {
        platform: body.platform,
        values: valuesOf(body),
        returnUrl: body.return_url,
        atSandbox: body.sandbox,
        channelId: body.channel_id,
        mostChannels: caller.quotas.channels,
      });
      return {
        status: 201,
        body: { link, expires_at: expiresAt.toISOString(), platform: body.platform },
      };
    },
  }),
];

const valuesOf = ({ url, handle }: ConnectBody): Record<string, string> => ({
  ...(url === undefined ? {} : { url }),
  ...(handle === undefined ? {} : { handle }),
});
