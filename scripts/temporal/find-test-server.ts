import { cached } from './cache-folder.ts';
import { download, downloaded } from './download.ts';
import { findProgram, type Search, type Source } from './find-program.ts';
import { javaMissing, testServerForJava, testServerFromMaven } from './maven.ts';

const advice = 'Install Java 17 or newer and Maven, or let this machine reach temporal.download.';

const fetchedBefore = cached('fetched before', testServerForJava);

const sources: readonly Source[] = [
  cached('downloaded before', downloaded('temporal-test-server')),
  {
    name: fetchedBefore.name,
    async find(search) {
      const found = await fetchedBefore.find(search);
      const reason = 'path' in found ? await javaMissing(search.env) : undefined;
      return reason ? { reason } : found;
    },
  },
  download('temporal-test-server'),
  testServerFromMaven,
];

/**
 * The path of Temporal's time-skipping test server, for `executable: { type: 'existing-path', path }`.
 *
 * @throws PlainError saying what to install.
 */
export function findTestServer(search: Search): Promise<string> {
  return findProgram('time-skipping test server', sources, search, advice);
}
