import { createServer } from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { AtpAgent, lexicons, type AppBskyFeedPost } from '@atproto/api';
import type { ExecutionContext } from 'ava';
import { env } from '../../support/env.ts';

/** Where it listens, and what is behind it: the PDS needs its address first. */
export type AppViewPlace = {
  readonly port: number;
  readonly did: string;
  readonly pdsUrl: string;
  readonly plcUrl: string;
};

/**
 * Stands for Bluesky's AppView, behind a real PDS: counts what the records of all its accounts do to a post. Bluesky's
 * own needs a PostgreSQL and hundreds of packages more. What comes in and goes out has the shape of the lexicons.
 */
export async function startAppView(t: ExecutionContext, { port, pdsUrl }: AppViewPlace) {
  const hidden = new Set<string>();
  const agent = new AtpAgent({ service: pdsUrl });
  const answer = async (url: URL): Promise<object> => {
    const { pathname, searchParams } = url;
    const method = pathname.replace(/^\/xrpc\//v, '');
    const uris = searchParams.getAll('uris');
    const isPosts = method === 'app.bsky.feed.getPosts';
    const input = isPosts ? { uris } : Object.fromEntries(searchParams);
    lexicons.assertValidXrpcParams(method, input);
    const output = isPosts
      ? await postsOf(
          agent,
          uris.filter((uri) => !hidden.has(uri)),
        )
      : await profileOf(agent, searchParams.get('actor') ?? '');
    lexicons.assertValidXrpcOutput(method, output);
    return output;
  };
  const server = createServer((request, response) => {
    const give = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    answer(new URL(request.url ?? '/', 'http://app-view.test')).then(
      (output) => give(200, output),
      (error: unknown) => give(400, { error: 'InvalidRequest', message: String(error) }),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve);
  });
  t.teardown(() => server.close());
  /** Does not show a post, as one that lags behind. */
  return { hide: (uri: string) => hidden.add(uri) };
}

type Real = { close(): Promise<void> };

/**
 * Bluesky's own AppView. It listens on all addresses while the test runs.
 *
 * @param folder Where `npm install --ignore-scripts @atproto/dev-env@0.6.7` was done.
 */
export async function startRealAppView(
  t: ExecutionContext,
  { port, did, pdsUrl, plcUrl }: AppViewPlace,
  folder: string,
): Promise<void> {
  const file = path.resolve(folder, 'node_modules/@atproto/dev-env/dist/bsky.js');
  const { TestBsky } = (await import(pathToFileURL(file).href)) as {
    TestBsky: { create(options: object): Promise<Real> };
  };
  const { port: pdsPort } = new URL(pdsUrl);
  const appView = await TestBsky.create({
    port,
    plcUrl,
    pdsPort: Number(pdsPort),
    repoProvider: `ws://127.0.0.1:${pdsPort}`,
    dbPostgresSchema: 'app_view',
    dbPostgresUrl: env('PUNCTUAL_TEST_DATABASE_URL'),
    bsyncUrl: 'http://127.0.0.1:1',
    bsyncApiKey: 'none',
    alternateAudienceDids: [did],
  });
  t.teardown(() => appView.close());
}

type Kept = { readonly uri: string; readonly cid: string; readonly value: unknown };

/** The records of a kind, of all accounts. */
async function allRecords(agent: AtpAgent, collection: string): Promise<readonly Kept[]> {
  const { repos } = (await agent.com.atproto.sync.listRepos({ limit: 100 })).data;
  const lists = repos.map(async ({ did: repo }) => {
    const { data } = await agent.com.atproto.repo.listRecords({ repo, collection, limit: 100 });
    return data.records;
  });
  return (await Promise.all(lists)).flat();
}

const subjectOf = ({ value }: Kept) => (value as { subject?: { uri?: string } | string }).subject;

const about =
  (uri: string) =>
  (record: Kept): boolean => {
    const subject = subjectOf(record);
    return (typeof subject === 'object' ? subject.uri : subject) === uri;
  };

async function postsOf(agent: AtpAgent, uris: readonly string[]) {
  const posts = await allRecords(agent, 'app.bsky.feed.post');
  const likes = await allRecords(agent, 'app.bsky.feed.like');
  const reposts = await allRecords(agent, 'app.bsky.feed.repost');
  const recordOf = ({ value }: Kept) => value as AppBskyFeedPost.Record;
  const quotes = (uri: string) => (post: Kept) =>
    (recordOf(post).embed as { record?: { uri?: string } } | undefined)?.record?.uri === uri;
  return {
    posts: posts
      .filter(({ uri }) => uris.includes(uri))
      .map((post) => ({
        uri: post.uri,
        cid: post.cid,
        author: { did: post.uri.split('/')[2] ?? '', handle: 'somebody.test' },
        record: post.value,
        indexedAt: recordOf(post).createdAt,
        likeCount: likes.filter(about(post.uri)).length,
        repostCount: reposts.filter(about(post.uri)).length,
        replyCount: posts.filter((other) => recordOf(other).reply?.parent.uri === post.uri).length,
        quoteCount: posts.filter(quotes(post.uri)).length,
      })),
  };
}

async function profileOf(agent: AtpAgent, did: string) {
  const follows = await allRecords(agent, 'app.bsky.graph.follow');
  return { did, handle: 'somebody.test', followersCount: follows.filter(about(did)).length };
}
