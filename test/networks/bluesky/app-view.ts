import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AtpAgent, lexicons, type AppBskyFeedPost } from '@atproto/api';
import type { ExecutionContext } from 'ava';

/**
 * Stands for Bluesky's AppView, behind a real PDS: counts what the records of all its accounts do to a post. Bluesky's
 * own needs a PostgreSQL and a hundred packages more. What comes in and goes out has the shape of the lexicons.
 */
export async function startAppView(t: ExecutionContext) {
  let pdsUrl = '';
  const hidden = new Set<string>();
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://app-view.test');
    const method = pathname.replace(/^\/xrpc\//v, '');
    const answer = async () => {
      const input =
        method === 'app.bsky.feed.getPosts'
          ? { uris: searchParams.getAll('uris') }
          : Object.fromEntries(searchParams);
      lexicons.assertValidXrpcParams(method, input);
      const agent = new AtpAgent({ service: pdsUrl });
      const output =
        'uris' in input
          ? await postsOf(
              agent,
              (input.uris as string[]).filter((uri) => !hidden.has(uri)),
            )
          : await profileOf(agent, String(input['actor']));
      lexicons.assertValidXrpcOutput(method, output);
      return output;
    };
    answer().then(
      (output) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(output));
      },
      (error: unknown) => {
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: 'InvalidRequest', message: String(error) }));
      },
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    did: 'did:web:app-view.test',
    /** Whose accounts it counts. */
    follow: (url: string) => {
      pdsUrl = url;
    },
    /** Does not show a post, as one that lags behind. */
    hide: (uri: string) => hidden.add(uri),
  };
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
