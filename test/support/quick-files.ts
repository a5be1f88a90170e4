import { existsSync, globSync } from 'node:fs';
import path from 'node:path';
import { neededParts } from './needed-parts.ts';

const root = path.join(import.meta.dirname, '..', '..');

/** Servers and programs of the quick tests. Files that need others are not quick. */
const quickParts: ReadonlySet<string> = new Set(['postgres', 'temporal', 'openssl']);

/** Folders and files of tests that are not quick: crashes, races, outages, many rows, other programs. */
const slow = [
  'accounts/planted-secrets',
  'accounts/refresh-by-workers',
  'accounts/storing',
  'activities/cancelled-sends',
  'activities/changed-meanwhile',
  'activities/contended-steps',
  'activities/equal-posts',
  'activities/metrics-side-by-side',
  'activities/retention',
  'activities/sent-unnoticed',
  'activities/settled-by-refusal',
  'activities/simulated-posts',
  'activities/slow-workers',
  'activities/stopped-workers',
  'activities/sweep-ensure',
  'activities/sweep-lost',
  'activities/sweep-purge',
  'api/analytics/oracle',
  'api/bad-input/answers-stay-small',
  'api/bad-input/long-animations',
  'api/bad-input/probing',
  'api/connect/attacks',
  'api/media/file-readers',
  'api/media/full-disk-and-memory',
  'api/media/lost-commits',
  'api/openapi-answers',
  'api/outages',
  'api/races',
  'api/released',
  'api/webhooks/same-moment',
  'chaos',
  'cli/admin/demo',
  'cli/admin/workflow-replay',
  'clock',
  'container',
  'db',
  'docs/lost-changes',
  'docs/restored-backup',
  'docs/unfinished-restore',
  'fairness',
  'model',
  'networks/failing-servers',
  'networks/oauth',
  'publishing/after-outage',
  'publishing/failover',
  'publishing/killed-worker',
  'runtime',
  'sandbox',
  'scripts',
  'signature-oracles',
  'temporal',
  'webhooks/restored-deliveries',
  'webhooks/slots',
  'webhooks/timing',
  'webhooks/unstored-attempts',
  'webhooks/workers',
  'workflows/cancel-midway',
  'workflows/database-decides',
  'workflows/failed-workflows',
  'workflows/restored-database',
];

/** `npm test`, `npm run test:all`, and what the second adds to the first. */
export type Selection = 'quick' | 'all' | 'rest';

/**
 * @returns test files, relative to the project.
 * @throws Error for an entry of the list above without tests, such as a renamed one.
 */
export function selectFiles(selection: Selection): string[] {
  const gone = slow.filter((name) => !isThere(name));
  if (gone.length > 0) {
    throw new Error(
      `test/support/quick-files.ts names tests that do not exist: ${gone.join(', ')}`,
    );
  }

  const files = globSync('test/**/*.test.ts', { cwd: root }).toSorted();
  return selection === 'all'
    ? files
    : files.filter((file) => isQuick(file) === (selection === 'quick'));
}

const isThere = (name: string): boolean =>
  [name, `${name}.test.ts`].some((each) => existsSync(path.join(root, 'test', each)));

function isQuick(file: string): boolean {
  const name = path.relative('test', file).replace(/\.test\.ts$/v, '');
  const isSlow = slow.some((one) => name === one || name.startsWith(`${one}${path.sep}`));
  const parts = neededParts([file])?.parts ?? [];
  return !isSlow && [...parts].every((part) => quickParts.has(part));
}
