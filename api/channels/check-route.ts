import { throttledCheck } from '../../accounts/throttled-check.ts';
import { AppError } from '../../domain/errors.ts';
import { dateTime, nullable, oneOf, record, text } from '../../domain/json-schema.ts';
import { accountDeps, type ApiDeps } from '../deps.ts';
import { route, type Route } from '../http/route.ts';
import { loadChannel } from './edit-channel.ts';
import { blueskyChannel, mastodonChannel } from './examples.ts';
import { presentChannel } from './present-channel.ts';
import { channelSchema } from './schemas.ts';

const answer = record({
  channel: channelSchema,
  access: {
    ...oneOf(['connected', 'needs_reconnect', 'unknown']),
    description:
      'The network’s answer. `unknown`: it gave none, and the channel is unchanged; `reason` says why.',
  },
  reason: nullable(text),
  checked_at: { ...dateTime, description: 'When the network was asked.' },
});

export const checkRoute = (deps: ApiDeps): Route =>
  route({
    method: 'post',
    path: '/channels/{id}/check',
    operationId: 'checkChannel',
    tag: 'Channels',
    summary: 'Check a channel’s access with its network',
    description:
      'One cheap call to the network, which creates nothing; X charges for it as for a read. A channel is checked at most once in five minutes. Within that time the call returns the last answer, and `checked_at` says when it was given. A channel that has lost its access becomes `needs_reconnect`, with its event. A `needs_reconnect` channel that works becomes `connected` again.',
    answers: {
      200: {
        description: 'The network’s answer, and the channel’s current state.',
        schema: answer,
        examples: {
          connected: {
            summary: 'It is connected',
            value: {
              channel: mastodonChannel,
              access: 'connected',
              reason: null,
              checked_at: '2026-05-01T09:00:00.000Z',
            },
          },
          lost: {
            summary: 'It has to be connected again',
            value: {
              channel: blueskyChannel,
              access: 'needs_reconnect',
              reason: 'The app password was revoked. Connect the channel again.',
              checked_at: '2026-05-01T09:00:00.000Z',
            },
          },
        },
      },
    },
    errors: ['not_found'],
    handle: async ({ caller: { workspaceId }, params: { id = '' } }) => {
      const checks = { ...accountDeps(deps), checks: deps.networks.checks };
      const checked = await throttledCheck(checks, { workspaceId, channelId: id });
      if (!checked) {
        throw new AppError('not_found', `There is no channel "${id}".`);
      }

      const em = deps.orm.em.fork();
      const channel = await presentChannel(deps, em, await loadChannel(em, workspaceId, id));
      const reason = checked.access === 'connected' ? null : checked.reason;
      return {
        status: 200,
        body: { channel, access: checked.access, reason, checked_at: checked.at },
      };
    },
  });
