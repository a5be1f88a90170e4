import test from 'ava';
import { stopChannels } from '../../domain/channel-changes.ts';
import { currentParts, type Part, type PartState } from '../../domain/live-parts.ts';
import type { ChannelStatus } from '../../domain/statuses.ts';

const thread = (...states: readonly PartState[]): Part[] =>
  states.map((state, part) => ({ part, run: 1, state, url: `https://a/${part}` }));

for (const [status, parts, becomes] of [
  ['scheduled', [], 'draft'],
  ['scheduled', ['refused'], 'draft'],
  ['scheduled', ['sent', 'ready'], 'failed'],
  ['scheduled', ['sending'], 'retrying'],
  ['scheduled', ['sent', 'doubted'], 'retrying'],
  ['scheduled', ['sent', 'sent'], 'retrying'],
  ['retrying', [], 'draft'],
  ['retrying', ['sent', 'refused'], 'failed'],
  ['retrying', ['sending'], 'retrying'],
  ['retrying', ['sent', 'sent'], 'retrying'],
  ['publishing', ['sending'], 'publishing'],
  ['published', ['sent'], 'published'],
  ['failed', ['refused'], 'failed'],
  ['unconfirmed', ['sending'], 'unconfirmed'],
  ['draft', [], 'draft'],
] as const satisfies readonly (readonly [ChannelStatus, readonly PartState[], ChannelStatus])[]) {
  test(`a cancel makes a ${status} channel with the parts (${parts.join(', ')}) ${becomes}`, (t) => {
    const row = { status: status as ChannelStatus };
    stopChannels([{ row, parts: thread(...parts) }], new Date());
    t.is(row.status, becomes);
  });
}

test('a cancelled channel names its live parts', (t) => {
  const row = { status: 'scheduled' as ChannelStatus };
  stopChannels([{ row, parts: thread('sent', 'sent', 'ready') }], new Date());
  t.like(row, {
    errorCode: 'cancelled',
    error:
      'The post was cancelled. Live parts of the thread: https://a/0 https://a/1. Give the post a new time to send the rest.',
  });
});

test('an attempt sees the parts of the last run, and earlier ones that are or may be live', (t) => {
  const part = (number: number, run: number, state: PartState): Part => ({
    part: number,
    run,
    state,
    url: null,
  });
  const parts = [
    part(0, 1, 'sent'),
    part(0, 2, 'ready'),
    part(1, 1, 'refused'),
    part(1, 2, 'ready'),
    part(2, 1, 'sending'),
    part(2, 2, 'doubted'),
    part(3, 1, 'ready'),
  ];
  t.deepEqual(
    currentParts(parts).map(({ part: number, run }) => [number, run]),
    [
      [0, 1],
      [1, 2],
      [2, 2],
    ],
  );
});
