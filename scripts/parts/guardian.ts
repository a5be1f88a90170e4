import { createInterface } from 'node:readline';
import { endProcesses, type Ending } from './processes.ts';

// Runs next to `npm start` and `npm test`, and ends their processes when they were killed.
//
// Reads lines of JSON, each the whole list of processes to end. A parent that exits normally sends "bye"; when the
// lines stop without it, the parent was killed.

process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);

let groups: readonly (readonly Ending[])[] = [];
for await (const line of createInterface({ input: process.stdin })) {
  groups = line === 'bye' ? [] : (JSON.parse(line) as typeof groups);
}
await endProcesses(groups);
