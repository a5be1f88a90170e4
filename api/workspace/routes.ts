import { count, nullable, record, text, uuid } from '../../domain/json-schema.ts';
import { readWorkspace } from '../../services/workspaces/read-workspace.ts';
import type { ApiDeps } from '../deps.ts';
import { route, type Route } from '../http/route.ts';

export const workspaceRoutes = (deps: ApiDeps): Route[] => [
  route({
    method: 'get',
    path: '/me',
    operationId: 'getWorkspace',
    tag: 'Workspace',
    summary: 'The workspace that the API key acts for',
    answers: {
      200: {
        description: 'The workspace, and how many channels it has.',
        schema: record({
          workspace: record({ id: uuid, name: nullable(text) }),
          channels: count,
        }),
        examples: {
          workspace: {
            summary: 'A workspace with two channels',
            value: {
              workspace: { id: '0192f09f-3b6d-7c81-9e2a-4f8d1c5b7a60', name: 'Ana' },
              channels: 2,
            },
          },
        },
      },
    },
    errors: [],
    handle: async ({ caller }) => {
      const { id, name, channels } = await readWorkspace(deps, caller.workspaceId);
      return { status: 200, body: { workspace: { id, name }, channels } };
    },
  }),
];
