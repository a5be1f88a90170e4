import { cached } from './cache-folder.ts';
import { download, downloaded } from './download.ts';
import { findProgram, type Search } from './find-program.ts';
import { builtTemporal, temporalFromGo } from './go-build.ts';
import { temporalOnPath } from './on-path.ts';

const advice =
  'Install the Temporal CLI (https://docs.temporal.io/cli), or Go 1.25 or newer so that it can be built here,\n' +
  'or set TEMPORAL_ADDRESS to a Temporal server that runs.';

const sources = [
  temporalOnPath,
  cached('downloaded before', downloaded('temporal')),
  cached('built before', builtTemporal),
  download('temporal'),
  temporalFromGo,
];

/**
 * The path of a `temporal` program that brings the dev server: the user's own, one that lies in the cache, the
 * pinned release, or one built from the Go registry.
 *
 * @throws PlainError saying what to install.
 */
export function findTemporal(search: Search): Promise<string> {
  return findProgram('Temporal server', sources, search, advice);
}
