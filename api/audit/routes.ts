import { actorTypes, auditActions } from '../../db/audit.ts';
import {
  dateTime,
  knownId,
  listOf,
  nullable,
  oneOf,
  record,
  text,
  uuid,
} from '../../domain/json-schema.ts';
import { listAudit, maxAuditPage } from '../../services/audit/read-audit.ts';
import { pageQuery } from '../../services/cursor.ts';
import { assertUnrestricted } from '../../services/keys/channel-restriction.ts';
import { ok, routesWith, type Route } from '../http/route.ts';

const route = routesWith({ tag: 'Workspace', scope: 'keys' });

export const actorSchema = record({
  type: {
    ...oneOf(actorTypes),
    description:
      '`key`: an API key. `connect_link`: a person who connected an account in a browser. `operator`: the operator of the service.',
  },
  id: {
    ...nullable(uuid),
    description: 'The API key, the link or the operator key; null for a command of the operator.',
  },
  last_four: { ...nullable(text), description: 'The last four characters of the key.' },
});

export const auditEntrySchema = record({
  id: uuid,
  at: { ...dateTime, description: 'When it was changed.' },
  actor: { ...actorSchema, description: 'Who changed it.' },
  action: { ...oneOf(auditActions), description: 'What was done.' },
  object_type: { ...text, description: 'The part of `action` before the dot.' },
  object_id: { ...uuid, description: 'The changed object. It may be deleted by now.' },
  request_id: {
    ...nullable(text),
    description: 'The `X-Request-Id` of the call; null for a command of the operator.',
  },
  address: { ...nullable(text), description: 'The IP address of the client.' },
});

const auditListSchema = record({
  entries: { ...listOf(auditEntrySchema), description: 'The changes, newest first.' },
  next_cursor: { ...nullable(text), description: 'Null at the end of the list.' },
});

const auditQuery = {
  action: { description: 'Only this action.', schema: oneOf(auditActions) },
  object_id: { description: 'Only changes of this object.', schema: knownId },
  from: { description: 'Only changes at or after this time, in RFC 3339.', schema: text },
  to: { description: 'Only changes before this time, in RFC 3339.', schema: text },
  ...pageQuery('entries', maxAuditPage),
} as const;

export const auditRoutes: Route[] = [
  route.get('/audit', {
    operationId: 'listAuditEntries',
    summary: 'Who changed what, newest first',
    description:
      'Each change is recorded together with the change itself, and kept for 400 days. Entries have no texts and no secrets. What workers do, such as publishing, is in the events. A key with `channel_ids` is refused, since the log covers all channels.',
    query: auditQuery,
    answers: ok(`A page of up to ${maxAuditPage} changes.`, auditListSchema),
    errors: ['channel_not_allowed'],
    handle: async ({ caller, query }, deps) => {
      assertUnrestricted(caller);
      const body = await listAudit(deps.orm.em.fork(), caller.workspaceId, query);
      return { status: 200, body };
    },
  }),
];
