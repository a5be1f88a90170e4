import { createConnectLink } from '../../accounts/connecting/create-link.ts';
import { accountDeps, type ApiDeps } from '../deps.ts';
import { route, type Route } from '../http/route.ts';
import { connectBody, linkAnswer, type ConnectBody } from './schemas.ts';

export const connectRoutes = (deps: ApiDeps): Route[] => [
  route({
    method: 'post',
    path: '/channels/connect',
    operationId: 'connectChannel',
    tag: 'Channels',
    summary: 'Make a link by which a person connects an account',
    description:
      'Open the link in a browser: its page says what will be connected to which workspace, and leads to the network. It lives 15 minutes and connects one account, once. An account that is connected already keeps its channel and gets new access. A workspace has at most 100 open links; one more takes the place of the oldest.',
    body: connectBody,
    bodyExamples: {
      mastodon: {
        summary: 'A Mastodon account, and back to the app in the end',
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
    },
    answers: {
      201: {
        description: 'The link. It is shown this once.',
        schema: linkAnswer,
        examples: {
          link: {
            summary: 'A link',
            value: {
              link: 'https://punctual.example/connect/7Fq2LkX0aZr9WcT4sYb1NvE8uHj3MdP6',
              expires_at: '2027-01-12T08:45:00.000Z',
              platform: 'mastodon',
            },
          },
        },
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
