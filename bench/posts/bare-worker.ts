import { recordKey } from '../../networks/bluesky/thread.ts';
import { runEmptyWorker } from '../runner/run-empty-worker.ts';
import type { SandboxAccount } from './seed.ts';

const nothing = (): Promise<void> => Promise.resolve();

const accounts = JSON.parse(process.env['BENCH_ACCOUNTS'] ?? '[]') as readonly SandboxAccount[];

/** A text as long as that of Punctual's posts in `seed.ts`. */
const text = `Post of the benchmark, about as long as posts are. ${'So it goes. '.repeat(8)}`;

/** Publishes by the requests that Punctual sends for the same account, and does nothing else. */
async function send(index: number): Promise<void> {
  const account = accounts[index];
  if (account?.platform === 'mastodon') {
    await sendToMastodon(account);
  } else if (account?.platform === 'bluesky') {
    await sendToBluesky(account);
  } else {
    throw new Error(`There is no account ${index}.`);
  }
}

async function sendToMastodon({ account }: SandboxAccount): Promise<void> {
  const { accessToken } = account.credentials as { readonly accessToken: string };
  const headers = { authorization: `Bearer ${accessToken}` };
  const own = `${account.baseUrl}/api/v1/accounts/${account.remoteId}/statuses?limit=1&exclude_reblogs=true`;
  await answer(await fetch(own, { headers }));
  await post(
    `${account.baseUrl}/api/v1/statuses`,
    { ...headers, 'idempotency-key': crypto.randomUUID() },
    { status: text, visibility: 'public' },
  );
}

let lastMs = 0;

async function sendToBluesky({ account }: SandboxAccount): Promise<void> {
  const { accessJwt } = account.session as { readonly accessJwt: string };
  lastMs = Math.max(lastMs + 1, Date.now());
  const write = {
    $type: 'com.atproto.repo.applyWrites#create',
    collection: 'app.bsky.feed.post',
    rkey: recordKey(lastMs, crypto.randomUUID()),
    value: { $type: 'app.bsky.feed.post', text, createdAt: new Date().toISOString() },
  };
  await post(
    `${account.baseUrl}/xrpc/com.atproto.repo.applyWrites`,
    { authorization: `Bearer ${accessJwt}` },
    { repo: account.remoteId, writes: [write] },
  );
}

async function post(url: string, headers: Record<string, string>, body: object): Promise<void> {
  const type = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers: { ...headers, ...type }, body: JSON.stringify(body) };
  await answer(await fetch(url, init));
}

async function answer(response: Response): Promise<void> {
  const body = await response.text();
  if (response.status !== 200) {
    throw new Error(`${response.url} answered ${response.status}: ${body}`);
  }
}

/** Activities of the bare workflows. */
export const bareActivities = { claim: nothing, step: nothing, send, finalize: nothing };

// Runs the workflows of `shapes.ts`.

await runEmptyWorker(new URL('shapes.ts', import.meta.url), bareActivities);
process.exit(0);
