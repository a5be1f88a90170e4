import type { ExecutionContext, TestFn } from 'ava';
import { openNetworks } from '../../networks/registry.ts';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { egressTo } from '../networks/connection.ts';
import { openSandbox } from '../sandbox/open-sandbox.ts';
import { newClient } from '../support/client.ts';
import { Contract, ourDocument } from '../support/contract.ts';
import { beforeTests } from '../support/kit.ts';
import { startPunctual } from '../support/punctual.ts';
import { runPunctual, type Run } from './run-punctual.ts';

/** Punctual with the sandbox for the tests of a file, and for each test a workspace with an account on Mastodon. */
export function sharedService(test: TestFn) {
  const shared = beforeTests(test, async (scope) => {
    const { url } = await openSandbox(scope);
    const allowPorts = [Number(new URL(url).port)];
    const punctual = await startPunctual(scope, { allowPorts, sandboxUrl: url });
    return { url, punctual, contract: new Contract(ourDocument()) };
  });
  return async (t: ExecutionContext) => {
    const { url, punctual, contract } = shared();
    const client = await newClient(punctual);
    const { orm, sealer } = punctual.deps;
    const connector = openNetworks({}).connectors['mastodon']!;
    const account = await connector.connect(egressTo(t, url), connector.sandbox(url));
    const { workspaceId, key } = client;
    const channel = await connectChannel(orm.em.fork(), sealer, workspaceId, 'mastodon', account);
    const settings = { PUNCTUAL_API_KEY: key, PUNCTUAL_URL: punctual.url };
    const run = (words: readonly string[], input?: string | Uint8Array): Promise<Run> =>
      runPunctual(words, settings, input);
    /** Runs a command with `--json`, and compares its output with the answer that the document describes. */
    const answerOf = async (call: string, words: readonly string[], input?: string) => {
      const { stdout, stderr } = await run([...words, '--json'], input);
      t.regex(stdout, /^\{.*\}\n$/v, `${words.join(' ')}: ${stderr}`);
      const [method = '', path = '', status = ''] = call.split(' ');
      const answer = contract.follow(['paths', path, method.toLowerCase(), 'responses', status]);
      const body = JSON.parse(stdout);
      const schema = [...answer, 'content', 'application/json', 'schema'];
      t.deepEqual(contract.faults(schema, body), [], words.join(' '));
      return body;
    };
    return { client, channel: channel.id, settings, run, answerOf };
  };
}
