import type { Entry } from './ledger.ts';
import type { PublishTarget } from './target.ts';

// The parts of the statements that write new entries into the ledger.

export const insertedColumns = `id, workspace_id, post_channel_id, channel_id, run, part, key, text,
  remote_data, created_at, updated_at, state, sending_at`;

/** Of each entry, as many as there are columns, but for the state and since when it is being sent. */
export const insertedValues = `entry.id, $1, $2, $3, $4, entry.part, entry.key, entry.text,
  entry.remote_data::jsonb, $5, $5`;

export const insertedEntries = `unnest($6::uuid[], $7::int[], $8::text[], $9::text[], $10::text[])
  as entry (id, part, key, text, remote_data)`;

/** $1 to $10 of these. */
export const valuesToInsert = (
  { workspaceId, postChannelId, channelId, run }: PublishTarget,
  entries: readonly Entry[],
  now: Date,
): unknown[] => [
  workspaceId,
  postChannelId,
  channelId,
  run,
  now,
  entries.map(({ id }) => id),
  entries.map(({ part }) => part),
  entries.map(({ key }) => key),
  entries.map(({ text }) => text),
  entries.map(({ data }) => JSON.stringify(data)),
];
