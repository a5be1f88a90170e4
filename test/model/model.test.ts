import test from 'ava';
import { explore } from './explore.ts';
import type { Bounds, Fault, Mishap } from './state.ts';

// A model of a post with one channel, checked exhaustively: every order in which its owner's calls, the workers'
// statements, the network's answers and what breaks can happen, within small bounds. `npm run model` explores larger
// ones. Each step is one statement or one request, as in the product; docs/architecture.md says what is left out.

const mishaps: readonly Mishap[] = ['crash', 'hang', 'termination', 'refusal', 'loss'];
const bounds: Bounds = { parts: 1, keyed: false, faults: [], calls: 2, mishaps, mishapsInAll: 1 };

for (const [what, more] of [
  ['a post', {}],
  ['a post on a network that knows requests by their key', { keyed: true }],
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
  [
    'begins by what it read',
    { faults: ['begins by what it read', 'keeps the run'] },
    /after a call/v,
  ],
  ['keeps the run', { faults: ['keeps the run'] }, /after a call/v],
  ['leaves a cancelled send', { faults: ['leaves a cancelled send'] }, /never comes to rest/v],
  [
    'sends again at once',
    { faults: ['sends again at once'], keyed: true, mishapsInAll: 2 },
    /after a call|live twice/v,
  ],
  [
    'starts a backup as it is',
    { faults: ['starts a backup as it is'], mishaps: ['restore'] },
    /live twice|all of it is live/v,
  ],
  ['sends after a freeze', { faults: ['sends after a freeze'] }, /live twice/v],
];

for (const [fault, more, wanted] of faults) {
  test(`the model finds a product that ${fault}`, (t) => {
    const { found } = explore({ ...bounds, ...more });
    t.regex(found?.fault ?? '', wanted);
    t.log(found?.steps.join(' > '));
  });
}
