import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AtpAgent, type AtpSessionData } from '@atproto/api';
import { env } from './env.ts';
import { putFree, takeFree, type FreeAccount } from './free-accounts.ts';

/** How many to make ahead. Each costs 0.15 s of processor time, so only a few. */
const stock = 3;

export type PdsAccount = {
  readonly did: string;
  readonly handle: string;
  /** The owner signs in with it in a browser. */
  readonly password: string;
  readonly appPassword: string;
  /** The session from the account's creation. */
  readonly session: AtpSessionData;
};

/**
 * Takes an account of the running PDS that no other test uses. If none is free, makes one now and, in the background,
 * more for later tests in any process.
 */
export async function takePdsAccount(): Promise<PdsAccount> {
  const folder = freePdsAccounts(env('PUNCTUAL_TEST_PDS_ADMIN_PASSWORD'));
  const free = await takeFree(folder);
  if (free) {
    return JSON.parse(free.details);
  }

  const { details } = await makeAccount();
  restock(folder);
  return JSON.parse(details);
}

/**
 * The folder that lists a PDS's free accounts. It depends on the password, because two servers may have the same port.
 */
export function freePdsAccounts(adminPassword: string): string {
  const server = createHash('sha256').update(adminPassword).digest('hex').slice(0, 16);
  return path.join(tmpdir(), `punctual-pds-accounts-${server}`);
}

let isRestocking = false;

/** Errors are ignored: a test that finds no account makes one and then gets the error itself. */
function restock(folder: string): void {
  if (!isRestocking) {
    isRestocking = true;
    void makeStock(folder)
      .catch(() => undefined)
      .finally(() => {
        isRestocking = false;
      });
  }
}

async function makeStock(folder: string): Promise<void> {
  for (let made = 0; made < stock; made += 1) {
    await putFree(folder, await makeAccount());
  }
}

async function makeAccount(): Promise<FreeAccount> {
  const name = `u${crypto.randomUUID().replaceAll('-', '').slice(0, 16)}`;
  const handle = `${name}.test`;
  const agent = new AtpAgent({ service: env('PUNCTUAL_TEST_PDS_URL') });
  const password = crypto.randomUUID();
  await agent.createAccount({ handle, email: `${name}@example.com`, password });
  const { data } = await agent.com.atproto.server.createAppPassword({ name: 'punctual' });
  const { assertDid: did, session } = agent;
  const account = { did, handle, password, appPassword: data.password, session };
  return { name, details: JSON.stringify(account) };
}
