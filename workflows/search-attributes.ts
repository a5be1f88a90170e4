import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';
import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';

/**
 * Search attributes of workflows. Only ids, networks and codes. A server that lacks an attribute refuses a start with
 * it, and blocks a workflow that sets it. So workflows can also start without them (`startSearchable` in `temporal/`),
 * and set more only if they started with some.
 *
 * A post's id is in its workflow's id, and `RootWorkflowId` finds its deliveries. A post's time would cost one more
 * event at each change.
 */
export const workspaceIdKey = defineSearchAttributeKey('WorkspaceId', 'KEYWORD');

/** Networks of a post when its workflow began. If they changed, the workflow's end corrects them. */
export const networksKey = defineSearchAttributeKey('Networks', 'KEYWORD_LIST');

/** Only for bad outcomes: the error codes of a post's channels, or `webhook_failed` for a delivery. */
export const errorCodesKey = defineSearchAttributeKey('ErrorCodes', 'KEYWORD_LIST');

/**
 * Outcome of a post: `pending` from its start, then `published`, `partial`, `failed`, `unconfirmed` or `cancelled`. A
 * workflow that started without it never sets it: it began under an older version, or its server lacks the attribute.
 */
export const outcomeKey = defineSearchAttributeKey('Outcome', 'KEYWORD');

/** All attributes to register; `scripts/parts/temporal.ts` and `temporal-docker-compose.yml` list them too. */
export const searchAttributeKeys = [
  workspaceIdKey,
  networksKey,
  errorCodesKey,
  outcomeKey,
] as const;

export const ofWorkspace = (
  workspaceId: string,
  networks: readonly string[] = [],
): TypedSearchAttributes =>
  new TypedSearchAttributes([
    { key: workspaceIdKey, value: workspaceId },
    ...(networks.length > 0 ? [{ key: networksKey, value: distinct(networks) }] : []),
  ]);

/** Attributes of a post's workflow at its start. */
export const ofPost = (
  workspaceId: string,
  networks: readonly string[] = [],
): TypedSearchAttributes =>
  ofWorkspace(workspaceId, networks).updateCopy([{ key: outcomeKey, value: 'pending' }]);

/** Sorted, so that equal lists compare as equal. */
const distinct = (names: readonly string[]): string[] => [...new Set(names)].toSorted();

type EndedChannel = { readonly network: string; readonly code?: string | null };

/**
 * Sets a post's outcome and error codes, and corrects its networks if they changed. Costs one event and one billable
 * action.
 */
export function markEnd(outcome: string, channels: readonly EndedChannel[]): void {
  const codes = distinct(channels.flatMap(({ code }) => (code ? [code] : [])));
  const known = workflowInfo().typedSearchAttributes;
  const began = known.get(networksKey);
  const networks = distinct(channels.map(({ network }) => network));
  const moved = began !== undefined && networks.length > 0 && began.join() !== networks.join();
  upsertIfSearchable([
    ...(known.get(outcomeKey) === undefined ? [] : [{ key: outcomeKey, value: outcome }]),
    ...(codes.length > 0 ? [{ key: errorCodesKey, value: codes }] : []),
    ...(moved ? [{ key: networksKey, value: networks }] : []),
  ]);
}

/**
 * Sets attributes only if the workflow started with some. A server without them would refuse the workflow task again
 * and again; one that accepted some has all, since they are registered together. A workflow older than the attributes
 * has none, and so replays unchanged.
 */
export function upsertIfSearchable(pairs: Parameters<typeof upsertSearchAttributes>[0]): void {
  const isSearchable = workflowInfo().typedSearchAttributes.get(workspaceIdKey) !== undefined;
  if (isSearchable && Object.keys(pairs).length > 0) {
    upsertSearchAttributes(pairs);
  }
}
