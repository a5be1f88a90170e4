import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';
import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';

/**
 * What workflows can be searched by in Temporal, and its lists show as columns. Ids, names of networks and codes only. An
 * attribute that the server does not know makes it refuse a start, and a workflow that sets one gets stuck: so workflows
 * also start without them (`startSearchable` in `temporal/`), and a workflow sets more only when it began with some.
 *
 * A post's id is none of them: it is in the workflow's own id, and `RootWorkflowId` finds the deliveries of a post.
 * Its time is none either: each move of a post would cost one more event to keep it true.
 */
export const workspaceIdKey = defineSearchAttributeKey('WorkspaceId', 'KEYWORD');

/** Of a post: where it was to go when its workflow began; if that has changed, its end corrects it. */
export const networksKey = defineSearchAttributeKey('Networks', 'KEYWORD_LIST');

/** Only of what ended badly: the codes of a post's channels, or `webhook_failed` of a delivery. */
export const errorCodesKey = defineSearchAttributeKey('ErrorCodes', 'KEYWORD_LIST');

/**
 * The outcome of a post: `pending` from its start, then `published`, `partial`, `failed`, `unconfirmed` or `cancelled`. A workflow
 * that began without it never sets it: it began under an older version, or its server does not know the attribute.
 */
export const outcomeKey = defineSearchAttributeKey('Outcome', 'KEYWORD');

/** All that a server has to know; `scripts/parts/temporal.ts` and `temporal-docker-compose.yml` name them too. */
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

/** The attributes of a post at its start. */
export const ofPost = (
  workspaceId: string,
  networks: readonly string[] = [],
): TypedSearchAttributes =>
  ofWorkspace(workspaceId, networks).updateCopy([{ key: outcomeKey, value: 'pending' }]);

/** In one order, so that two lists of the same are equal. */
const distinct = (names: readonly string[]): string[] => [...new Set(names)].toSorted();

type EndedChannel = { readonly network: string; readonly code?: string | null };

/**
 * Makes a post searchable by its outcome and its error codes, and corrects its networks if they were edited. All of it
 * is one event and one billable action.
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
 * A server that knows no search attributes would refuse the workflow's task again and again. One that took some at
 * the start knows all, as they are registered together. A workflow that began before there were any has none either, so
 * that its stored history replays as it was.
 */
export function upsertIfSearchable(pairs: Parameters<typeof upsertSearchAttributes>[0]): void {
  const isSearchable = workflowInfo().typedSearchAttributes.get(workspaceIdKey) !== undefined;
  if (isSearchable && Object.keys(pairs).length > 0) {
    upsertSearchAttributes(pairs);
  }
}
