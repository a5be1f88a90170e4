import { runWorker } from '../../worker/run-worker.ts';

/** A worker that reads metrics from a fake network, which never responds when `MEASURING_HANGS` is set. */
await runWorker((deps) => {
  const { mastodon } = deps.networks;
  if (!mastodon) {
    throw new Error('The network for the metrics is missing.');
  }

  const metrics = {
    batchSize: 1,
    readsPerMonth: null,
    read: async (_: unknown, remoteIds: readonly string[]) => {
      deps.log.info({}, 'asked for figures');
      await (process.env['MEASURING_HANGS'] && new Promise(() => undefined));
      return new Map(remoteIds.map((id) => [id, { kind: 'read', metrics: { likes: 7 } } as const]));
    },
  };
  return { ...deps, networks: { ...deps.networks, mastodon: { ...mastodon, metrics } } };
});
process.exit(0);
