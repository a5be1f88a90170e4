import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';
import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';

/*
 * Search attributes contain no text of a post. A server that lacks an attribute refuses a start with it, and blocks a
 * workflow that sets it. So workflows can also start without them (`startSearchable` in `temporal/`), and set more only
 * if they started with some. A post's id is in its workflow's id, and `RootWorkflowId` finds its deliveries.
 */

export const workspaceIdKey = defineSearchAttributeKey('WorkspaceId', 'KEYWORD');

/** Networks of a post when its workflow began. If they changed, the workflow's end corrects them. */
export const networksKey = defineSearchAttributeKey('Networks', 'KEYWORD_LIST');

/** Only for bad outcomes: the error codes of a post's channels, or `webhook_failed` for a delivery. */
export const errorCodesKey = defineSearchAttributeKey('ErrorCodes', 'KEYWORD_LIST');

/** `pending` from the start of a post's workflow, then `published`, `partial`, `failed`, `unconfirmed` or `cancelled`. */
export const outcomeKey = defineSearchAttributeKey('Outcome', 'KEYWORD');

/** When a post's workflow wakes up. A change costs an event, and three at the first of a run. */
export const dueAtKey = defineSearchAttributeKey('DueAt', 'DATETIME');

/** Handles of a post's accounts, kept like `networksKey`; the last of the three lists that Temporal allows on SQL. */
const handlesKey = defineSearchAttributeKey('Handles', 'KEYWORD_LIST');

const externalIdKey = defineSearchAttributeKey('ExternalId', 'KEYWORD');

/** All attributes to register; `scripts/parts/temporal.ts` and `temporal-docker-compose.yml` list them too. */
export const searchAttributeKeys = [
  workspaceIdKey,
  networksKey,
  errorCodesKey,
  outcomeKey,
  dueAtKey,
  handlesKey,
  externalIdKey,
] as const;

export const ofWorkspace = (
  workspaceId: string,
  networks: readonly string[] = [],
): TypedSearchAttributes =>
  new TypedSearchAttributes([
    { key: workspaceIdKey, value: workspaceId },
    ...(networks.length > 0 ? [{ key: networksKey, value: distinct(networks) }] : []),
  ]);

type PostAccount = { readonly network: string; readonly handle: string };
type EndedAccount = PostAccount & { readonly code?: string | null };

export type SearchedPost = {
  readonly accounts: readonly PostAccount[];
  readonly externalId: string | null;
};

/** Attributes of a post's workflow at its start. @param dueAt ISO 8601; null for a post that ends at once. */
export function ofPost(
  workspaceId: string,
  { accounts, externalId }: SearchedPost,
  dueAt: string | null,
): TypedSearchAttributes {
  const handles = handlesOf(accounts);
  return ofWorkspace(
    workspaceId,
    accounts.map(({ network }) => network),
  ).updateCopy([
    { key: outcomeKey, value: 'pending' },
    ...(dueAt === null ? [] : [{ key: dueAtKey, value: new Date(dueAt) }]),
    ...(handles.length > 0 ? [{ key: handlesKey, value: handles }] : []),
    ...(externalId === null ? [] : [{ key: externalIdKey, value: externalId }]),
  ]);
}

/** Largest number of handles, length of one, and bytes of all: Temporal refuses a workflow with a value above 2 KB. */
const [mostHandles, longestHandle, mostBytes] = [20, 80, 2000];

function handlesOf(accounts: readonly PostAccount[]): string[] {
  const cut = accounts.map(({ handle }) => handle.slice(0, longestHandle).toWellFormed());
  const handles = distinct(cut).slice(0, mostHandles);
  while (new TextEncoder().encode(JSON.stringify(handles)).length > mostBytes) {
    handles.pop();
  }

  return handles;
}

/** Corrects the time after a reschedule. A workflow that started without the attribute never sets it. */
export function moveDueAt(dueAtMs: number): void {
  const known = workflowInfo().typedSearchAttributes.get(dueAtKey);
  if (known !== undefined && known.getTime() !== dueAtMs) {
    upsertSearchAttributes([{ key: dueAtKey, value: new Date(dueAtMs) }]);
  }
}

/** Corrects the time of a post that is published before it, which `restore finish` must find. */
export function endWait(): void {
  const known = workflowInfo().typedSearchAttributes.get(dueAtKey);
  if (known !== undefined && known.getTime() > Date.now()) {
    moveDueAt(Date.now());
  }
}

/** Sorted, so that equal lists compare as equal. */
const distinct = (names: readonly string[]): string[] => [...new Set(names)].toSorted();

/** Sets a post's outcome and error codes, and corrects its networks and handles if they changed. Costs one event. */
export function markEnd(outcome: string, channels: readonly EndedAccount[]): void {
  const codes = distinct(channels.flatMap(({ code }) => (code ? [code] : [])));
  const known = workflowInfo().typedSearchAttributes;
  const changed = (key: typeof networksKey, value: string[]) =>
    value.length > 0 && (known.get(key) ?? value).join() !== value.join() ? [{ key, value }] : [];
  upsertIfSearchable([
    ...(known.get(outcomeKey) === undefined ? [] : [{ key: outcomeKey, value: outcome }]),
    ...(codes.length > 0 ? [{ key: errorCodesKey, value: codes }] : []),
    ...changed(networksKey, distinct(channels.map(({ network }) => network))),
    ...changed(handlesKey, handlesOf(channels)),
  ]);
}

/** Sets attributes only if the workflow started with some: its server has all then, since they are registered together. */
export function upsertIfSearchable(pairs: Parameters<typeof upsertSearchAttributes>[0]): void {
  const isSearchable = workflowInfo().typedSearchAttributes.get(workspaceIdKey) !== undefined;
  if (isSearchable && Object.keys(pairs).length > 0) {
    upsertSearchAttributes(pairs);
  }
}
