import { createInterface } from 'node:readline';
import { endProcesses, type Ending } from './processes.ts';

// Stays beside `npm start` and `npm test` and ends their parts when they were killed and cannot do it themselves.
//
// Reads lines of JSON, each the whole list of what to end. A parent that ends in good order says "bye"; when the
// lines just stop, it is gone.

process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);

let groups: readonly (readonly Ending[])[] = [];
for await (const line of createInterface({ input: process.stdin })) {
  groups = line === 'bye' ? [] : (JSON.parse(line) as typeof groups);
}
await endProcesses(groups);
