import * as fc from 'fast-check';
import { channelStatuses, type ChannelStatus } from '../../../../domain/statuses.ts';
import { metricNames, type Metrics } from '../../../../networks/network.ts';

/** Channels of the workspace. */
export const channelCount = 5;

/** Changes to a workspace's posts. Rows are named by a number, modulo the number of rows. */
export type Change =
  | { readonly kind: 'post'; readonly on: readonly OnChannel[] }
  | { readonly kind: 'read'; readonly row: number; readonly metrics: Metrics | null }
  | { readonly kind: 'read-all'; readonly metrics: Metrics }
  | { readonly kind: 'move'; readonly row: number; readonly at: string | null }
  | { readonly kind: 'status'; readonly row: number; readonly status: ChannelStatus }
  | { readonly kind: 'take-off' | 'take-all-off' | 'delete'; readonly row: number }
  | {
      readonly kind: 'undone';
      /** The transaction is rolled back, or its connection killed. */
      readonly by: 'rollback' | 'kill';
      readonly changes: readonly Exclude<Change, { kind: 'undone' }>[];
    };

export type OnChannel = {
  readonly channel: number;
  readonly status: ChannelStatus;
  readonly at: string | null;
  /** Null: not read yet. */
  readonly metrics: Metrics | null;
};

/** The first and last moments of days, and some in between. */
export const times: readonly string[] = [
  '2026-01-01T00:00:00.000Z',
  '2025-12-31T23:59:59.999Z',
  '2027-01-01T00:00:00.000Z',
  '2027-01-01T23:59:59.999Z',
  '2027-01-02T00:00:00.000Z',
  '2027-01-02T12:00:00.000Z',
  '2027-01-02T23:59:59.999Z',
  '2027-01-03T00:00:00.000Z',
];

const at = fc.constantFrom(...times);
const row = fc.nat(50);
const value = fc.oneof(
  { weight: 9, arbitrary: fc.nat(4) },
  { weight: 1, arbitrary: fc.constant(3_000_000_000) },
);
const metrics: fc.Arbitrary<Metrics> = fc.record(
  Object.fromEntries(metricNames.map((name) => [name, value])),
  { requiredKeys: [] },
);
const status = fc.oneof(
  { weight: 4, arbitrary: fc.constant<ChannelStatus>('published') },
  { weight: 1, arbitrary: fc.constantFrom(...channelStatuses) },
);
const onChannel: fc.Arbitrary<OnChannel> = fc.record({
  channel: fc.nat(channelCount - 1),
  status,
  at: fc.option(at, { freq: 8 }),
  metrics: fc.option(metrics, { freq: 4 }),
});
const newPost = fc.record({
  kind: fc.constant('post' as const),
  on: fc.uniqueArray(onChannel, { selector: ({ channel }) => channel, maxLength: channelCount }),
});
const edit = fc.oneof(
  fc.record({ kind: fc.constant('read' as const), row, metrics: fc.option(metrics, { freq: 4 }) }),
  fc.record({ kind: fc.constant('read-all' as const), metrics }),
  fc.record({ kind: fc.constant('move' as const), row, at: fc.option(at, { freq: 8 }) }),
  fc.record({ kind: fc.constant('status' as const), row, status }),
  fc.record({
    kind: fc.constantFrom('take-off' as const, 'take-all-off' as const, 'delete' as const),
    row,
  }),
);
const one = fc.oneof({ weight: 1, arbitrary: newPost }, { weight: 2, arbitrary: edit });

/** A random history of a workspace: some posts and changes to them. */
export const life: fc.Arbitrary<readonly Change[]> = fc
  .tuple(
    fc.array(newPost, { minLength: 3, maxLength: 10 }),
    fc.array(
      fc.oneof(
        { weight: 9, arbitrary: one },
        {
          weight: 1,
          arbitrary: fc.record({
            kind: fc.constant('undone' as const),
            by: fc.constantFrom('rollback' as const, 'kill' as const),
            changes: fc.array(one, { minLength: 1, maxLength: 3 }),
          }),
        },
      ),
      { maxLength: 12 },
    ),
  )
  .map(([posts, changes]) => (posts as readonly Change[]).concat(changes));
