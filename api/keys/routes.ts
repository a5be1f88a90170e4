import { listOf, record } from '../../domain/json-schema.ts';
import { listKeys } from '../../services/keys/read-keys.ts';
import { createKey, editKey, revokeKey } from '../../services/keys/write-keys.ts';
import { answersOnce, createdAnswer, idempotencyHeader, requestKey } from '../http/idempotency.ts';
import { deletedAnswer, ok, routesWith, type Route } from '../http/route.ts';
import { ids } from '../openapi/example-of.ts';
import {
  createdKeySchema,
  createKeySchema,
  editKeySchema,
  keyInput,
  keySchema,
} from './schemas.ts';

const route = routesWith({ tag: 'Keys', scope: 'keys' });

export const keyRoutes: Route[] = [
  route.get('/keys', {
    operationId: 'listKeys',
    summary: 'The API keys of the workspace',
    answers: ok(
      'The keys that are not revoked, oldest first. A key with `channel_ids` sees those for no other channels.',
      record({ keys: listOf(keySchema) }),
    ),
    handle: async ({ caller }, deps) => ({
      status: 200,
      body: { keys: await listKeys(deps.orm.em.fork(), caller) },
    }),
  }),
  route.post('/keys', {
    operationId: 'createKey',
    summary: 'Create an API key',
    description:
      'Its scopes and channels must be among those of the calling key, and it must not expire later. A key makes at most 100 others in 24 hours.',
    requestHeaders: idempotencyHeader,
    body: createKeySchema,
    bodyExamples: {
      drafts: {
        summary: 'Drafts for one channel, until June',
        value: {
          name: 'Newsroom, drafts only',
          scopes: ['posts:read', 'posts:write', 'media'],
          channel_ids: [ids.channel],
          expires_at: '2027-06-01T00:00:00Z',
        },
      },
    },
    answers: answersOnce(
      record({ key: createdKeySchema }),
      'The key. Only this answer shows it.',
      'The key that this idempotency key created within the last 24 hours, as it was then.',
    ),
    errors: ['invalid_channel_ids', 'rights_exceeded', 'key_limit_reached'],
    handle: async ({ caller, body, header }, deps) => {
      const once = requestKey(header, 'createKey', { by: caller.keyId, ...body });
      const { secret, key, replayed } = await createKey(deps, caller, keyInput(body), once);
      return createdAnswer({ key: { ...key, key: secret } }, replayed);
    },
  }),
  route.patch('/keys/{id}', {
    operationId: 'editKey',
    summary: 'Change an API key',
    description:
      'Only the fields that are sent change, from the next call with the key on. Neither its old nor its new rights may exceed those of the calling key.',
    body: editKeySchema,
    bodyExamples: {
      narrower: { summary: 'Fewer rights', value: { scopes: ['posts:read'] } },
      unlimited: {
        summary: 'All channels, without an end',
        value: { channel_ids: null, expires_at: null },
      },
    },
    answers: ok('The updated key.', record({ key: keySchema })),
    errors: ['invalid_channel_ids', 'rights_exceeded'],
    handle: async ({ caller, params: { id = '' }, body }, deps) => ({
      status: 200,
      body: { key: await editKey(deps, caller, id, keyInput(body)) },
    }),
  }),
  route.delete('/keys/{id}', {
    operationId: 'revokeKey',
    summary: 'Revoke an API key',
    description:
      'Every process refuses the key from the next call on, and calls with it that are under way change nothing more. A key may revoke itself.',
    answers: ok('The key is revoked.', deletedAnswer),
    errors: ['rights_exceeded'],
    handle: async ({ caller, params: { id = '' } }, deps) => {
      await revokeKey(deps, caller, id);
      return { status: 200, body: { ok: true, id } };
    },
  }),
];
