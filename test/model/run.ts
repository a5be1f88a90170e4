import { parseArgs } from 'node:util';
import { explore } from './explore.ts';
import type { Mishap } from './state.ts';

// `npm run model [-- --calls 2] [-- --mishaps 2] [-- --parts 1] [-- --keyed]`: explores the model of a post within
// larger bounds than the tests do, and prints the result. Two mishaps take some minutes and some gigabytes.

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '2' },
    mishaps: { type: 'string', default: '2' },
    parts: { type: 'string', default: '1' },
    keyed: { type: 'boolean', default: false },
  },
});
const kinds: readonly Mishap[] = ['crash', 'hang', 'termination', 'refusal', 'loss'];
const { found, states } = explore({
  parts: values.parts === '2' ? 2 : 1,
  keyed: values.keyed,
  faults: [],
  calls: Number(values.calls),
  mishaps: kinds,
  mishapsInAll: Number(values.mishaps),
});
console.log(`${states} states`);
console.log(found ? `${found.fault}\n${found.steps.join('\n')}` : 'No violation found.');
process.exitCode = found ? 1 : 0;
