import { execFile } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { env } from './env.ts';
import { putFree, takeFree } from './free-accounts.ts';

const run = promisify(execFile);
const password = 'A-long-pass-word-1!';
/** The hash of that password, with bcrypt's lowest cost because tests sign in often. */
const passwordHash = '$2b$04$abcdefghijklmnopqrstuu.q4tNH7tEHKZ9NU07n90mjght8pyNWC';

/**
 * Accounts per import. Each run of GoToSocial's program takes 2 s of processor time, because it compiles SQLite from
 * WebAssembly without a cache.
 */
const batchSize = 50;

export type GoToSocialAccount = {
  readonly username: string;
  readonly email: string;
  readonly password: string;
};

/**
 * Takes an account of the running GoToSocial that no other test uses, in any process of the run. A folder beside the
 * server's settings lists the free ones.
 */
export async function takeGoToSocialAccount(): Promise<GoToSocialAccount> {
  const folder = path.join(path.dirname(env('PUNCTUAL_TEST_GOTOSOCIAL_CONFIG')), 'free-accounts');
  for (;;) {
    const free = await takeFree(folder);
    if (free) {
      return { username: free.name, email: emailOf(free.name), password };
    }

    await importBatch(folder);
  }
}

let underWay: Promise<void> | undefined;

/** Imports accounts, once for all tests of this process that wait. */
function importBatch(folder: string): Promise<void> {
  underWay ??= importAccounts(folder).finally(() => {
    underWay = undefined;
  });
  return underWay;
}

/** Creates a batch of accounts as an administrator does who moves a server: from a file in its own format. */
async function importAccounts(folder: string): Promise<void> {
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const usernames = Array.from({ length: batchSize }, () => `u${randomBytes(8).toString('hex')}`);
  const entries = usernames.flatMap((username) => entriesOf(username, keys));
  const given = await mkdtemp(path.join(tmpdir(), 'punctual-accounts-'));
  try {
    const file = path.join(given, 'accounts.json');
    await writeFile(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    const config = ['--config-path', env('PUNCTUAL_TEST_GOTOSOCIAL_CONFIG')];
    const action = ['admin', 'import', '--path', file];
    await run(env('PUNCTUAL_TEST_GOTOSOCIAL_BINARY'), [...config, ...action]);
  } finally {
    await rm(given, { recursive: true });
  }

  await Promise.all(usernames.map((name) => putFree(folder, { name, details: '' })));
}

/** An account and its user in the format of GoToSocial's `admin export` (its `internal/trans/model`, 0.19). */
function entriesOf(username: string, keys: { publicKey: string; privateKey: string }): object[] {
  const baseUrl = env('PUNCTUAL_TEST_GOTOSOCIAL_URL');
  const uri = `${baseUrl}/users/${username}`;
  const createdAt = new Date().toISOString();
  const account = {
    type: 'account',
    id: newUlid(),
    createdAt,
    username,
    displayName: username,
    locked: false,
    discoverable: false,
    uri,
    url: `${baseUrl}/@${username}`,
    inboxURI: `${uri}/inbox`,
    outboxURI: `${uri}/outbox`,
    followingUri: `${uri}/following`,
    followersUri: `${uri}/followers`,
    featuredCollectionUri: `${uri}/collections/featured`,
    actorType: 4, // A person.
    publicKeyUri: `${uri}/main-key`,
    ...keys,
  };
  const user = {
    type: 'user',
    id: newUlid(),
    createdAt,
    accountID: account.id,
    email: emailOf(username),
    encryptedPassword: passwordHash,
    confirmedAt: createdAt,
    approved: true,
    moderator: false,
    admin: false,
    disabled: false,
  };
  return [account, user];
}

const emailOf = (username: string): string => `${username}@example.com`;

/**
 * A ULID: 26 digits of Crockford's base 32, of which hexadecimal digits are a subset. The prefix keeps it within 128
 * bits.
 */
const newUlid = (): string => `01${randomBytes(12).toString('hex').toUpperCase()}`;
