import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { ChannelState } from './details.ts';
import { distinct, errorCodesKey, networksKey, workspaceIdKey } from './search-attributes.ts';

/**
 * Lets a post that ended badly be found by its error codes, and corrects its networks if they were edited. One event
 * and one billable action, so that it is not done when there is nothing to say.
 */
export function markEnd(channels: readonly ChannelState[]): void {
  const codes = distinct(channels.flatMap(({ code }) => (code ? [code] : [])));
  const known = workflowInfo().typedSearchAttributes;
  const began = known.get(networksKey);
  const networks = distinct(channels.map(({ network }) => network));
  const moved = began !== undefined && networks.length > 0 && began.join() !== networks.join();
  upsertIfSearchable([
    ...(codes.length > 0 ? [{ key: errorCodesKey, value: codes }] : []),
    ...(moved ? [{ key: networksKey, value: networks }] : []),
  ]);
}

/**
 * A server that knows no search attributes would refuse the workflow's task again and again. One that took some at
 * the start knows all: they come to be together. What began before there were any has none either, so that its
 * stored history goes on as it was.
 */
export function upsertIfSearchable(pairs: Parameters<typeof upsertSearchAttributes>[0]): void {
  const isSearchable = workflowInfo().typedSearchAttributes.get(workspaceIdKey) !== undefined;
  if (isSearchable && Object.keys(pairs).length > 0) {
    upsertSearchAttributes(pairs);
  }
}
