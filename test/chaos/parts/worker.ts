import type { ActivityDeps } from '../../../activities/deps.ts';
import type { Network, Step } from '../../../networks/network.ts';
import type { Egress } from '../../../runtime/egress/egress.ts';
import { runWorker } from '../../../worker/run-worker.ts';
import { fallIntoTrap, passMark } from './traps.ts';
import { workerHeader } from './worker-header.ts';

// A worker as operators start it, but for this: it kills itself at the points where the run wants it to, and says
// its own name to the networks, so that the line before them knows whom to kill.

const folder = process.env['CHAOS_FOLDER'] ?? '';
const name = process.env['CHAOS_NAME'] ?? '';

const textsOf = ({ parts }: Step): string[] => parts.map(({ text }) => text);

const mortal = (network: Network): Network => ({
  ...network,
  async upload(connection, step) {
    const files = await network.upload(connection, step);
    passMark(folder, 'killed before the intent', network.id, textsOf(step));
    return files;
  },
  async send(connection, step, files) {
    passMark(folder, 'killed after the intent', network.id, textsOf(step));
    const sent = await network.send(connection, step, files);
    passMark(folder, 'killed before the record', network.id, textsOf(step));
    return sent;
  },
});

const named = (egress: Egress): Egress => ({
  request: (request) =>
    egress.request({ ...request, headers: { ...request.headers, [workerHeader]: name } }),
  close: () => egress.close(),
});

const adapt = (deps: ActivityDeps): ActivityDeps => ({
  ...deps,
  egress: named(deps.egress),
  networks: Object.fromEntries(
    Object.entries(deps.networks).map(([id, network]) => [id, mortal(network)]),
  ),
  // Read while the transaction that ends a post is open, and nowhere else in a worker.
  get publicUrl() {
    fallIntoTrap(folder, 'killed in finalize');
    return deps.publicUrl;
  },
});

await runWorker(adapt);
process.exit(0);
