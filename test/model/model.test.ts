import test from 'ava';
import { explore } from './explore.ts';
import type { Bounds, Fault, Mishap } from './state.ts';

// A model of a post with one channel, checked exhaustively: every order of owner calls, worker statements, network
// responses and failures within small bounds. `npm run model` explores larger ones. Each step is one statement or one
// request, as in the product; docs/internals/testing.md lists the simplifications.

const mishaps: readonly Mishap[] = ['crash', 'hang', 'termination', 'refusal', 'loss'];
const bounds: Bounds = { parts: 1, keyed: false, faults: [], calls: 2, mishaps, mishapsInAll: 1 };

for (const [what, more] of [
  ['a post', {}],
  ['a post on a network that detects repeated keys', { keyed: true }],
  ['a thread', { parts: 2 }],
  ['a post whose database is restored', { mishaps: ['restore', 'crash'] }],
] as const) {
  test(`${what} is live once, never after a cancel, and comes to rest, whatever its owner does and whatever breaks`, (t) => {
    const { found, states } = explore({ ...bounds, ...more });
    t.log(`${states} states`);
    t.deepEqual(found, null);
    t.true(states > 50_000);
  });
}

const faults: readonly (readonly [Fault, Partial<Bounds>, RegExp])[] = [
  ['ignores a concurrent cancel', { faults: ['ignores a concurrent cancel'] }, /after a call/v],
  ['leaves a cancelled send', { faults: ['leaves a cancelled send'] }, /never comes to rest/v],
  [
    'sends again at once',
    { faults: ['sends again at once'], keyed: true, mishapsInAll: 2 },
    /after a call|live twice/v,
  ],
  [
    'skips restore finish',
    { faults: ['skips restore finish'], mishaps: ['restore'] },
    /live twice|all of it is live/v,
  ],
  ['sends after a freeze', { faults: ['sends after a freeze'] }, /live twice/v],
];

for (const [fault, more, wanted] of faults) {
  test(`the model detects a product that ${fault}`, (t) => {
    const { found } = explore({ ...bounds, ...more });
    t.regex(found?.fault ?? '', wanted);
    t.log(found?.steps.join(' > '));
  });
}
