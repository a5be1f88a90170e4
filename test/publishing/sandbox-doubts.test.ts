import { openNetworks } from '../../networks/registry.ts';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { egressTo } from '../networks/connection.ts';
import { openSandbox } from '../sandbox/open-sandbox.ts';
import { newClient } from '../support/client.ts';
import { beforeTests } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { startPunctual } from '../support/punctual.ts';

const test = needs('temporal');

const shared = beforeTests(test, async (scope) => {
  const { url } = await openSandbox(scope);
  const allowPorts = [Number(new URL(url).port)];
  return { url, punctual: await startPunctual(scope, { allowPorts, sandboxUrl: url }) };
});

test('a post with #sandbox-unconfirmed ends as unconfirmed, and one with #sandbox-lost is published', async (t) => {
  const { url, punctual } = shared();
  const client = await newClient(punctual);
  const { connectors } = openNetworks({});
  const channels = await Promise.all(
    (['mastodon', 'x', 'bluesky'] as const).map(async (platform) => {
      const connector = connectors[platform]!;
      const { orm, sealer } = punctual.deps;
      const account = await connector.connect(egressTo(t, url), connector.sandbox(url));
      return connectChannel(orm.em.fork(), sealer, client.workspaceId, platform, account);
    }),
  );
  const publish = async (body: string) => {
    const channel_ids = channels.map(({ id }) => id);
    const made = await client.post('/posts', { body, channel_ids, schedule_in_minutes: 0 });
    return client.finalPost(made.body.post.id);
  };

  const [doubtful, lost] = await Promise.all([
    publish('#sandbox-unconfirmed'),
    publish('#sandbox-lost'),
  ]);
  t.deepEqual(
    doubtful.channels.map(({ status, error_code: code }) => [status, code]),
    channels.map(() => ['unconfirmed', 'unconfirmed']),
  );
  t.is(lost.status, 'published');
});
