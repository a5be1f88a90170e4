import { listOf, record, uuid } from '../../domain/json-schema.ts';
import { listKeys } from '../../services/keys/read-keys.ts';
import { createKey, editKey, revokeKey } from '../../services/keys/write-keys.ts';
import type { ApiDeps } from '../deps.ts';
import {
  createdAnswer,
  idempotencyHeader,
  replayedHeader,
  requestKey,
} from '../http/idempotency.ts';
import { route, type Route } from '../http/route.ts';
import { edits, newKeys } from './examples.ts';
import {
  createdKeySchema,
  createKeySchema,
  editKeySchema,
  keyInput,
  keySchema,
} from './schemas.ts';

export const keyRoutes = (deps: ApiDeps): Route[] => [
  route({
    method: 'get',
    path: '/keys',
    operationId: 'listKeys',
    tag: 'Keys',
    scope: 'keys',
    summary: 'The API keys of the workspace',
    answers: {
      200: {
        description:
          'The keys that are not revoked, oldest first. A key with `channel_ids` sees those for no other channels.',
        schema: record({ keys: listOf(keySchema) }),
      },
    },
    errors: [],
    handle: async ({ caller }) => ({
      status: 200,
      body: { keys: await listKeys(deps.orm.em.fork(), caller) },
    }),
  }),
  createCall(deps),
  editCall(deps),
  revokeCall(deps),
];

const createCall = (deps: ApiDeps): Route =>
  route({
    method: 'post',
    path: '/keys',
    operationId: 'createKey',
    tag: 'Keys',
    scope: 'keys',
    summary: 'Create an API key',
    description:
      'Its scopes and channels must be among those of the calling key, and it must not expire later. A key makes at most 100 others in 24 hours.',
    requestHeaders: idempotencyHeader,
    body: createKeySchema,
    bodyExamples: newKeys,
    answers: {
      201: {
        description: 'The key. Only this answer shows it.',
        schema: record({ key: createdKeySchema }),
      },
      200: {
        description:
          'The key that this idempotency key created within the last 24 hours, as it was then.',
        schema: record({ key: createdKeySchema }),
        headers: replayedHeader,
      },
    },
    errors: [
      'invalid_request',
      'invalid_channel_ids',
      'idempotency_key_reused',
      'rights_exceeded',
      'key_limit_reached',
    ],
    handle: async ({ caller, body, header }) => {
      const once = requestKey(header, 'createKey', { by: caller.keyId, ...body });
      const { secret, key, replayed } = await createKey(deps, caller, keyInput(body), once);
      return createdAnswer({ key: { ...key, key: secret } }, replayed);
    },
  });

const editCall = (deps: ApiDeps): Route =>
  route({
    method: 'patch',
    path: '/keys/{id}',
    operationId: 'editKey',
    tag: 'Keys',
    scope: 'keys',
    summary: 'Change an API key',
    description:
      'Only the fields that are sent change, from the next call with the key on. Neither its old nor its new rights may exceed those of the calling key.',
    body: editKeySchema,
    bodyExamples: edits,
    answers: {
      200: { description: 'The updated key.', schema: record({ key: keySchema }) },
    },
    errors: ['invalid_request', 'invalid_channel_ids', 'rights_exceeded', 'not_found'],
    handle: async ({ caller, params: { id = '' }, body }) => ({
      status: 200,
      body: { key: await editKey(deps, caller, id, keyInput(body)) },
    }),
  });

const revokeCall = (deps: ApiDeps): Route =>
  route({
    method: 'delete',
    path: '/keys/{id}',
    operationId: 'revokeKey',
    tag: 'Keys',
    scope: 'keys',
    summary: 'Revoke an API key',
    description:
      'Every process refuses the key from the next call on, and calls with it that are under way change nothing more. A key may revoke itself.',
    answers: {
      200: {
        description: 'The key is revoked.',
        schema: record({ ok: { type: 'boolean', const: true }, id: uuid }),
      },
    },
    errors: ['rights_exceeded', 'not_found'],
    handle: async ({ caller, params: { id = '' } }) => {
      await revokeKey(deps, caller, id);
      return { status: 200, body: { ok: true, id } };
    },
  });
