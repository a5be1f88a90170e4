import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';

/**
 * What Temporal's lists can be searched by, and show as columns. Ids, names of networks and codes only. An attribute
 * that the server does not know makes it refuse a start, and a workflow that sets one gets stuck: so workflows also start
 * without them (`startSearchable` in `temporal/`), and a workflow sets more only when it began with some.
 *
 * A post's id is none of them: it is in the workflow's own id, and `RootWorkflowId` finds the deliveries of a post.
 * Its time is none either: each move of a post would cost one more event to keep it true.
 */
export const workspaceIdKey = defineSearchAttributeKey('WorkspaceId', 'KEYWORD');

/** Of a post: where it is to go, as it stood when its workflow began; when that had changed, its end corrects it. */
export const networksKey = defineSearchAttributeKey('Networks', 'KEYWORD_LIST');

/** Only of what ended badly: the codes of a post's channels, or `webhook_failed` of a delivery. */
export const errorCodesKey = defineSearchAttributeKey('ErrorCodes', 'KEYWORD_LIST');

/** All that a server has to know; `scripts/parts/temporal.ts` and `temporal-docker-compose.yml` name them too. */
export const searchAttributeKeys = [workspaceIdKey, networksKey, errorCodesKey] as const;

export const ofWorkspace = (
  workspaceId: string,
  networks: readonly string[] = [],
): TypedSearchAttributes =>
  new TypedSearchAttributes([
    { key: workspaceIdKey, value: workspaceId },
    ...(networks.length > 0 ? [{ key: networksKey, value: distinct(networks) }] : []),
  ]);

/** In one order, so that two lists of the same are equal. */
export const distinct = (names: readonly string[]): string[] => [...new Set(names)].toSorted();
