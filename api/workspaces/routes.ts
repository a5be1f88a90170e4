import { record } from '../../domain/json-schema.ts';
import { createOnce } from '../../services/idempotency.ts';
import { readExpiry, readName, type CreatedKey } from '../../services/keys/write-keys.ts';
import { pageQuery } from '../../services/cursor.ts';
import {
  listWorkspaces,
  maxWorkspacePage,
  showWorkspace,
  type WorkspaceView,
} from '../../services/workspaces/read-workspaces.ts';
import {
  deleteWorkspace,
  editWorkspace,
  storeWorkspace,
  storeWorkspaceKey,
} from '../../services/workspaces/write-workspaces.ts';
import type { ApiDeps } from '../deps.ts';
import { createdKeySchema, workspaceKeySchema } from '../keys/schemas.ts';
import { answersOnce, createdAnswer, idempotencyHeader, requestKey } from '../http/idempotency.ts';
import { location, ok, routesWith, type Route, accepted } from '../http/route.ts';
import {
  createWorkspaceSchema,
  editWorkspaceSchema,
  workspaceAnswer,
  workspaceListSchema,
} from './schemas.ts';

const route = routesWith({ tag: 'Workspaces', scope: null, isForOperators: true });

/** The calls for operators. They read no posts, accounts or files. */

const show = async ({ orm, quotas }: ApiDeps, workspaceId: string) => ({
  workspace: await showWorkspace(orm.em.fork(), quotas, workspaceId),
});

export const operatorRoutes: Route[] = [
  route.get('/workspaces', {
    operationId: 'listWorkspaces',
    summary: 'The workspaces, newest first',
    description: 'All workspaces of this installation, with their limits.',
    query: pageQuery('workspaces', maxWorkspacePage),
    answers: ok(
      `A page of up to ${maxWorkspacePage} workspaces, with those that are being deleted.`,
      workspaceListSchema,
    ),
    handle: async ({ query }, deps) => ({
      status: 200,
      body: await listWorkspaces(deps.orm.em.fork(), deps.quotas, query),
    }),
  }),
  route.post('/workspaces', {
    operationId: 'createWorkspace',
    summary: 'Create a workspace',
    description: 'It has no API key yet: `POST /workspaces/{id}/keys`.',
    requestHeaders: idempotencyHeader,
    body: createWorkspaceSchema,
    bodyExamples: { named: { summary: 'A customer', value: { name: 'Ana & Co' } } },
    answers: answersOnce(
      workspaceAnswer,
      'The new workspace.',
      'The workspace that this idempotency key created within the last 24 hours, as it was then.',
      { Location: location },
    ),
    handle: async ({ caller, body, header }, deps) => {
      const once = requestKey(header, 'createWorkspace', body);
      const { workspace, replayed } = await createOnce<{ workspace: WorkspaceView }>(
        deps,
        caller.operatorKeyId,
        once,
        (within) =>
          within(async (em) => {
            const made = await storeWorkspace(em, caller, body);
            return { workspace: await showWorkspace(em, deps.quotas, made) };
          }),
      );
      return createdAnswer({ workspace }, replayed, `/api/v1/workspaces/${workspace.id}`);
    },
  }),
  route.get('/workspaces/{id}', {
    operationId: 'readWorkspace',
    summary: 'A workspace, with its limits',
    description: 'Its posts, accounts and files are not readable with an operator key.',
    answers: ok('The workspace.', workspaceAnswer),
    handle: async ({ params }, deps) => ({
      status: 200,
      body: await show(deps, params['id'] ?? ''),
    }),
  }),
  route.patch('/workspaces/{id}', {
    operationId: 'editWorkspace',
    summary: 'Change the name, the plan, the limits or the brand of a workspace',
    description:
      'Only the fields that are sent change. A limit below the use removes nothing; it only refuses new things.',
    body: editWorkspaceSchema,
    bodyExamples: {
      limits: {
        summary: 'More scheduled posts, and the default number of drafts',
        value: { quotas: { scheduled: 20_000, drafts: null } },
      },
      brand: {
        summary: 'Pages of links with the name and colour of your product',
        value: { brand: { name: 'Album', color: '#1f5fbf' } },
      },
      ended: { summary: 'Without a plan', value: { plan: null } },
    },
    answers: ok('The updated workspace.', workspaceAnswer),
    handle: async ({ caller, params, body }, deps) => {
      const { id: workspaceId = '' } = params;
      await editWorkspace(deps.orm.em.fork(), caller, workspaceId, body);
      return { status: 200, body: await show(deps, workspaceId) };
    },
  }),
  route.delete('/workspaces/{id}', {
    operationId: 'deleteWorkspace',
    summary: 'Delete a workspace with everything in it',
    description:
      'From this answer on its keys are refused, its accounts are disconnected, and nothing more is published or changed; requests to networks that are under way finish. Posts that are live on a network stay there. Rows and files are deleted in the background, within hours. This cannot be undone. Repeating the call changes nothing.',
    answers: accepted(
      'The workspace is being deleted. `GET /workspaces/{id}` is 404 when all is gone.',
      workspaceAnswer,
    ),
    handle: async ({ caller, params }, deps) => {
      const { id: workspaceId = '' } = params;
      await deleteWorkspace(deps, caller, workspaceId);
      return { status: 202, body: await show(deps, workspaceId) };
    },
  }),
  route.post('/workspaces/{id}/keys', {
    operationId: 'createWorkspaceKey',
    summary: 'Create an API key in a workspace',
    description: 'Without `scopes` the key has all rights within the workspace.',
    requestHeaders: idempotencyHeader,
    body: workspaceKeySchema,
    bodyExamples: {
      all: { summary: 'All rights', value: {} },
      limited: {
        summary: 'Drafts only',
        value: { name: 'Newsroom', scopes: ['posts:read', 'posts:write', 'media'] },
      },
    },
    isBodyOptional: true,
    answers: answersOnce(
      record({ key: createdKeySchema }),
      'The key. It is shown this once.',
      'The key that this idempotency key created within the last 24 hours, as it was then.',
    ),
    handle: async ({ caller, params: { id: workspaceId = '' }, body, header }, deps) => {
      const once = requestKey(header, 'createWorkspaceKey', { in: workspaceId, ...body });
      const { secret, key, replayed } = await createOnce<CreatedKey>(
        deps,
        caller.operatorKeyId,
        once,
        (within) => {
          const { name = null, scopes = null, expires_at: expires = null } = body;
          const rights = {
            name: name === null ? null : readName(name),
            scopes,
            expiresAt: readExpiry(expires, deps.now()),
          };
          return within((em) => storeWorkspaceKey(em, caller, workspaceId, rights));
        },
      );
      return createdAnswer({ key: { ...key, key: secret } }, replayed);
    },
  }),
];
