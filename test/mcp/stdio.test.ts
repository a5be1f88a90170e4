import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { sharedApi } from '../support/kit.ts';
import { noTemporal } from '../support/media-library.ts';
import { needs } from '../support/needs.ts';
import { connectBy, eras } from './clients.ts';

const test = needs('postgres', 'typescript-generator');
const api = sharedApi(test, { temporalEnv: noTemporal });

const ours = (name: string): string =>
  JSON.stringify(pathToFileURL(path.join(import.meta.dirname, '../..', name)).href);

/** What the command does with the address and the key of its profile. */
const program = `
  import { serveMcpOverStdio } from ${ours('mcp/stdio.ts')};
  import { Punctual } from ${ours('sdk/src/index.ts')};
  const { PUNCTUAL_API_KEY: apiKey, PUNCTUAL_URL: baseUrl } = process.env;
  await serveMcpOverStdio(new Punctual({ apiKey, baseUrl }));
`;

for (const [name, era] of Object.entries(eras)) {
  test(`${name}: the tools answer over standard input and output`, async (t) => {
    const { key } = await api.newClient();
    const env = { PUNCTUAL_URL: api.punctual.url, PUNCTUAL_API_KEY: key };
    const args = ['--input-type=module', '--eval', program];
    const mcp = await connectBy(era, { command: process.execPath, args, env });
    t.teardown(() => mcp.close());
    t.is((await mcp.listTools()).tools.length, 13);
    const create = { body: 'Hello', idempotency_key: 'k' };
    const { structuredContent } = await mcp.callTool({ name: 'create_post', arguments: create });
    t.is(structuredContent.status, 'draft');
    const refused = await mcp.callTool({ name: 'get_post', arguments: {} });
    t.regex(refused.content[0]!.text, /\/post_id is missing/v);
  });
}
