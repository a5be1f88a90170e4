import { quotaNames } from '../../domain/quotas.ts';
import { count, nullable, record, text, uuid } from '../../domain/json-schema.ts';
import { limitsOf, readUsage, readWorkspace } from '../../services/workspaces/read-workspaces.ts';
import { ok, routesWith, type Route } from '../http/route.ts';
import { keySchema } from '../keys/schemas.ts';

const route = routesWith({ tag: 'Workspace', scope: null });

export const limitDescriptions = {
  requests: 'Calls with this API key in a minute.',
  writes: 'Calls with this API key in a minute that change something.',
  scheduled: 'Posts that are scheduled or being published.',
  drafts: 'Drafts.',
  text_bytes: 'Bytes of text in posts.',
  files: 'Files in the media library.',
  media_bytes: 'Bytes in the media library.',
  channels: 'Connected channels.',
  webhooks: 'Webhook endpoints.',
} as const;

type Limited = keyof typeof limitDescriptions;
const limitedNames = ['requests', 'writes', ...quotaNames, 'webhooks'] as const satisfies Limited[];

/** A record with one value for each limited thing. */
const each = <V>(map: (name: Limited) => V) =>
  Object.fromEntries(limitedNames.map((name) => [name, map(name)])) as Record<Limited, V>;

const limit = nullable(count);
const limitsSchema = record(each((name) => ({ ...limit, description: limitDescriptions[name] })));
export const usedLimitSchema = record({
  used: { ...count, description: 'How much of it is used.' },
  limit: { ...limit, description: 'Null for none.' },
});
const usageSchema = record(
  each((name) => ({ ...usedLimitSchema, description: limitDescriptions[name] })),
);

export const workspaceRoutes: Route[] = [
  route.get('/me', {
    operationId: 'getWorkspace',
    summary: 'The workspace that the API key acts for, and the key',
    description: 'Checks an API key, and says whose it is.',
    answers: ok(
      'The workspace with its plan and limits, how many channels it has, and the key.',
      record({
        workspace: record({ id: uuid, name: { ...nullable(text), description: 'Its name.' } }),
        channels: count,
        plan: {
          ...nullable(text),
          description: 'Null without a plan: posts cannot be created, changed or retried.',
        },
        limits: { ...limitsSchema, description: '`GET /usage` shows how much of them is used.' },
        key: keySchema,
      }),
    ),
    handle: async ({ caller }, deps) => {
      const { id, name, channels, key: own } = await readWorkspace(deps, caller);
      const { requests, writes } = deps.rateLimits;
      const limits = { requests, writes, ...limitsOf(caller.quotas) };
      const { plan } = caller;
      return { status: 200, body: { workspace: { id, name }, channels, plan, limits, key: own } };
    },
  }),
  route.get('/usage', {
    operationId: 'getUsage',
    summary: 'How much of each limit is used',
    description:
      'Calls are those of this API key in the current minute, including this one; everything else is of the workspace.',
    answers: ok('Each limited thing, with its use and its limit.', record({ usage: usageSchema })),
    handle: async ({ caller }, deps) => {
      const calls = await deps.admission.callsOf(caller.keyId);
      const used = { ...calls, ...(await readUsage(deps, caller)) };
      const { requests, writes } = deps.rateLimits;
      const limits = { requests, writes, ...limitsOf(caller.quotas) };
      const usage = each((name) => ({ used: used[name], limit: limits[name] }));
      return { status: 200, body: { usage } };
    },
  }),
];
